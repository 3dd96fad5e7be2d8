import type { Socket, TcpNetConnectOpts } from 'node:net'
import type { ConnectionOptions, TLSSocket } from 'node:tls'
import type { CallLimits } from './limits.ts'

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

  /** An open socket to put TLS on, such as a tunnel. */
  httpSocket?: Socket
}

/** Told the outcome of a {@link Connector}: an error, or a socket that is connected (for TLS, with its handshake done). */
export type ConnectorCallback = (error: Error | null, socket?: Socket | TLSSocket | null) => void

/**
 * Opens a socket to an origin. It reports through `callback`, or returns a promise of the socket; the first outcome counts.
 *
 * A TLS socket must have negotiated `h2` by ALPN. undici's `buildConnector({ allowH2: true })` makes one that fits.
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
   * The receive window of each stream, in bytes: SETTINGS_INITIAL_WINDOW_SIZE (RFC 9113 §6.5.2), at most 2^31 - 1.
   *
   * It bounds what one unread answer holds in memory, and, with the round-trip time, how fast one answer can come.
   *
   * @default 4_194_304
   */
  initialWindowSize?: number | undefined

  /**
   * The receive window of the whole session, in bytes (RFC 9113 §6.9.2), from 65_535 to 2^31 - 1.
   *
   * @default 16_777_216
   */
  connectionWindowSize?: number | undefined

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
   * What speaks HTTP/2: `'node'` is `node:http2`.
   *
   * @default 'node'
   */
  engine?: 'node' | undefined
}

/** The options of an `Agent`: those of each of its Clients, and its own. */
export interface AgentOptions extends ClientOptions {
  /**
   * Whether `http:` origins are spoken to in HTTP/2 by prior knowledge (RFC 9113 §3.3). `false`: such a request fails with a
   * `NotSupportedError`. The default global dispatcher has `true`.
   *
   * @default false
   */
  h2c?: boolean | undefined
}

/** A snapshot of what a `Client` is doing. */
export interface ClientStats {
  /** Whether it has a session that takes requests. */
  connected: boolean

  /** How many calls wait for a stream. */
  pending: number

  /** How many calls have a stream. */
  running: number

  /** All calls: `pending` and `running`. */
  size: number
}
