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

  /** The origin's host, with the port unless it is the scheme's default. */
  host?: string

  /** `'https:'` or `'http:'`. */
  protocol: string

  /** The port as a string; empty for the scheme's default. */
  port: string

  /** The TLS server name (SNI). Missing: derived from `hostname`. */
  servername?: string

  /** The local address to connect from. `null`: the system chooses. */
  localAddress?: string | null

  /** A Unix domain socket or a Windows named pipe to connect to instead of the host. `null`: none. */
  socketPath?: string | null

  /** The protocols to offer in ALPN: `['http/1.1']` for a fallback connection, which refuses HTTP/2. */
  ALPNProtocols?: string[]

  /** Whether HTTP/2 is wanted, under undici's name: `false` for a fallback connection. */
  allowH2?: boolean

  /** An open socket on which to start TLS, such as a tunnel. */
  httpSocket?: Socket

  /** Aborts when the socket is no longer wanted: the connection has timed out, or its dispatcher was destroyed. */
  signal?: AbortSignal
}

/** Serves what HTTP/2 can't: a dispatcher from Dodici, or from undici 6, 7 or 8. Its handlers have both shapes. */
export interface FallbackDispatcher {
  /** Sends a request. `false`: the dispatcher is busy, and emits `drain` when it has room. */
  dispatch(options: DispatchOptions, handler: AnyDispatchHandler): boolean
}

/** Reports the outcome of a {@link Connector}: an error, or a connected socket (for TLS, with its handshake done). */
export type ConnectorCallback = (error: Error | null, socket?: Socket | TLSSocket | null) => void

/**
 * Opens a socket to an origin. It reports through `callback` or returns a promise for the socket; the first outcome
 * counts.
 *
 * Dodici closes a TLS socket that hasn't negotiated `h2` via ALPN, and sends the origin's requests to the
 * {@link ClientOptions.fallback}. By default, the same connector opens the fallback's connections. undici's
 * `buildConnector({ allowH2: true })` creates a suitable connector.
 */
export type Connector = (
  options: ConnectorOptions,
  callback: ConnectorCallback,
  // biome-ignore lint/suspicious/noConfusingVoidType: with a callback, a connector returns nothing, as in undici
) => void | Promise<Socket | TLSSocket>

/**
 * How to open a socket: Node's options for `tls.connect()` and `net.connect()`, except those that Dodici sets.
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
     * The CA, certificate and key from `tls.createSecureContext()`, instead of `ca`, `cert`, `key` and similar options.
     * A function is called for each connection, so you can replace a certificate while the dispatcher is in use. When
     * it returns a different object, TLS sessions of the old one aren't resumed. If it returns `undefined`, the other
     * options apply.
     *
     * @default undefined
     */
    secureContext?: SecureContext | (() => SecureContext | undefined) | undefined

    /**
     * The port to connect to, from 1 to 65_535. `:authority` keeps the origin's port.
     *
     * @default the origin's port
     */
    remotePort?: number | undefined
  }

/** The object form of `connect`: options for the socket and TLS, and two from undici's connector. */
export interface ConnectOptionsWithTarget extends ConnectTlsOptions {
  /** The same as {@link ClientOptions.connectTimeout}, which it overrides. */
  timeout?: number | null | undefined
  /** The same as {@link ClientOptions.socketPath}, which it overrides. */
  socketPath?: string | null | undefined
}

/** `Client` options. Durations in milliseconds, sizes in bytes. A request's own {@link CallLimits} override them. */
export interface ClientOptions extends CallLimits, Http1Options {
  /**
   * How to connect: options for the socket and TLS (`ca`, `cert`, `key`, `servername`, `lookup`, …), or a function that
   * opens the socket itself.
   *
   * @default {}
   */
  connect?: ConnectOptionsWithTarget | Connector | null | undefined

  /**
   * Another name for the `connect` options, from undici; `connect` overrides it. No effect with a connect function.
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
   * The IP address to connect from. Dodici connects to an address of the same family. `connect.localAddress` overrides
   * it; a connect function receives it. `null`: the system chooses.
   *
   * @default null
   */
  localAddress?: string | null | undefined

  /**
   * Whether Dodici tries a name's addresses one after another, alternating IPv6 and IPv4 (RFC 8305).
   * `connect.autoSelectFamily` overrides it. No effect with a connect function or a `localAddress`.
   *
   * @default true
   */
  autoSelectFamily?: boolean | null | undefined

  /**
   * How many milliseconds one address may take before the next one is tried; values below 10 count as 10.
   * `connect.autoSelectFamilyAttemptTimeout` overrides it. No effect with a connect function.
   *
   * @default Node's own: 250, or 500 from Node 26 on
   */
  autoSelectFamilyAttemptTimeout?: number | null | undefined

  /**
   * The largest receive window of a stream, in bytes: SETTINGS_INITIAL_WINDOW_SIZE (RFC 9113 §6.5.2), from 1 to
   * 2^31 - 1.
   *
   * With many open streams, Dodici gives each a smaller window, to keep their sum below
   * {@link ClientOptions.maxSessionBuffer}. If you set this option, a session starts with it, if it fits. If not, a
   * session starts with about 1 MiB, and grows the window when a response outgrows it.
   *
   * With a multiple of 1,024, responses of exactly that length from Node's own servers may fail (docs/connections.md).
   * Dodici itself never chooses such a window.
   *
   * @default 16_777_259
   */
  initialWindowSize?: number | null | undefined

  /**
   * The receive window of the whole session, in bytes (RFC 9113 §6.9.2), from 65_535 to 2^31 - 1. If you don't set it,
   * it grows with what the streams may hold together.
   *
   * @default 16_777_259
   */
  connectionWindowSize?: number | null | undefined

  /**
   * The most a session buffers for readers that aren't reading, in bytes: the sum of its stream windows, from 65_535 to
   * 2^53 - 1. A session opens at most one stream per 16,385 bytes of it.
   *
   * @default 268_435_456
   */
  maxSessionBuffer?: number | null | undefined

  /**
   * How many milliseconds a session without requests stays open. `0`: until the server closes it.
   *
   * An idle HTTP/1.1 connection stays open for as long, unless its server asks for another time with
   * `keep-alive: timeout`. If you don't set this option, it stays open for 4 seconds, as in undici.
   *
   * @default 300_000
   */
  keepAliveTimeout?: number | null | undefined

  /**
   * How many milliseconds a session with requests waits for a byte from the server before it sends a PING (RFC 9113
   * §6.7). Unless you set it, Dodici sends an early PING 2 seconds after the last byte, and further ones 4, 8, 16 and
   * 32 seconds after the previous ACK, if the server won't count them against the client. A session that was idle for
   * this long is verified with a PING before it takes a request. `0`: never.
   *
   * Doubled for an origin each time it sends GOAWAY with ENHANCE_YOUR_CALM and `too_many_pings`.
   *
   * @default 60_000; 300_000 for an origin that has responded with `application/grpc`, because gRPC servers end
   *   connections with more frequent PINGs
   */
  pingInterval?: number | null | undefined

  /**
   * How many milliseconds the server may take to acknowledge a PING before Dodici destroys the session. `0`: forever,
   * and Dodici verifies no session.
   *
   * @default 15_000
   */
  pingTimeout?: number | null | undefined

  /**
   * How many streams a session may reset (RST_STREAM) in one burst, for aborted calls and timeouts: 1 or more.
   * {@link ClientOptions.resetRate} says how fast the budget refills. A stream whose reset has to wait keeps its place
   * on the session; the caller doesn't wait. When few resets are left, another session takes new calls. Node's server
   * ends a connection above 1,000. `null`: no limit, for servers without such a limit.
   *
   * Halved for 10 minutes when a server may have ended a session because of its resets (GOAWAY with INTERNAL_ERROR or
   * ENHANCE_YOUR_CALM).
   *
   * @default 800
   */
  resetBurst?: number | null | undefined

  /**
   * How many resets per second {@link ClientOptions.resetBurst} regains, from 1 to 1_000_000. `null`: the default.
   *
   * @default 30
   */
  resetRate?: number | null | undefined

  /**
   * The age, in milliseconds, at which Dodici replaces a session. It opens another one first, which takes the requests
   * once the server's SETTINGS have arrived. Then the old session finishes its streams, for at most
   * {@link ClientOptions.sessionGracePeriod}, and closes. The new connection resolves the name again. `0`: no limit.
   *
   * Each session's age is randomly reduced by up to 10 %, so that sessions opened together aren't replaced together. A
   * session without requests for five seconds, or for half of that age, closes without a successor. If no new
   * connection can be made, the old session continues to serve.
   *
   * Without this option, undici's {@link ClientOptions.clientTtl} applies. With it, it also applies over HTTP/1.1,
   * unless you set `clientTtl`, too.
   *
   * @default 0
   */
  maxSessionAge?: number | null | undefined

  /**
   * The most requests a session gets, retries included. When a quarter of them is left, Dodici opens another session
   * and replaces this one as for {@link ClientOptions.maxSessionAge}. Use it with servers that close a connection after
   * a number of requests and fail some of them (nginx's `keepalive_requests`). `0`: no limit.
   *
   * Over HTTP/1.1 it is the default of {@link ClientOptions.maxRequestsPerClient}, which has no effect over HTTP/2.
   *
   * @default 0
   */
  maxSessionRequests?: number | null | undefined

  /**
   * How many milliseconds the streams of a session may continue after it was replaced for its age or its number of
   * requests. Then the connection ends, and its remaining streams and tunnels fail with a `SocketError`. Idempotent
   * requests without any part of a response are retried. `0`: forever; the next session is replaced for its age only
   * when these streams have ended.
   *
   * @default 300_000
   */
  sessionGracePeriod?: number | null | undefined

  /**
   * Whether Dodici retries an idempotent request (see {@link DispatchOptions.idempotent}) once when its session dies
   * before any part of the response has arrived. `false`: it retries only what the server provably did not process.
   *
   * @default true
   */
  replaySafe?: boolean | null | undefined

  /**
   * Whether a request whose header or trailer section exceeds the server's SETTINGS_MAX_HEADER_LIST_SIZE (RFC 9113
   * §6.5.2) fails before it is sent, with a `RequestHeadersOverflowError` that names the limit. The setting is
   * advisory: with `false`, Dodici sends such a request anyway. Until the server's SETTINGS have arrived, the limit is
   * unknown, and Dodici sends the request.
   *
   * @default true
   */
  enforceMaxHeaderListSize?: boolean | null | undefined

  /**
   * The dispatcher for what HTTP/2 can't serve: origins that choose HTTP/1.1 in ALPN (Dodici remembers that for five
   * minutes, or until a connection chooses HTTP/2), requests that a server refuses with HTTP_1_1_REQUIRED (RFC 9113
   * §7), if their body can be sent again, and upgrades to servers that don't offer extended CONNECT. A request's
   * limits, signal and errors are the same there.
   *
   * - `undefined`: the undici that is built into Node. Dodici creates its dispatcher on first use, with the same
   *   `connect`, `socketPath`, `connectTimeout` and {@link Http1Options}, and closes it together with this one. On a
   *   runtime without it, such a request fails with a `NotSupportedError`.
   * - Your own dispatcher: you close it. It decides how many connections it opens, and how long they live.
   * - `null`: none. Dodici offers only `h2` in ALPN, and such a request fails with an `AlpnError`, a `StreamError` or a
   *   `NotSupportedError`.
   *
   * @default undefined
   */
  fallback?: FallbackDispatcher | null | undefined

  /**
   * HTTP/2 settings and limits, under undici's names.
   *
   * @default {}
   */
  h2Options?: H2Options | null | undefined

  /**
   * How many streams a session opens at once. The peer's SETTINGS_MAX_CONCURRENT_STREAMS can lower this limit, but not
   * raise it. `null`: only the peer's limit. Before its SETTINGS have arrived, at most 100 (RFC 9113 §6.5.2 recommends
   * that peers allow at least that many).
   *
   * @default null
   */
  maxConcurrentStreams?: number | null | undefined

  /**
   * Whether a session sends only its first request before the server's SETTINGS have arrived. Use it with strict
   * servers, which end a connection that opens more streams than they allow. `false`: the session sends up to 100
   * requests and retries those the server refuses. Once Dodici knows an origin's limit, its next sessions don't wait.
   *
   * @default false
   */
  waitForSettings?: boolean | null | undefined

  /**
   * Whether a request fails if its body length differs from its `content-length`. `false`: the body decides, and Dodici
   * sets the field to the body length if it is known.
   *
   * @default true
   */
  strictContentLength?: boolean | undefined

  /**
   * Whether Dodici appends the caller's stack to the `stack` of an error: where `dispatch()`, `request()` or `fetch()`
   * was called. Use it with callbacks and `then()`; after `await`, the stack names the caller anyway. It costs a few
   * microseconds per request. A request's {@link DispatchOptions.captureStack} overrides it.
   *
   * @default false
   */
  captureStack?: boolean | null | undefined

  /**
   * Limits for what undici's WebSocket, or the one built into Node, may receive over this dispatcher. `null`: the
   * defaults.
   *
   * @default null
   */
  webSocket?: WebSocketOptions | null | undefined

  /**
   * Limits for what undici's EventSource, or the one built into Node, may receive over this dispatcher. `null`: the
   * defaults.
   *
   * @default null
   */
  eventSource?: EventSourceOptions | null | undefined

  /**
   * The HTTP/2 implementation: `'node'` for Node's own, `'wire'` for Dodici's.
   *
   * Without this option, a session over a Duplex that is neither a `net.Socket` nor a `TLSSocket` uses `'wire'`,
   * because `node:http2` isn't safe there. With `'node'` such a session fails with an `InvalidArgumentError`.
   *
   * @default the environment variable `DODICI_ENGINE`; without it `'node'`, on Bun `'wire'`
   */
  engine?: EngineName | undefined

  /**
   * Whether Dodici uses HTTP/2 with prior knowledge (RFC 9113 §3.3) for an `http:` origin, or a function that decides
   * it for each origin. `false`: the requests go to the {@link ClientOptions.fallback}.
   *
   * @default true; `false` for an `Agent`, which is for any origin, and in `dodici/undici`
   */
  h2c?: boolean | ((origin: URL) => boolean) | null | undefined

  /**
   * Another name for {@link ClientOptions.h2c}, from undici; `h2c` overrides it. `null`: not set.
   *
   * @default null
   */
  useH2c?: boolean | null | undefined

  /**
   * Whether Dodici uses HTTP/2 at all. `false`: all requests go to the {@link ClientOptions.fallback}, over HTTP/1.1.
   *
   * @default true
   */
  allowH2?: boolean | null | undefined
}

/** `Pool` options: the options for its sessions, and how many sessions there may be. */
export interface PoolOptions extends ClientOptions {
  /**
   * How many sessions may be open to the origin, not counting draining ones. Dodici opens another session when all are
   * full. `null`: no limit.
   *
   * Over HTTP/1.1, where a connection carries one request at a time, it limits the connections to the origin: further
   * requests wait. If you don't set it, or with `null`, there is no limit, as in undici, so slow responses don't block
   * each other. A `Client` has one connection. Upgraded connections and tunnels don't count.
   *
   * @default 4; over HTTP/1.1 any number
   */
  connections?: number | null | undefined
}

/** `Agent` options: the options for each of its Pools, and a few more. */
export interface AgentOptions extends PoolOptions {
  /**
   * How many origins the agent may hold. When it needs another one, it closes an origin that has no requests and wasn't
   * used lately; if all have requests, the request to the new origin fails with a `MaxOriginsReachedError`. `null`: no
   * limit, but above 1_000 the agent closes idle ones.
   *
   * @default null
   */
  maxOrigins?: number | null | undefined

  /**
   * Creates the dispatcher for one origin. The function receives the agent's options without `factory` and
   * `maxOrigins`, with the agent's `fallback`, and with `h2c: false` for an `http:` origin that uses HTTP/1.1.
   *
   * @default (origin, options) => new Pool(origin, options)
   */
  factory?: ((origin: URL, options: PoolOptions) => Dispatcher) | null | undefined

  /**
   * Whether Dodici uses HTTP/2 with prior knowledge (RFC 9113 §3.3) for `http:` origins, or a function that decides it
   * for each origin. The function is called once, as long as the agent remembers the origin. `false`: the requests go
   * to the `fallback`.
   *
   * @default false
   */
  h2c?: boolean | ((origin: URL) => boolean) | null | undefined

  /**
   * Whether `https:` origins share sessions (RFC 9113 §9.1.1): an origin uses a session opened for another origin if
   * that session's certificate is valid for both. docs/connections.md lists all conditions, and docs/security.md
   * explains what it means for privacy. `true`: the same as `{}`. `false` and `null`: each origin has its own sessions.
   *
   * No effect with a `connect` function, `socketPath`, `factory` or `connect.servername`; Dodici warns about that.
   *
   * @default false
   */
  coalesce?: boolean | CoalesceOptions | null | undefined
}

/** Which origins share sessions. */
export interface CoalesceOptions {
  /**
   * What must confirm, in addition to the certificate, that a session's server serves another origin:
   *
   * - `dns`: the origin's name resolves to the session's address. If the server has sent an ORIGIN frame (RFC 8336),
   *   the frame lists the origin, too.
   * - `origin-frame`: the server has sent an ORIGIN frame that lists the origin, and the name resolves to the session's
   *   address, unless {@link CoalesceOptions.skipDns} is set.
   * - `both`: the same as `dns`, but {@link CoalesceOptions.skipDns} applies to origins that an ORIGIN frame lists.
   *
   * @default 'both'
   */
  origins?: 'dns' | 'origin-frame' | 'both' | null | undefined

  /**
   * Whether Dodici trusts an ORIGIN frame without looking the origin's name up. Then a stolen certificate key is enough
   * to receive the requests for every name in the certificate, without control over DNS or routes. `true` needs
   * {@link CoalesceOptions.origins} to be `'origin-frame'` or `'both'`.
   *
   * @default false
   */
  skipDns?: boolean | null | undefined
}

/**
 * SETTINGS that a session sends (RFC 9113 §6.5.2, RFC 8441 §3). Dodici always sends `enablePush`, `maxHeaderListSize`
 * and `initialWindowSize`; any other setting has the protocol's default unless you set it.
 */
export interface Http2Settings {
  /** The size of the HPACK table for responses, in bytes, from 0 to 2^32 - 1. @default 4_096 */
  headerTableSize?: number | undefined
  /** Server push: only `false` is accepted, and sent. @default false */
  enablePush?: boolean | undefined
  /** How many streams the server may open, from 0 to 2^32 - 1. No effect without push. @default no limit */
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

/** The `h2Options`, as in undici. An option that you set both here and at the top level must have the same value. */
export interface H2Options {
  /** The SETTINGS that a session sends when it begins. @default {} */
  settings?: Http2Settings | null | undefined
  /** The same as {@link ClientOptions.connectionWindowSize}. */
  connectionWindowSize?: number | null | undefined
  /** The same as {@link ClientOptions.maxConcurrentStreams}. */
  maxConcurrentStreams?: number | null | undefined
  /** The same as {@link ClientOptions.pingInterval}. */
  pingInterval?: number | null | undefined
}

/** The `webSocket` options, as in undici. A WebSocket fails when it receives more. */
export interface WebSocketOptions {
  /** How many frames one message may have. `0` or `Infinity`: no limit. @default 131_072 */
  maxFragments?: number | undefined
  /** The most bytes in one message, decompressed. `0` or `Infinity`: no limit. @default 134_217_728 */
  maxPayloadSize?: number | undefined
}

/** The `eventSource` options, as in undici. An EventSource fails when it receives more. */
export interface EventSourceOptions {
  /** The most bytes in one event. `0` or `Infinity`: no limit. @default `buffer.constants.MAX_STRING_LENGTH` */
  maxEventSize?: number | undefined
}
