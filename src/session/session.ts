/**
 * The seam: what a session engine is, and the state union that every engine moves through.
 *
 * @module
 */

import type { Call } from '../handler/call.ts'

/**
 * Where a session is. It only moves forward; the first cause of its end wins.
 *
 * ```
 * connecting → ready → draining → closed      (and from each of them to closed)
 * ```
 *
 * - `connecting`: no socket yet, or TLS isn't done
 * - `ready`: takes calls
 * - `draining`: finishes its streams and takes no new ones (GOAWAY came, or `close()` was called)
 * - `closed`: no socket any more; `cause` is null when it was closed on purpose
 */
export type SessionState =
  | { readonly name: 'connecting' }
  | { readonly name: 'ready' }
  | { readonly name: 'draining' }
  | { readonly name: 'closed'; readonly cause: Error | null }

const ORDER = { connecting: 0, ready: 1, draining: 2, closed: 3 } as const

/** Whether a session may go from one state to another: forward only. */
export function canMove(from: SessionState, to: SessionState): boolean {
  return ORDER[to.name] > ORDER[from.name]
}

/** Who a session belongs to, and hears of its moves. Called in the order in which they happen. */
export interface SessionOwner {
  /** It takes calls from now on. */
  onSessionReady(session: Session): void
  /** It may have room for another call: a stream has closed, or the peer's limit was raised. */
  onSessionRoom(session: Session): void
  /** It takes no calls any more, but finishes those that it has. */
  onSessionDraining(session: Session): void
  /** Whether calls wait for room: then the session keeps the process alive, although it may have no streams. */
  hasWaiting(): boolean
  /** It is gone, and so is each of its streams. `wasReady` is false for a connection that never came about. */
  onSessionClosed(session: Session, cause: Error | null, wasReady: boolean): void
}

/** One HTTP/2 connection, whatever frames it. */
export interface Session {
  readonly state: SessionState
  /** Streams that are open. */
  readonly streams: number
  /** The peer's SETTINGS_MAX_CONCURRENT_STREAMS; null until its SETTINGS have come. */
  readonly peerLimit: number | null
  /** SETTINGS_ENABLE_CONNECT_PROTOCOL (RFC 8441 §3); false until the peer's SETTINGS have come. */
  readonly offersExtendedConnect: boolean
  /** Whether `open` may be called now. */
  hasRoom(): boolean
  /**
   * Opens a stream for a call and sends its request. The call hears of everything that follows, also of a failure;
   * nothing is thrown.
   */
  open(call: Call): void
  /** The owner's answer to `hasWaiting()` has changed. */
  updateRef(): void
  /** Finishes its streams, then closes. Idempotent. */
  close(): void
  /** Ends at once. Its calls fail, for `cause` or, when that is null, because the session was destroyed. Idempotent. */
  destroy(cause: Error | null): void
}
