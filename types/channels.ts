import type { ConnectionInfo } from './connection.ts'
import type { EndReason, OpenReason } from './stats.ts'

/** A session, in each message about it: the same object for its whole life. */
export interface SessionFacts {
  /** The number of the session within the origin's dispatcher, from 1. */
  readonly id: number
  /** As `URL.origin` writes it. */
  readonly origin: string
  /** Why it was opened. */
  readonly openedFor: OpenReason
  /** The protocol: HTTP/2 over TLS, or without it. */
  readonly protocol: 'h2' | 'h2c'
}

/**
 * A request, in each message about it: the same object for its whole life, over all its attempts, and over HTTP/2 the
 * same as in the messages of undici's channels. `path` includes the query, which may contain secrets.
 */
export interface RequestFacts {
  /** As `URL.origin` writes it. */
  readonly origin: string
  /** In upper case, as it is sent. */
  readonly method: string
  /** Path and query. */
  readonly path: string
}

/**
 * Why a request is retried:
 *
 * - `unprocessed`: the server provably did not act on it
 * - `safe`: its session was lost; the server may have acted on it, and may safely do so again
 * - `http/1.1`: the server wants it over HTTP/1.1
 * - `misdirected`: the response was 421
 */
export type RetryReason = 'unprocessed' | 'safe' | 'http/1.1' | 'misdirected'

/**
 * Why requests to an origin are served over HTTP/1.1:
 *
 * - `option`: the caller has chosen it, such as `http:` without `h2c`
 * - `alpn`: the server was offered both, and chose HTTP/1.1
 * - `required`: the server asked for it (HTTP_1_1_REQUIRED)
 * - `upgrade`: the request is an upgrade, and the server doesn't offer extended CONNECT
 */
export type FallbackReason = 'option' | 'alpn' | 'required' | 'upgrade'

/**
 * The channels that Dodici publishes with `node:diagnostics_channel` in addition to undici's, and their messages.
 *
 * @example
 * ```ts
 * import { subscribe } from 'node:diagnostics_channel'
 * import type { DodiciChannels } from 'dodici'
 *
 * subscribe('dodici:request:retry', (message) => {
 *   const { request, reason, error } = message as DodiciChannels['dodici:request:retry']
 *   console.warn(`${request.method} ${request.origin}: again (${reason})`, error?.message)
 * })
 * ```
 */
export interface DodiciChannels {
  /** The request has to wait for a connection, or for a free stream on one. */
  'dodici:request:queued': RequestMessage
  /** An attempt was sent. */
  'dodici:request:attempt': RequestMessage & {
    /** What carries it. */
    readonly connection: ConnectionInfo
  }
  /** The header section of the final response has arrived. */
  'dodici:request:response': RequestMessage & {
    /** What carried it. */
    readonly connection: ConnectionInfo
    /** The status code (RFC 9110 §15). */
    readonly statusCode: number
  }
  /** Another attempt will follow. */
  'dodici:request:retry': RequestMessage & {
    /** What carried this attempt. */
    readonly connection: ConnectionInfo | null
    /** Why the request may be sent again. */
    readonly reason: RetryReason
    /** What ended this attempt; `null` after a 421. */
    readonly error: Error | null
  }
  /** The request has ended. */
  'dodici:request:end': RequestMessage & {
    /** What carried it; `null` if no attempt had begun. */
    readonly connection: ConnectionInfo | null
    /** Why it failed; `null` if its response is complete, or its tunnel is open. */
    readonly error: Error | null
  }
  /** From now on, HTTP/1.1 serves requests to an origin. Once per reason, until HTTP/2 serves it again. */
  'dodici:fallback': {
    /** As `URL.origin` writes it. */
    readonly origin: string
    /** Why. */
    readonly reason: FallbackReason
  }
  /** An UpstreamPool is about to send a late request to a second upstream. */
  'dodici:upstream:hedge': {
    /** The name of the upstream that is late. */
    readonly first: string
    /** The name of the second upstream. */
    readonly second: string
    /** How long the first has taken so far, in milliseconds. */
    readonly after: number
  }
  /** A connection attempt is about to start. */
  'dodici:session:open': SessionMessage
  /** The session takes requests. */
  'dodici:session:ready': SessionMessage & {
    /** A `net.Socket`, a `TLSSocket`, or the caller's Duplex. */
    readonly socket: unknown
  }
  /** The session serves another origin, too ({@link AgentOptions.coalesce}). */
  'dodici:session:coalesced': SessionMessage & {
    /** That origin, as `URL.origin` writes it. */
    readonly origin: string
    /** The number of the session among those of that origin's dispatcher. */
    readonly sessionId: number
  }
  /** The peer's SETTINGS have arrived, or have changed. */
  'dodici:session:settings': SessionMessage & {
    /** A missing setting has the protocol's default. */
    readonly settings: PeerSettings
  }
  /** No sign of life arrived in time: the next request waits for the ACK of a PING. */
  'dodici:session:late': SessionMessage
  /** The ACK of a PING has arrived. */
  'dodici:session:ping': SessionMessage & {
    /** The round-trip time, in milliseconds. */
    readonly rtt: number
  }
  /** An upload has to wait for the server to read. */
  'dodici:session:stall': SessionMessage & {
    /** Its stream. */
    readonly streamId: number
    /** What is left of the connection window, in bytes. 0: it is used up. More: the stream window is used up. */
    readonly sessionWindow: number
  }
  /** The session takes no more requests. */
  'dodici:session:draining': SessionMessage & {
    /** The server's GOAWAY; `null` if this side started the drain. */
    readonly goaway: PeerGoaway | null
    /** Why. */
    readonly reason: EndReason | null
  }
  /** The session is gone. */
  'dodici:session:closed': SessionMessage & {
    /** What ended it; `null` if it was closed on purpose. */
    readonly cause: Error | null
    /** Why. The first reason counts. */
    readonly reason: EndReason
  }
}

/** The base of each message about a request. */
export interface RequestMessage {
  /** The same object in each message. */
  readonly request: RequestFacts
}

/** The base of each message about a session. */
export interface SessionMessage {
  /** The same object in each message. */
  readonly session: SessionFacts
}

/** The peer's SETTINGS (RFC 9113 §6.5.2), as far as they matter to requests. */
export interface PeerSettings {
  /** The value of SETTINGS_MAX_CONCURRENT_STREAMS. */
  readonly maxConcurrentStreams?: number | undefined
  /** SETTINGS_ENABLE_CONNECT_PROTOCOL (RFC 8441). */
  readonly enableConnectProtocol?: boolean | undefined
  /** The value of SETTINGS_MAX_HEADER_LIST_SIZE, in bytes. */
  readonly maxHeaderListSize?: number | undefined
}

/** The peer's GOAWAY (RFC 9113 §6.8). */
export interface PeerGoaway {
  /** The error code (§7). */
  readonly code: number
  /** The last stream that the peer may have acted on. */
  readonly lastStreamId: number
  /** Its debug data, which may be sensitive. `null` for none. */
  readonly debugData: Buffer | null
}
