import type { ConnectionInfo } from './connection.ts'
import type { EndReason, OpenReason } from './stats.ts'

/** A session, in each message about it: one object for its whole life. */
export interface SessionFacts {
  /** The number of the session among those of its origin's dispatcher, from 1. */
  readonly id: number
  readonly origin: string
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
  'dodici:request:queued': { readonly request: RequestFacts }
  /** An attempt was sent. */
  'dodici:request:attempt': { readonly request: RequestFacts; readonly connection: ConnectionInfo }
  /** The header section of the final response has come. */
  'dodici:request:response': {
    readonly request: RequestFacts
    readonly connection: ConnectionInfo
    readonly statusCode: number
  }
  /** Another attempt will follow. `error` is what has ended this one; `null` after a 421. */
  'dodici:request:retry': {
    readonly request: RequestFacts
    readonly connection: ConnectionInfo | null
    readonly reason: RetryReason
    readonly error: Error | null
  }
  /** The request has ended. `error`: why it failed; `null` when its response is complete, or its tunnel stands. */
  'dodici:request:end': {
    readonly request: RequestFacts
    readonly connection: ConnectionInfo | null
    readonly error: Error | null
  }
  /** Requests to an origin are served over HTTP/1.1 from now on. Once for each reason, until HTTP/2 serves it again. */
  'dodici:fallback': { readonly origin: string; readonly reason: FallbackReason }
  /** An UpstreamPool is about to send a late request to a second upstream, `after` so many milliseconds. */
  'dodici:upstream:hedge': { readonly first: string; readonly second: string; readonly after: number }
  /** A connection is about to be made. */
  'dodici:session:open': { readonly session: SessionFacts }
  /** The session takes requests. `socket` is a `net.Socket`, a `TLSSocket`, or a Duplex of the caller's. */
  'dodici:session:ready': { readonly session: SessionFacts; readonly socket: unknown }
  /** The peer's SETTINGS have come, or have changed. What isn't in them has the protocol's default. */
  'dodici:session:settings': {
    readonly session: SessionFacts
    readonly settings: {
      readonly maxConcurrentStreams?: number | undefined
      readonly enableConnectProtocol?: boolean | undefined
      readonly maxHeaderListSize?: number | undefined
    }
  }
  /** No sign of life has come in time: the next request waits for the ACK of a PING. */
  'dodici:session:late': { readonly session: SessionFacts }
  /** The ACK of a PING has come, after `rtt` milliseconds. */
  'dodici:session:ping': { readonly session: SessionFacts; readonly rtt: number }
  /** An upload has to wait for the server to read. `sessionWindow`: what is left of the connection window, in bytes. */
  'dodici:session:stall': {
    readonly session: SessionFacts
    readonly streamId: number
    readonly sessionWindow: number
  }
  /** The session takes no more requests. `goaway` is the server's; `null` when this side has begun. */
  'dodici:session:draining': {
    readonly session: SessionFacts
    readonly goaway: {
      readonly code: number
      readonly lastStreamId: number
      readonly debugData: Buffer | null
    } | null
    readonly reason: EndReason | null
  }
  /** The session is gone. `cause`: an error; `null` when it was closed on purpose. */
  'dodici:session:closed': {
    readonly session: SessionFacts
    readonly cause: Error | null
    readonly reason: EndReason
  }
}
