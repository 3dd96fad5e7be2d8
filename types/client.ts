import type { Socket, TcpNetConnectOpts } from 'node:net'
import type { ConnectionOptions, TLSSocket } from 'node:tls'
import type { Dispatcher } from './dispatcher.ts'
import type { EngineName } from './engine.ts'
import type { AnyDispatchHandler } from './handler.ts'
import type { CallLimits } from './limits.ts'
import type { DispatchOptions } from './request.ts'

/** What a {@link Connector} is told: undici's `buildConnector.Options`. */
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

  /** What TLS is to offer by ALPN: `['http/1.1']` for a connection of the fallback, on which HTTP/2 is refused. */
  ALPNProtocols?: string[]

  /** Whether HTTP/2 is wanted, as undici says it: `false` for a connection of the fallback. */
  allowH2?: boolean

  /** An open socket to put TLS on, such as a tunnel. */
  httpSocket?: Socket
}

/** Whoever serves what HTTP/2 can't: a dispatcher of Dodici or of undici 6, 7 or 8. It gets handlers that have both shapes. */
export interface FallbackDispatcher {
  dispatch(options: DispatchOptions, handler: AnyDispatchHandler): boolean
}

/** Told the outcome of a {@link Connector}: an error, or a socket that is connected (for TLS, with its handshake done). */
export type ConnectorCallback = (error: Error | null, socket?: Socket | TLSSocket | null) => void

/**
 * Opens a socket to an origin. It reports through `callback`, or returns a promise of the socket; the first outcome counts.
 *
 * A TLS socket that hasn't negotiated `h2` by ALPN is closed, and its origin's requests go to the {@link ClientOptions.fallback},
 * whose connections the same connector makes by default. undici's `buildConnector({ allowH2: true })` makes one that fits.
 */
export type Connector = (
  options: ConnectorOptions,
  callback: ConnectorCallback,
  // biome-ignore lint/suspicious/noConfusingVoidType: a connector that uses its callback returns nothing, as undici's do
) => void | Promise<Socket | TLSSocket>

/**
 * How to make a socket: node's options for `tls.connect()` and `net.connect()`, without those that Dodici sets.
 *
 * `host`, `port`, `path` and ALPN come from the origin, `socketPath` and the protocol; the time limit is `connectTimeout`.
 */
export type ConnectTlsOptions = Omit<
  ConnectionOptions,
  'host' | 'port' | 'path' | 'socket' | 'ALPNProtocols' | 'timeout'
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
  >

/** The options of a `Client`. Durations in milliseconds, sizes in bytes. A request's own {@link CallLimits} win. */
export interface ClientOptions extends CallLimits {
  /**
   * How to connect: options for the socket and TLS (`ca`, `cert`, `key`, `servername`, `lookup`, …), or a function that
   * opens the socket itself.
   *
   * @default {}
   */
  connect?: ConnectTlsOptions | Connector | undefined

  /**
   * A Unix domain socket or a Windows named pipe to connect to instead of the origin's host. `null`: none.
   *
   * @default null
   */
  socketPath?: string | null | undefined

  /**
   * The largest receive window of a stream, in bytes: SETTINGS_INITIAL_WINDOW_SIZE (RFC 9113 §6.5.2), from 1 to 2^31 - 1.
   *
   * While many streams are open, they get smaller windows, so that all stay below {@link ClientOptions.maxSessionBuffer}.
   * Given, a session begins with it, where it fits; by default with about 1 MiB, and responses that outgrow that make it larger.
   * A multiple of 1,024 makes responses that long fail with Node's own servers (docs/connections.md): no other window is one.
   *
   * @default 16_777_259
   */
  initialWindowSize?: number | null | undefined

  /**
   * The receive window of the whole session, in bytes (RFC 9113 §6.9.2), from 65_535 to 2^31 - 1. Not given, it grows with what
   * its streams may hold together.
   *
   * @default 16_777_259
   */
  connectionWindowSize?: number | null | undefined

  /**
   * What a session buffers at most for readers that don't read, in bytes: its streams' windows together, from 65_535 to
   * 2^53 - 1. Above one stream for each 16,385 bytes of it no stream is opened.
   *
   * @default 268_435_456
   */
  maxSessionBuffer?: number | null | undefined

  /**
   * How long a session without requests stays open. `0`: until the server closes it.
   *
   * @default 300_000
   */
  keepAliveTimeout?: number | null | undefined

  /**
   * After how long without a byte from the server a session that has requests sends a PING (RFC 9113 §6.7); a session
   * that was idle for so long is verified by one before it takes a request. `0`: never.
   *
   * Doubled for an origin each time that it sends GOAWAY with ENHANCE_YOUR_CALM and `too_many_pings`.
   *
   * @default 60_000; 300_000 for an origin that has answered `application/grpc`, whose servers end a connection for PINGs that come sooner
   */
  pingInterval?: number | null | undefined

  /**
   * How long the server may take to respond to a PING: then the session is destroyed. `0`: for ever, and no session is verified.
   *
   * @default 15_000
   */
  pingTimeout?: number | null | undefined

  /**
   * Whether a request that may be repeated (see {@link DispatchOptions.idempotent}) is sent once more when its session dies
   * before any part of the response has come. `false`: only what the server has provably not processed is.
   *
   * @default true
   */
  replaySafe?: boolean | null | undefined

  /**
   * Who serves what HTTP/2 can't: an origin that chooses HTTP/1.1 by ALPN (remembered for as long as this dispatcher lives), a
   * request that a server refuses with HTTP_1_1_REQUIRED (RFC 9113 §7; only with a body that can be had again), and an upgrade that
   * a server offers no extended CONNECT for. Limits, signals and errors of a request are the same there.
   *
   * `undefined`: a dispatcher of the kind that is built into Node, made on first use with the same `connect`, `socketPath` and
   * `connectTimeout`, and closed along with this one. Where none can be had, such a request fails with a `NotSupportedError`.
   * Yours stays yours: it isn't closed. `null`: nobody; then `h2` alone is offered by ALPN, and such a request fails with an
   * `AlpnError`, a `StreamError` or a `NotSupportedError`.
   *
   * @default undefined
   */
  fallback?: FallbackDispatcher | null | undefined

  /** HTTP/2's own options, under undici's names. */
  h2Options?: H2Options | null | undefined

  /**
   * How many streams a session may have open at once, as far as we are concerned; the peer's
   * SETTINGS_MAX_CONCURRENT_STREAMS can lower it, not raise it. `null`: the peer's limit alone, once its SETTINGS have come.
   * Until then, 100 at most (RFC 9113 §6.5.2 recommends no peer limit below that).
   *
   * @default null
   */
  maxConcurrentStreams?: number | null | undefined

  /**
   * Whether a request fails whose body doesn't have the length that its `content-length` says. `false`: the body decides,
   * and the field is set to its length where that is known.
   *
   * @default true
   */
  strictContentLength?: boolean | undefined

  /**
   * What speaks HTTP/2.
   *
   * @default 'node'
   */
  engine?: EngineName | undefined
}

/** The options of a `Pool`: those of its sessions, and how many there may be. */
export interface PoolOptions extends ClientOptions {
  /**
   * How many sessions may be open to the origin, those that only finish their streams apart. A further one is opened when all
   * are full. `null`: any number.
   *
   * @default 4
   */
  connections?: number | null | undefined
}

/** The options of an `Agent`: those of each of its Pools, and its own. */
export interface AgentOptions extends PoolOptions {
  /**
   * How many origins the agent may hold. For one more, one that has no requests and wasn't used lately is closed; when all have
   * requests, the new one's fails with a `MaxOriginsReachedError`. `null`: any number; above 1_000 idle ones are closed.
   *
   * @default null
   */
  maxOrigins?: number | null | undefined

  /**
   * Makes the dispatcher for one origin that is spoken to in HTTP/2. It gets the agent's options without `factory`, `h2c` and
   * `maxOrigins`, and the agent's `fallback`.
   *
   * @default (origin, options) => new Pool(origin, options)
   */
  factory?: ((origin: URL, options: PoolOptions) => Dispatcher) | null | undefined

  /**
   * Whether `http:` origins are spoken to in HTTP/2 by prior knowledge (RFC 9113 §3.3), or a function that tells for an origin; it
   * is asked once for as long as the agent remembers the origin. `false`: their requests go to the `fallback`.
   *
   * @default false
   */
  h2c?: boolean | ((origin: URL) => boolean) | undefined
}

/** SETTINGS that a session sends (RFC 9113 §6.5.2, RFC 8441 §3). What is missing isn't sent, and has the protocol's own default. */
export interface Http2Settings {
  /** Bytes that the peer's HPACK encoder may use of ours, from 0 to 2^32 - 1. @default 4_096 */
  headerTableSize?: number | undefined
  /** Server push: `false` is the only value that is accepted, and what is sent. @default false */
  enablePush?: boolean | undefined
  /** Streams that the server may open; it has no use without push. From 0 to 2^32 - 1. */
  maxConcurrentStreams?: number | undefined
  /** The same as {@link ClientOptions.initialWindowSize}. */
  initialWindowSize?: number | undefined
  /** The largest frame that the server may send, from 16_384 to 2^24 - 1 bytes. @default 16_384 */
  maxFrameSize?: number | undefined
  /** What the server should hold its headers below, from 0 to 2^32 - 1 bytes. @default 1_048_576 */
  maxHeaderListSize?: number | undefined
  /** Extended CONNECT; only a server's word counts for anything. @default false */
  enableConnectProtocol?: boolean | undefined
}

/** undici's `h2Options`. The same thing given here and at the top level must have the same value. */
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
