import type { ConnectionInfo } from './connection.ts'
import type { EndReason, OpenReason } from './stats.ts'

/** A session, in each message about it: one object for its whole life. */
export interface SessionFacts {
  /** Numbers the sessions of the origin's dispatcher, from 1. */
  readonly id: number
  /** As `URL.origin` writes it. */
  readonly origin: string
  /** Why it was opened. */
  readonly openedFor: OpenReason
  /** The version of HTTP: over TLS, or without it. */
  readonly protocol: 'h2' | 'h2c'
}

/**
 * A request, in each message about it: one object for its whole life, over all its attempts; over HTTP/2 the same that
 * the messages of undici's channels have. `path` has the query, which may hold secrets.
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
 * Why a request is sent again:
 *
 * - `unprocessed`: the server has provably not acted on it
 * - `safe`: its session was lost; the server may have acted on it, and may do so again
 * - `http/1.1`: the server wants it by HTTP/1.1
 * - `misdirected`: the response was 421
 */
export type RetryReason = 'unprocessed' | 'safe' | 'http/1.1' | 'misdirected'

/**
 * Why requests to an origin are served over HTTP/1.1:
 *
 * - `option`: the caller has chosen it: `http:` without `h2c`, for example
 * - `alpn`: a connection was offered both, and its server has chosen HTTP/1.1
 * - `required`: the server has asked for it (HTTP_1_1_REQUIRED)
 * - `upgrade`: the request is an upgrade, and the server offers no extended CONNECT
 */
export type FallbackReason = 'option' | 'alpn' | 'required' | 'upgrade'

/**
 * The channels that Dodici publishes with `node:diagnostics_channel` beside undici's, and their messages.
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
  /** The request has to wait for a connection, or for room on one. */
  'dodici:request:queued': RequestMessage
  /** An attempt was sent. */
  'dodici:request:attempt': RequestMessage & {
    /** What carries it. */
    readonly connection: ConnectionInfo
  }
  /** The header section of the final response has come. */
  'dodici:request:response': RequestMessage & {
    /** What has carried it. */
    readonly connection: ConnectionInfo
    /** The status code (RFC 9110 §15). */
    readonly statusCode: number
  }
  /** Another attempt will follow. */
  'dodici:request:retry': RequestMessage & {
    /** What has carried this one. */
    readonly connection: ConnectionInfo | null
    /** Why the request may be sent again. */
    readonly reason: RetryReason
    /** What has ended this attempt; `null` after a 421. */
    readonly error: Error | null
  }
  /** The request has ended. */
  'dodici:request:end': RequestMessage & {
    /** What has carried it; `null` when no attempt had begun. */
    readonly connection: ConnectionInfo | null
    /** Why it failed; `null` when its response is complete, or its tunnel stands. */
    readonly error: Error | null
  }
  /** Requests to an origin are served over HTTP/1.1 from now on. Once for each reason, until HTTP/2 serves it again. */
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
    /** The name of the other one. */
    readonly second: string
    /** How long the first has taken so far. Milliseconds. */
    readonly after: number
  }
  /** A connection is about to be made. */
  'dodici:session:open': SessionMessage
  /** The session takes requests. */
  'dodici:session:ready': SessionMessage & {
    /** A `net.Socket`, a `TLSSocket`, or a Duplex of the caller's. */
    readonly socket: unknown
  }
  /** The session serves another origin, too ({@link AgentOptions.coalesce}). */
  'dodici:session:coalesced': SessionMessage & {
    /** That origin, as `URL.origin` writes it. */
    readonly origin: string
    /** The number of the session among those of that origin's dispatcher. */
    readonly sessionId: number
  }
  /** The peer's SETTINGS have come, or have changed. */
  'dodici:session:settings': SessionMessage & {
    /** What isn't in them has the protocol's default. */
    readonly settings: PeerSettings
  }
  /** No sign of life has come in time: the next request waits for the ACK of a PING. */
  'dodici:session:late': SessionMessage
  /** The ACK of a PING has come. */
  'dodici:session:ping': SessionMessage & {
    /** The round trip. Milliseconds. */
    readonly rtt: number
  }
  /** An upload has to wait for the server to read. */
  'dodici:session:stall': SessionMessage & {
    /** Its stream. */
    readonly streamId: number
    /** What is left of the connection window, in bytes. 0: it is used up. More: the stream's own window is. */
    readonly sessionWindow: number
  }
  /** The session takes no more requests. */
  'dodici:session:draining': SessionMessage & {
    /** What the server has said; `null` when this side has begun. */
    readonly goaway: PeerGoaway | null
    /** Why. */
    readonly reason: EndReason | null
  }
  /** The session is gone. */
  'dodici:session:closed': SessionMessage & {
    /** What has ended it; `null` when it was closed on purpose. */
    readonly cause: Error | null
    /** Why: the first reason counts. */
    readonly reason: EndReason
  }
}

/** What each message about a request has. */
export interface RequestMessage {
  /** The same object in each message. */
  readonly request: RequestFacts
}

/** What each message about a session has. */
export interface SessionMessage {
  /** The same object in each message. */
  readonly session: SessionFacts
}

/** The peer's SETTINGS (RFC 9113 §6.5.2), as far as they matter to requests. */
export interface PeerSettings {
  /** SETTINGS_MAX_CONCURRENT_STREAMS. */
  readonly maxConcurrentStreams?: number | undefined
  /** SETTINGS_ENABLE_CONNECT_PROTOCOL (RFC 8441). */
  readonly enableConnectProtocol?: boolean | undefined
  /** SETTINGS_MAX_HEADER_LIST_SIZE. Bytes. */
  readonly maxHeaderListSize?: number | undefined
}

/** The peer's GOAWAY (RFC 9113 §6.8). */
export interface PeerGoaway {
  /** The error code (§7). */
  readonly code: number
  /** The last stream that the peer may have acted on. */
  readonly lastStreamId: number
  /** What it says about its reason: it may be sensitive. `null` for nothing. */
  readonly debugData: Buffer | null
}
