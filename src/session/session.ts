/**
 * The interface between the scheduler and its sessions: the session, its states, and the events that it reports to
 * its owner.
 *
 * @module
 */

import type { EndReason, OpenReason, SessionStats } from '../../types/stats.ts'
import type { Call } from '../call/call.ts'
import type { Clock } from '../core/clock.ts'
import type { SocketExchange } from './connect/socket-exchange.ts'
import type { EngineContext, EngineSource, EngineStream } from './engine.ts'
import type { Goaway } from './loss.ts'
import type { OriginMemory } from './origin-memory.ts'
import type { Transport } from './transport.ts'

/**
 * The state of a session. It only moves forward; the first cause of its end wins.
 *
 * ```
 * connecting → ready → draining → closed      (and from each of them to closed)
 * ```
 *
 * - `connecting`: no socket yet, or the TLS handshake isn't complete
 * - `ready`: accepts calls; the peer's first SETTINGS may still be missing, but have to arrive within
 *   `connectTimeout`
 * - `draining`: finishes its streams and accepts no new ones (GOAWAY has arrived, or `close()` was called)
 * - `closed`: the socket is gone; `cause` is null if the session was closed on purpose
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

/** The owner of a session, which is told of its changes in the order in which they happen. */
export interface SessionOwner {
  /** The session accepts calls from now on. */
  onSessionReady(session: Session): void
  /**
   * The session may have room for another call: a stream has closed, the peer's limit was raised, or the session was
   * verified.
   */
  onSessionRoom(session: Session): void
  /** A stream is being opened on the session. */
  onSessionLoad(session: Session, stream: EngineStream): void
  /** The session has had no streams for `keepAliveTimeout`. */
  onSessionIdle(session: Session): void
  /** The session can send no more request bodies, and the peer has had time to change that. */
  onSessionShut(session: Session): void
  /** The session accepts no more calls, but finishes its streams. */
  onSessionDraining(session: Session): void
  /** How many calls wait for room. While it is above 0, the session is needed, even without streams. */
  waiting(): number
  /** The session and all its streams are gone. @param wasReady false if it ended before it was ready */
  onSessionClosed(session: Session, cause: Error | null, wasReady: boolean): void
  /** ORIGIN has arrived (RFC 8336). For an owner whose sessions may serve further origins. */
  onSessionOrigins?(session: Session, origins: readonly string[]): void
  /** Another origin that shares the session is about to close it: it accepts no more calls for any origin. */
  onSessionRetired?(session: Session, reason: EndReason): void
}

/** What all sessions of one origin share. */
export interface SessionContext extends EngineContext {
  readonly engine: EngineSource
  readonly clock: Clock
  readonly memory: OriginMemory
  /** Present with the built-in fallback; else null. */
  readonly exchange: SocketExchange | null
  /** When the connection attempt began, in the clock's time, if that was before the session's own `start()`. */
  readonly startedAt?: number
  readonly owner: SessionOwner
}

/**
 * Creates a session. A session other than `Http2Session` gets its connection in another way.
 *
 * @param id its number among its owner's sessions, from 1
 */
export type SessionFactory = (context: SessionContext, id: number, openedFor: OpenReason) => Session

/**
 * Which sessions may take a call:
 *
 * - `any`: any session with room
 * - `upload`: a session that can send a body; so do the following
 * - `settled`: a session whose peer's SETTINGS have arrived
 * - `settled-or-idle`: such a session, or one without streams
 */
export type SessionNeed = 'any' | 'upload' | 'settled' | 'settled-or-idle'

/**
 * Whether a session can take a call, and what helps if it can't:
 *
 * - `yes`: `open()` may be called now
 * - `soon`: the session reports when it has room, and no other session is needed. It is connecting, its peer hasn't
 *   announced its limit or allows no streams at all, a reset stream's place is about to be free, or, for a call with
 *   a body, the connection's send window is used up ({@link Session.isShut})
 * - `full`: the peer's limit, which is known and above 0, is reached, or the session's number of requests: another
 *   session may be opened
 * - `stale`: it was idle for a long time, or may be lost: `verify()` sends the PING whose ACK has to arrive first
 * - `lost`: its connection is gone, and the engine hasn't reported that: `destroyIfLost()`
 * - `never`: it takes no more calls
 */
export type Capacity = 'yes' | 'soon' | 'full' | 'stale' | 'lost' | 'never'

/** One HTTP/2 connection, whichever engine serves it. */
export interface Session {
  /** Its position in the owner's heap, -1 if it isn't there. Written by the owner. */
  heapIndex: number
  /** Its number among its owner's sessions, in the order in which they were opened, from 1. */
  readonly id: number
  readonly state: SessionState
  /** The number of open streams. */
  readonly streams: number
  /** The number of calls that it has had. */
  readonly requests: number
  /** When it was connected, in the clock's time; Infinity before. */
  readonly readyAt: number
  /** When calls stopped needing it, in the clock's time; Infinity while it is needed, or isn't ready. */
  readonly idleAt: number
  /** Why it takes no more calls; null if it does, or will. */
  readonly endedFor: EndReason | null
  /** For how many calls it has received the header section of a final response. */
  readonly responded: number
  /**
   * Whether the peer's SETTINGS have arrived, and the frames that arrived with them were handled: a GOAWAY, for
   * example.
   */
  readonly isSettled: boolean
  /** SETTINGS_ENABLE_CONNECT_PROTOCOL (RFC 8441 §3); false until the SETTINGS have arrived. */
  readonly offersExtendedConnect: boolean
  /** The peer's GOAWAY; null if none has arrived. */
  readonly goaway: Goaway | null
  /** Whether calls, or their resets, will soon have to wait for the resets of streams that callers have given up. */
  readonly isCrowded: boolean
  /**
   * Whether it can send no request bodies: streams that have ended use up the connection's send window. The session
   * reports when it has room again, or ends.
   */
  isShut(): boolean
  /** Whether it can take a call with this need now. */
  canTake(need: SessionNeed): Capacity
  /**
   * Closes the session, in a later turn, if its connection is gone although the engine hasn't reported that. An
   * engine may report it late, or never if a write to the peer doesn't finish. Such a session would never have room.
   *
   * @returns whether the connection is gone
   */
  destroyIfLost(): boolean
  /** Sends the PING with which a stale session is verified. Does nothing while that PING is in flight. */
  verify(): void
  /** The next call waits for a PING. No effect when `pingInterval` or `pingTimeout` is 0. */
  requireVerification(): void
  /**
   * Opens a stream for a call and sends its request. The call is told of everything that follows, including failures;
   * nothing is thrown.
   */
  open(call: Call): void
  /** The result of the owner's `waiting()` has become 0, or is above 0 again. */
  updateRef(): void
  /** A snapshot of the session's state and counters. */
  toStats(): SessionStats
  /**
   * Starts to connect. The owner calls it once, after it has stored the session: subscribers and a connect function
   * are the caller's code, and may call back.
   *
   * @param socket an open socket that has chosen HTTP/2 via ALPN; null or undefined: the session opens one
   */
  start(socket?: Transport | null): void
  /**
   * Finishes its streams, then closes. Idempotent.
   *
   * @param reason why it takes no more calls
   * @param isAwaited whether a caller waits for the end, so that the session keeps the process alive
   */
  close(reason: EndReason, isAwaited?: boolean): void
  /** Ends at once. Its calls fail with `cause`; null: because the session was destroyed. Idempotent. */
  destroy(cause: Error | null): void
  /** Ends at once, as if the connection had been lost: requests that may be sent again are. */
  fail(cause: Error): void
}
