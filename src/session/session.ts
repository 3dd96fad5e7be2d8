/**
 * The interface between the scheduler and its sessions: the session, its states, and the events that it tells its
 * owner.
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
 * - `ready`: takes calls; the peer's first SETTINGS, which need not have come yet, have to within `connectTimeout`
 * - `draining`: finishes its streams and takes no new ones (GOAWAY came, or `close()` was called)
 * - `closed`: the socket is gone; `cause` is null when the session was closed on purpose
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

/** The owner of a session, which hears of its changes in the order in which they happen. */
export interface SessionOwner {
  /** The session takes calls from now on. */
  onSessionReady(session: Session): void
  /**
   * The session may have room for another call: a stream has closed, the peer's limit was raised, or the session was
   * verified.
   */
  onSessionRoom(session: Session): void
  /** A stream is being opened on the session. */
  onSessionLoad(session: Session, stream: EngineStream): void
  /** The session has had no stream for `keepAliveTimeout`. */
  onSessionIdle(session: Session): void
  /** No more bodies can be sent on the session, and the peer has had its time to change that. */
  onSessionShut(session: Session): void
  /** The session takes no more calls, but finishes its streams. */
  onSessionDraining(session: Session): void
  /** The number of calls that wait for room. While it is above 0, the session is needed, even without streams. */
  waiting(): number
  /** The session is gone, and so are all its streams. @param wasReady false when it ended before it was ready */
  onSessionClosed(session: Session, cause: Error | null, wasReady: boolean): void
  /** ORIGIN has come (RFC 8336). For an owner whose sessions may serve further origins. */
  onSessionOrigins?(session: Session, origins: readonly string[]): void
  /** Another origin that shares the session is about to close it: it takes no more calls of any origin. */
  onSessionRetired?(session: Session, reason: EndReason): void
}

/** What all sessions of one origin have in common. */
export interface SessionContext extends EngineContext {
  readonly engine: EngineSource
  readonly clock: Clock
  readonly memory: OriginMemory
  /** With a fallback of our own; null without one. */
  readonly exchange: SocketExchange | null
  /** When the attempt to connect began, by the clock, where that was before the session's own `start()`. */
  readonly startedAt?: number
  readonly owner: SessionOwner
}

/**
 * Makes a session. Another one than `Http2Session` has another way to get a connection.
 *
 * @param id its number among its owner's sessions, from 1
 */
export type SessionFactory = (context: SessionContext, id: number, openedFor: OpenReason) => Session

/**
 * Which session may take a call:
 *
 * - `any`: any session with room
 * - `upload`: a session that can send a body, as the others do that follow
 * - `settled`: a session whose peer's SETTINGS have come
 * - `settled-or-idle`: such a session, or one without streams
 */
export type SessionNeed = 'any' | 'upload' | 'settled' | 'settled-or-idle'

/**
 * Whether a session can take a call, and what helps if it can't:
 *
 * - `yes`: `open()` may be called now
 * - `soon`: the session tells when it has room, and no other one is called for. It connects, its peer hasn't told its
 *   limit or asks for no streams at all, the place of a reset stream is about to be free, or, for a call with a body,
 *   the connection's send window is used up ({@link Session.isShut})
 * - `full`: the peer's limit, which is known and above 0, is used up, or its number of requests: another session may
 *   be opened
 * - `stale`: it was idle for long, or may be lost: `verify()` sends the PING that has to come back first
 * - `lost`: its connection is gone, and the engine hasn't told: `destroyIfLost()`
 * - `never`: it takes no more calls
 */
export type Capacity = 'yes' | 'soon' | 'full' | 'stale' | 'lost' | 'never'

/** One HTTP/2 connection, whichever engine serves it. */
export interface Session {
  /** Its place in the owner's heap, -1 outside. Written by the owner. */
  heapIndex: number
  /** The number of the session among its owner's, in the order in which they were opened, from 1. */
  readonly id: number
  readonly state: SessionState
  /** The number of open streams. */
  readonly streams: number
  /** The number of calls that it was given. */
  readonly requests: number
  /** When it was connected, by the clock; Infinity before. */
  readonly readyAt: number
  /** When it stopped being needed by calls, by the clock; Infinity while it is needed, or isn't ready. */
  readonly idleAt: number
  /** Why it takes no more calls; null while it does, or will. */
  readonly endedFor: EndReason | null
  /** The number of calls for which it has received the header section of a final response. */
  readonly responded: number
  /** Whether the peer's SETTINGS have come, and the frames that came along were handled, too: a GOAWAY, for example. */
  readonly isSettled: boolean
  /** SETTINGS_ENABLE_CONNECT_PROTOCOL (RFC 8441 §3); false until the SETTINGS have come. */
  readonly offersExtendedConnect: boolean
  /** The peer's GOAWAY; null before any. */
  readonly goaway: Goaway | null
  /** Whether calls will soon wait for resets of streams that callers have given up, or their own resets will. */
  readonly isCrowded: boolean
  /**
   * Whether it can send no bodies: the connection's send window is used up for streams that have ended. The session
   * tells when it has room again, or ends.
   */
  isShut(): boolean
  /** Whether it can take a call with such a need now. */
  canTake(need: SessionNeed): Capacity
  /**
   * Closes the session, in a later turn, if its connection is gone although the engine hasn't told. An engine may tell
   * late, or never, when a write to the peer doesn't end. Such a session would never have room.
   *
   * @returns whether that is so
   */
  destroyIfLost(): boolean
  /** Sends the PING that a stale session has to prove itself by. A no-op while it is in flight. */
  verify(): void
  /** The next call waits for a PING. No effect when `pingInterval` or `pingTimeout` is 0. */
  requireVerification(): void
  /**
   * Opens a stream for a call and sends its request. The call hears of everything that follows, failures included;
   * nothing is thrown.
   */
  open(call: Call): void
  /** The result of the owner's `waiting()` has become 0, or is above 0 again. */
  updateRef(): void
  /** A snapshot of the session's state and counters. */
  toStats(): SessionStats
  /**
   * Begins to connect. The owner calls it once, after it has stored the session: subscribers and a connect function are
   * the caller's code, and may call back.
   *
   * @param socket an open one, over which HTTP/2 was chosen by ALPN; null or undefined: the session makes its own
   */
  start(socket?: Transport | null): void
  /**
   * Finishes its streams, then closes. Idempotent.
   *
   * @param reason why it takes no more calls
   * @param isAwaited whether a caller waits for the end, so that the session keeps the process alive
   */
  close(reason: EndReason, isAwaited?: boolean): void
  /** Ends at once. Its calls fail with `cause` or, when that is null, because the session was destroyed. Idempotent. */
  destroy(cause: Error | null): void
  /** Ends at once, as if the connection had been lost: what may be sent again is. */
  fail(cause: Error): void
}
