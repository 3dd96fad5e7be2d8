import type { Socket, TcpNetConnectOpts } from 'node:net'
import type { ConnectionOptions, SecureContext, TLSSocket } from 'node:tls'
import type { Dispatcher } from './dispatcher.ts'
import type { EngineName } from './engine.ts'
import type { AnyDispatchHandler } from './handler.ts'
import type { Http1Options } from './http1.ts'
import type { CallLimits } from './limits.ts'
import type { DispatchOptions } from './request.ts'

/** The options that a {@link Connector} gets: undici's `buildConnector.Options`. */
export interface ConnectorOptions {
  /** The origin's host name, without the port; an IPv6 address without brackets. */
  hostname: string

  /** The origin's host, with the port where it isn't the scheme's own. */
  host?: string

  /** `'https:'` or `'http:'`. */
  protocol: string

  /** The port as a string; empty for the scheme's own. */
  port: string

  /** The TLS server name (SNI). Missing: derived from `hostname`. */
  servername?: string

  /** The local address to connect from. `null`: the system's choice. */
  localAddress?: string | null

  /** A Unix domain socket or a Windows named pipe to connect to instead of the host. `null`: none. */
  socketPath?: string | null

  /** The protocols to offer by ALPN: `['http/1.1']` for a connection of the fallback, on which HTTP/2 is refused. */
  ALPNProtocols?: string[]

  /** Whether HTTP/2 is wanted, under undici's name: `false` for a connection of the fallback. */
  allowH2?: boolean

  /** An open socket on which to start TLS, such as a tunnel. */
  httpSocket?: Socket

  /** Aborted when the socket isn't wanted any more: the connection has timed out, or its dispatcher is destroyed. */
  signal?: AbortSignal
}

/** Serves what HTTP/2 can't: a dispatcher of Dodici, or of undici 6, 7 or 8. Its handlers have both shapes. */
export interface FallbackDispatcher {
  /** Sends a request. `false`: it is busy, and emits `drain` when there is room. */
  dispatch(options: DispatchOptions, handler: AnyDispatchHandler): boolean
}

/** Reports the outcome of a {@link Connector}: an error, or a connected socket (for TLS, with its handshake done). */
export type ConnectorCallback = (error: Error | null, socket?: Socket | TLSSocket | null) => void

/**
 * Opens a socket to an origin. It reports through `callback`, or returns a promise of the socket; the first outcome
 * counts.
 *
 * A TLS socket that hasn't negotiated `h2` by ALPN is closed, and its origin's requests go to the
 * {@link ClientOptions.fallback}. By default, the same connector opens the connections of the fallback. undici's
 * `buildConnector({ allowH2: true })` makes a suitable connector.
 */
export type Connector = (
  options: ConnectorOptions,
  callback: ConnectorCallback,
  // biome-ignore lint/suspicious/noConfusingVoidType: with a callback, a connector returns nothing, as in undici
) => void | Promise<Socket | TLSSocket>

/**
 * How to make a socket: node's options for `tls.connect()` and `net.connect()`, without those that Dodici sets.
 *
 * `host`, `port`, `path` and ALPN come from the origin, `socketPath` and the protocol; the time limit is
 * `connectTimeout`.
 */
export type ConnectTlsOptions = Omit<
  ConnectionOptions,
  'host' | 'port' | 'path' | 'socket' | 'ALPNProtocols' | 'timeout' | 'secureContext'
> &
  Partial<
    Pick<
      TcpNetConnectOpts,
      | 'localAddress'
      | 'localPort'
      | 'family'
      | 'hints'
      | 'lookup'
      | 'noDelay'
      | 'keepAlive'
      | 'keepAliveInitialDelay'
      | 'autoSelectFamily'
      | 'autoSelectFamilyAttemptTimeout'
    >
  > & {
    /**
     * The CA, certificate and key, as `tls.createSecureContext()` makes them, in place of `ca`, `cert`, `key` and their
     * like. A function is called for each connection, so that a certificate can be replaced while the dispatcher is in
     * use. If it returns another object than before, no TLS session of the old one is resumed. If it returns
     * `undefined`, the other options count.
     */
    secureContext?: SecureContext | (() => SecureContext | undefined) | undefined

    /** The port to connect to, where it isn't the origin's: `:authority` keeps the origin's. From 1 to 65_535. */
    remotePort?: number | undefined
  }

/** What `connect` may be, beside a function: options for the socket and TLS, and two of undici's connector. */
export interface ConnectOptionsWithTarget extends ConnectTlsOptions {
  /** The same as {@link ClientOptions.connectTimeout}, over which it wins. */
  timeout?: number | null | undefined
  /** The same as {@link ClientOptions.socketPath}, over which it wins. */
  socketPath?: string | null | undefined
}

/** The options of a `Client`. Durations in milliseconds, sizes in bytes. A request's own {@link CallLimits} win. */
export interface ClientOptions extends CallLimits, Http1Options {
  /**
   * How to connect: options for the socket and TLS (`ca`, `cert`, `key`, `servername`, `lookup`, …), or a function that
   * opens the socket itself.
   *
   * @default {}
   */
  connect?: ConnectOptionsWithTarget | Connector | null | undefined

  /**
   * undici's other name for the options of `connect`, which win over these. No effect with a connect function.
   *
   * @default null
   */
  tls?: ConnectTlsOptions | null | undefined

  /**
   * A Unix domain socket or a Windows named pipe to connect to instead of the origin's host. `null`: none.
   *
   * @default null
   */
  socketPath?: string | null | undefined

  /**
   * The IP address to connect from. The host is connected to by an address of the same family. The `localAddress` of
   * `connect` wins; a connect function gets this one. `null`: the system's choice.
   *
   * @default null
   */
  localAddress?: string | null | undefined

  /**
   * Whether the addresses of a name are tried one after the other, IPv6 and IPv4 in turn (RFC 8305). The
   * `autoSelectFamily` of `connect` wins. No effect with a connect function, or with a `localAddress`.
   *
   * @default true
   */
  autoSelectFamily?: boolean | null | undefined

  /**
   * How long an address may take before the next one is tried, in milliseconds; less than 10 is taken for 10. The
   * `autoSelectFamilyAttemptTimeout` of `connect` wins. No effect with a connect function.
   *
   * @default Node's: 250; 500 from Node 26 on
   */
  autoSelectFamilyAttemptTimeout?: number | null | undefined

  /**
   * The largest receive window of a stream, in bytes: SETTINGS_INITIAL_WINDOW_SIZE (RFC 9113 §6.5.2), from 1 to
   * 2^31 - 1.
   *
   * While many streams are open, they get smaller windows, so that all together stay below
   * {@link ClientOptions.maxSessionBuffer}. If this option is set, a session begins with it, where it fits. If not, a
   * session begins with about 1 MiB, and a response that outgrows its window makes it larger.
   *
   * With a multiple of 1,024, responses of exactly that length from Node's own servers may fail (docs/connections.md).
   * Dodici itself never chooses such a window.
   *
   * @default 16_777_259
   */
  initialWindowSize?: number | null | undefined

  /**
   * The receive window of the whole session, in bytes (RFC 9113 §6.9.2), from 65_535 to 2^31 - 1. If it isn't given, it
   * grows with what its streams may hold together.
   *
   * @default 16_777_259
   */
  connectionWindowSize?: number | null | undefined

  /**
   * How much a session buffers at most for readers that don't read, in bytes: its stream windows together, from 65_535
   * to 2^53 - 1. A session opens at most one stream for each 16,385 bytes of it.
   *
   * @default 268_435_456
   */
  maxSessionBuffer?: number | null | undefined

  /**
   * How long a session without requests stays open. `0`: until the server closes it.
   *
   * A connection of HTTP/1.1 without requests stays open for so long too, unless its server asks for another time by
   * `keep-alive: timeout`; without this option for 4 seconds, as in undici.
   *
   * @default 300_000
   */
  keepAliveTimeout?: number | null | undefined

  /**
   * After so long without a byte from the server, a session that has requests sends a PING (RFC 9113 §6.7). Unless you
   * set it, an early PING is sent 2 seconds after the last byte, and further ones 4, 8, 16 and 32 seconds after the ACK
   * of the one before, where the server won't count them against us. A session
   * that was idle for so long is verified by a PING before it takes a request. `0`: never.
   *
   * Doubled for an origin each time that it sends GOAWAY with ENHANCE_YOUR_CALM and `too_many_pings`.
   *
   * @default 60_000; 300_000 for an origin that has responded with `application/grpc`: gRPC servers end a connection
   *   for PINGs that come sooner
   */
  pingInterval?: number | null | undefined

  /**
   * How long the server may take to acknowledge a PING: after that the session is destroyed. `0`: for ever, and no
   * session is verified.
   *
   * @default 15_000
   */
  pingTimeout?: number | null | undefined

  /**
   * How many streams a session may reset (RST_STREAM) at once, for calls that were aborted or were too late: 1 or more.
   * {@link ClientOptions.resetRate} says how fast they come back. A stream whose reset has to wait keeps its place on
   * the session; the caller is free at once. When few are left, another session takes the new calls. Node's server ends
   * a connection above 1,000. `null`: any number, for a server without such a limit.
   *
   * Halved for 10 minutes when a server may have ended a session because of its resets (GOAWAY with INTERNAL_ERROR or
   * ENHANCE_YOUR_CALM).
   *
   * @default 800
   */
  resetBurst?: number | null | undefined

  /**
   * How many resets a second {@link ClientOptions.resetBurst} regains, from 1 to 1_000_000. `null`: the default.
   *
   * @default 30
   */
  resetRate?: number | null | undefined

  /**
   * After so long a session is replaced: another one is opened first, and takes the requests as soon as the server's
   * SETTINGS have come on it. Then the old one finishes its streams, for {@link ClientOptions.sessionGracePeriod} at
   * most, and is closed. The new connection resolves the name again. `0`: a session may get any age.
   *
   * The age of each session is up to 10 % less, by chance, so that sessions that were opened together aren't replaced
   * together. A session that has had no requests for five seconds, or for half of that age, is closed without a
   * successor. While no other connection can be made, the old session goes on serving.
   *
   * Without this option {@link ClientOptions.clientTtl} holds, undici's option for the same; and where this one is
   * given, it holds over HTTP/1.1 as well, unless `clientTtl` is given, too.
   *
   * @default 0
   */
  maxSessionAge?: number | null | undefined

  /**
   * How many requests a session has at most; retries count. When a quarter of them is left, another session is opened,
   * and the session is replaced as for {@link ClientOptions.maxSessionAge}. For servers that close a connection after
   * so many requests, and that fail some of them (`keepalive_requests` of nginx). `0`: any number.
   *
   * Over HTTP/1.1 it is the default of {@link ClientOptions.maxRequestsPerClient}, which has no effect over HTTP/2.
   *
   * @default 0
   */
  maxSessionRequests?: number | null | undefined

  /**
   * How long the streams of a session may go on when it was replaced for its age or for its number of requests. What is
   * left then ends with the connection, and fails with a `SocketError`; tunnels, too. Idempotent requests of which no
   * part of a response has come are sent again. `0`: for ever; the next session is replaced for its age when these
   * streams have ended.
   *
   * @default 300_000
   */
  sessionGracePeriod?: number | null | undefined

  /**
   * Whether an idempotent request (see {@link DispatchOptions.idempotent}) is retried once when its session dies before
   * any part of the response has come. `false`: only a request that the server has provably not processed is retried.
   *
   * @default true
   */
  replaySafe?: boolean | null | undefined

  /**
   * Whether a request fails before it is sent if its header section is larger than the server's
   * SETTINGS_MAX_HEADER_LIST_SIZE (RFC 9113 §6.5.2), with a `RequestHeadersOverflowError` that names the limit; so do
   * trailers. The setting is advisory: with `false` such a request is sent all the same. Before the server's SETTINGS
   * have come, the limit isn't known, and requests are sent.
   *
   * @default true
   */
  enforceMaxHeaderListSize?: boolean | null | undefined

  /**
   * The dispatcher for requests that HTTP/2 can't serve:
   *
   * - requests to an origin that chooses HTTP/1.1 by ALPN (remembered for five minutes, or until a connection chooses
   *   HTTP/2);
   * - a request that a server refuses with HTTP_1_1_REQUIRED (RFC 9113 §7), if its body can be sent again;
   * - an upgrade to a server that offers no extended CONNECT.
   *
   * Limits, signals and errors of a request are the same there.
   *
   * - `undefined`: a dispatcher of the kind that is built into Node, made on first use with the same `connect`,
   *   `socketPath`, `connectTimeout` and {@link Http1Options}, and closed along with this one. If there is none, such a
   *   request fails with a `NotSupportedError`.
   * - A dispatcher of your own isn't closed. It decides how many connections it opens, and how long they live.
   * - `null`: none. Then `h2` alone is offered by ALPN, and such a request fails with an `AlpnError`, a `StreamError`
   *   or a `NotSupportedError`.
   *
   * @default undefined
   */
  fallback?: FallbackDispatcher | null | undefined

  /** HTTP/2's own options, under undici's names. */
  h2Options?: H2Options | null | undefined

  /**
   * How many streams a session opens at once. The peer's SETTINGS_MAX_CONCURRENT_STREAMS can lower this limit, not
   * raise it. `null`: the peer's limit alone. Before its SETTINGS have come, 100 at most (RFC 9113 §6.5.2 recommends no
   * lower peer limit).
   *
   * @default null
   */
  maxConcurrentStreams?: number | null | undefined

  /**
   * Whether a session sends only its first request before the server's SETTINGS have come. For strict servers, which
   * end a connection with more streams than they allow. `false`: up to 100 requests are sent, and what the server
   * refuses is retried. Once the limit of an origin is known, its next sessions don't wait.
   *
   * @default false
   */
  waitForSettings?: boolean | null | undefined

  /**
   * Whether a request fails if its body's length differs from its `content-length`. `false`: the body decides, and if
   * its length is known, the field is set to it.
   *
   * @default true
   */
  strictContentLength?: boolean | undefined

  /**
   * Whether the caller's stack is appended to the `stack` of an error: where `dispatch()`, `request()` or `fetch()` was
   * called. Use it with callbacks and `then()`; after `await`, the stack names the caller anyway. It costs a few
   * microseconds per request. A request's own {@link DispatchOptions.captureStack} wins.
   *
   * @default false
   */
  captureStack?: boolean | null | undefined

  /**
   * What a WebSocket of undici, or the one that is built into Node, may receive over this dispatcher. `null`: the
   * defaults.
   *
   * @default null
   */
  webSocket?: WebSocketOptions | null | undefined

  /**
   * What an EventSource of undici, or the one that is built into Node, may receive over this dispatcher. `null`: the
   * defaults.
   *
   * @default null
   */
  eventSource?: EventSourceOptions | null | undefined

  /**
   * The implementation of HTTP/2.
   *
   * Without this option, a session over a Duplex that is neither a `net.Socket` nor a `TLSSocket` has `'wire'`:
   * `node:http2` isn't safe there. With `'node'` such a session fails with an `InvalidArgumentError`.
   *
   * @default the environment variable `DODICI_ENGINE`; without it `'node'`, on Bun `'wire'`
   */
  engine?: EngineName | undefined

  /**
   * Whether an `http:` origin speaks HTTP/2, by prior knowledge (RFC 9113 §3.3), or a function that tells it for the
   * origin. `false`: its requests go to the {@link ClientOptions.fallback}.
   *
   * @default true; `false` for an `Agent`, which is for any origin, and in `dodici/undici`
   */
  h2c?: boolean | ((origin: URL) => boolean) | null | undefined

  /**
   * undici's name for {@link ClientOptions.h2c}, which wins over it.
   *
   * @default null
   */
  useH2c?: boolean | null | undefined

  /**
   * `false`: all requests go to the {@link ClientOptions.fallback}, which speaks HTTP/1.1.
   *
   * @default true
   */
  allowH2?: boolean | null | undefined
}

/** The options of a `Pool`: those of its sessions, and how many there may be. */
export interface PoolOptions extends ClientOptions {
  /**
   * How many sessions may be open to the origin; draining ones don't count. A further one is opened when all are full.
   * `null`: any number.
   *
   * Over HTTP/1.1, where a connection has one request at a time, it is the number of connections to the origin: further
   * requests wait. Without this option, and with `null`, there may be any number of them, as in undici: so slow
   * responses don't wait for each other. A `Client` has one. Connections that were upgraded, and tunnels, don't count.
   *
   * @default 4; over HTTP/1.1 any number
   */
  connections?: number | null | undefined
}

/** The options of an `Agent`: those of each of its Pools, and its own. */
export interface AgentOptions extends PoolOptions {
  /**
   * How many origins the agent may hold. When another one is needed, an origin that has no requests and wasn't used
   * lately is closed; if all have requests, the request to the new origin fails with a `MaxOriginsReachedError`.
   * `null`: any number; above 1_000, idle ones are closed.
   *
   * @default null
   */
  maxOrigins?: number | null | undefined

  /**
   * Makes the dispatcher for one origin. The function gets the agent's options without `factory` and `maxOrigins`, but
   * with the agent's `fallback`, and with `h2c: false` for an `http:` origin that is spoken to in HTTP/1.1.
   *
   * @default (origin, options) => new Pool(origin, options)
   */
  factory?: ((origin: URL, options: PoolOptions) => Dispatcher) | null | undefined

  /**
   * Whether `http:` origins speak HTTP/2 by prior knowledge (RFC 9113 §3.3), or a function that tells it for an origin.
   * The function is called once, as long as the agent remembers the origin. `false`: their requests go to the
   * `fallback`.
   *
   * @default false
   */
  h2c?: boolean | ((origin: URL) => boolean) | null | undefined

  /**
   * Whether `https:` origins share sessions (RFC 9113 §9.1.1): an origin uses a session that was opened for another
   * one where that one's certificate is valid for it, too. docs/connections.md has all conditions, docs/security.md
   * what it means for privacy. `true`: as an object without properties. `false` and `null`: each origin has its own
   * sessions.
   *
   * No effect with a `connect` function, `socketPath`, `factory`, or a `servername` in `connect`: Dodici warns of that.
   *
   * @default false
   */
  coalesce?: boolean | CoalesceOptions | null | undefined
}

/** Which origins share sessions. */
export interface CoalesceOptions {
  /**
   * What must say that the server of a session serves another origin, beside its certificate:
   *
   * - `dns`: the origin's name resolves to the address that the session is connected to. Where the server has sent an
   *   ORIGIN frame (RFC 8336), it lists the origin as well
   * - `origin-frame`: the server has sent an ORIGIN frame that lists the origin; and the name resolves to that address,
   *   unless {@link CoalesceOptions.skipDns} is set
   * - `both`: as `dns`; and where an ORIGIN frame lists the origin, {@link CoalesceOptions.skipDns} is obeyed
   *
   * @default 'both'
   */
  origins?: 'dns' | 'origin-frame' | 'both' | null | undefined

  /**
   * Whether an origin that is listed in an ORIGIN frame is believed without a look-up of its name. Then whoever has
   * stolen the key of a certificate gets the requests for each of its names, without any power over DNS or routes.
   * `true` needs {@link CoalesceOptions.origins} to be `'origin-frame'` or `'both'`.
   *
   * @default false
   */
  skipDns?: boolean | null | undefined
}

/**
 * SETTINGS that a session sends (RFC 9113 §6.5.2, RFC 8441 §3). A missing one isn't sent, and has the protocol's
 * default.
 */
export interface Http2Settings {
  /** The size of the HPACK table for responses, in bytes, from 0 to 2^32 - 1. @default 4_096 */
  headerTableSize?: number | undefined
  /** Server push: only `false` is accepted, and sent. @default false */
  enablePush?: boolean | undefined
  /** Streams that the server may open, from 0 to 2^32 - 1. Without push it has no effect. */
  maxConcurrentStreams?: number | undefined
  /** The same as {@link ClientOptions.initialWindowSize}. */
  initialWindowSize?: number | undefined
  /** The largest frame that the server may send, from 16_384 to 2^24 - 1 bytes. @default 16_384 */
  maxFrameSize?: number | undefined
  /** The largest header section that the server should send, from 0 to 2^32 - 1 bytes. @default 1_048_576 */
  maxHeaderListSize?: number | undefined
  /** Extended CONNECT: only a server's SETTINGS enable it, a client's have no effect. @default false */
  enableConnectProtocol?: boolean | undefined
}

/** undici's `h2Options`. An option that is given both here and at the top level must have the same value. */
export interface H2Options {
  /** Sent when a session begins. */
  settings?: Http2Settings | null | undefined
  /** The same as {@link ClientOptions.connectionWindowSize}. */
  connectionWindowSize?: number | null | undefined
  /** The same as {@link ClientOptions.maxConcurrentStreams}. */
  maxConcurrentStreams?: number | null | undefined
  /** The same as {@link ClientOptions.pingInterval}. */
  pingInterval?: number | null | undefined
}

/** undici's `webSocket` options. A WebSocket fails when it receives more. */
export interface WebSocketOptions {
  /** The most frames of one message. `0` or `Infinity`: any number. @default 131_072 */
  maxFragments?: number | undefined
  /** The most bytes of one message, decompressed. `0` or `Infinity`: any number. @default 134_217_728 */
  maxPayloadSize?: number | undefined
}

/** undici's `eventSource` options. An EventSource fails when it receives more. */
export interface EventSourceOptions {
  /** The most bytes of one event. `0` or `Infinity`: any number. @default `buffer.constants.MAX_STRING_LENGTH` */
  maxEventSize?: number | undefined
}
