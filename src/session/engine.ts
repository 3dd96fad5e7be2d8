/**
 * What an engine brings: connections, and streams on them.
 *
 * @module
 */

import type { Settings } from 'node:http2'
import type { Socket } from 'node:net'
import type { UnorderedItem } from '../core/unordered-list.ts'
import type { PingLedger } from '../protocol/ping-ledger.ts'
import type { Resettable } from './stream/reset-budget.ts'
import type { WindowAnnouncer } from './stream/session-windows.ts'
import type { Windowed } from './stream/stream-window.ts'

/** A socket, and what frames HTTP/2 on it. */
export interface EngineConnection extends WindowAnnouncer {
  readonly socket: Socket
  /** Null where that can't be told: what stands in for a socket may not count. */
  readonly bytesRead: number | null
  /** Whether a stream may be opened, as far as the engine knows. */
  readonly isOpen: boolean
  readonly isDestroyed: boolean
  /** What the peer may think of our PINGs. Who sends them tells it; what comes is told by the engine. */
  readonly pings: PingLedger
  /** Whether that is our own doing, by `cut()`. */
  readonly isCut: boolean
  /** Whether it keeps the process alive. */
  setRef(isNeeded: boolean): void
  /**
   * Sends a PING, or another frame that the peer has to acknowledge.
   *
   * @returns false when none can be sent now; then, and when the connection ends first, `onAck` isn't called
   */
  ping(onAck: () => void): boolean
  /** It opens no further stream, and tells the peer so. Those that it has go on. */
  close(): void
  /** After `close()`: no stream is left. Idempotent. */
  finish(): void
  /** Ends it, in the next turn of the event loop at the latest. */
  cut(): void
}

/** One stream of an engine's. */
export interface EngineStream<TConnection> extends UnorderedItem, Resettable, Windowed {
  /** Null before it has one. */
  readonly streamId: number | null
  /** Nobody waits for it: it is over, or all of its request has been sent, and its reader holds the response back. */
  readonly isIdle: boolean
  /** Sends its request. Whatever goes wrong is the call's failure. */
  open(connection: TConnection): void
  /** Ends the call, or its tunnel, on behalf of the session's owner, and lets go of the stream. */
  fail(error: Error): void
  /** The session is gone. */
  lose(): void
}

/** Who hears of a connection. */
export interface EngineListener {
  onError(error: Error): void
  /** It is gone; said at least once, and last. */
  onClose(): void
  onGoaway(code: number, lastStreamId: number, debugData: Buffer | null): void
  onSettings(settings: Settings): void
}

/** What stands in for a socket may count no bytes. */
export function toBytesRead(socket: Socket): number | null {
  const bytes: unknown = socket.bytesRead
  return typeof bytes === 'number' ? bytes : null
}
