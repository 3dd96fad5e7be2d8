/**
 * The seam between the scheduler and its sessions: what a session is to it, the states of one, and what it tells.
 *
 * @module
 */

import type { SessionStats } from '../../types/stats.ts'
import type { Clock } from '../core/clock.ts'
import type { Call } from '../handler/call.ts'
import type { Engine, EngineContext } from './engine.ts'
import type { Goaway } from './loss.ts'
import type { OriginMemory } from './origin-memory.ts'
import type { PeerSettings } from './peer-settings.ts'
import type { ResetBudget } from './stream/reset-budget.ts'

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
  /** It may have room for another call: a stream has closed, the peer's limit was raised, or it was verified. */
  onSessionRoom(session: Session): void
  /** A stream is being opened on it. */
  onSessionLoad(session: Session): void
  /** It has had no stream for `keepAliveTimeout`. */
  onSessionIdle(session: Session): void
  /** It takes no calls any more, but finishes those that it has. */
  onSessionDraining(session: Session): void
  /** How many calls wait for room: while there are any, the session is needed, although it may have no streams. */
  waiting(): number
  /** It is gone, and so is each of its streams. `wasReady` is false for a connection that never came about. */
  onSessionClosed(session: Session, cause: Error | null, wasReady: boolean): void
}

/** What all sessions of one origin have in common. */
export interface SessionContext extends EngineContext {
  readonly engine: Engine
  readonly clock: Clock
  readonly memory: OriginMemory
  readonly owner: SessionOwner
}

/** One HTTP/2 connection, whatever frames it. */
export interface Session {
  /** Its place in the owner's heap, -1 outside. The owner's. */
  heapIndex: number
  /** In the order in which its owner's sessions were opened, from 1. */
  readonly id: number
  readonly state: SessionState
  /** Streams that are open. */
  readonly streams: number
  /** Calls of which it has brought a final response's header. */
  readonly responded: number
  readonly settings: PeerSettings
  /** What the peer has said with its GOAWAY; null without one. */
  readonly goaway: Goaway | null
  /** Its streams that nobody wants any more, and that wait for their reset. */
  readonly resets: ResetBudget
  /** Whether `open` may be called now. */
  hasRoom(): boolean
  /**
   * Closes a session, in a later turn, whose connection is gone although it hasn't ended it: an engine may say so late,
   * or never, when a write to the peer doesn't end. Such a session would never have room.
   *
   * @returns whether it does
   */
  closeIfLost(): boolean
  /**
   * Whether it has as many streams as it will ever take, as things stand: not so before SETTINGS, nor with a limit of
   * 0.
   */
  isSaturated(): boolean
  /** A PING has to come back before it has room again: it was idle for long, or in doubt. */
  readonly isStale: boolean
  /** That PING is under way. */
  readonly isVerifying: boolean
  /** Sends it. */
  verify(): void
  /** Makes it stale, where it may send PINGs. */
  requireVerification(): void
  /**
   * Opens a stream for a call and sends its request. The call hears of everything that follows, also of a failure;
   * nothing is thrown.
   */
  open(call: Call): void
  /** The owner's response to `waiting()` has become 0, or isn't any longer. */
  updateRef(): void
  /** A snapshot. */
  toStats(): SessionStats
  /**
   * Begins to connect. Once, when its owner knows of it: what is told, or asked for a socket, may be the caller's own.
   */
  start(): void
  /**
   * Finishes its streams, then closes. Idempotent.
   *
   * @param isAwaited whether somebody waits for that, so that it keeps the process alive
   */
  close(isAwaited?: boolean): void
  /** Ends at once. Its calls fail, for `cause` or, when that is null, because the session was destroyed. Idempotent. */
  destroy(cause: Error | null): void
}
