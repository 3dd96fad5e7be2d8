/**
 * What an engine is: it makes connections of sockets, and a connection makes streams. What they tell the session goes
 * through the two interfaces at the end of this file.
 *
 * @module
 */

import type { Settings } from 'node:http2'
import type { Socket } from 'node:net'
import type { IncomingHttpHeaders } from '../../types/headers.ts'
import type { Deadlines } from '../core/clock.ts'
import type { Origin, ResolvedClientOptions } from '../core/options.ts'
import type { UnorderedItem } from '../core/unordered-list.ts'
import type { Call } from '../handler/call.ts'
import type { PingLedger } from '../protocol/ping-ledger.ts'
import type { Resettable } from './stream/reset-budget.ts'
import type { WindowAnnouncer } from './stream/session-windows.ts'
import type { FailureContext } from './stream/stream-failure.ts'
import type { Windowed } from './stream/stream-window.ts'

/** One way to speak HTTP/2 over a socket. It has no state of its own: a connection has. */
export interface Engine {
  /**
   * Begins to speak HTTP/2: the client's connection preface goes out.
   *
   * @param socket connected, with TLS where the origin wants it
   * @param streamWindow SETTINGS_INITIAL_WINDOW_SIZE, in bytes
   * @param owner hears of the connection and of its streams
   * @throws when `socket` isn't one after all, or a closed one
   */
  connect(
    context: EngineContext,
    socket: Socket,
    streamWindow: number,
    owner: ConnectionOwner,
  ): EngineConnection
}

/** What an engine knows of the client. */
export interface EngineContext {
  readonly origin: Origin
  readonly options: ResolvedClientOptions
  readonly deadlines: Deadlines
}

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
  /** A stream for this call, not opened yet. */
  toStream(call: Call): EngineStream
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

/** One stream of a connection, for one attempt of a call. */
export interface EngineStream extends UnorderedItem, Resettable, Windowed {
  /** Null before it has one. */
  readonly streamId: number | null
  /**
   * Its caller waits for nothing: it is over, or all of its request has been sent, and its reader holds the response
   * back.
   */
  readonly isIdle: boolean
  /** Sends its request. Whatever goes wrong is the call's failure. */
  open(): void
  /** Ends the call, or its tunnel, on behalf of the session's owner, and lets go of the stream. */
  fail(error: Error): void
  /** The session is gone: the engine may tell nothing more of this stream. */
  lose(): void
}

/** The session, as its streams see it. */
export interface StreamOwner extends FailureContext {
  /** Null until it is connected. */
  readonly socket: Socket | null
  /** A call has got the header of its final response. */
  onResponded(headers: IncomingHttpHeaders): void
  /** An upload is held up. @param sessionWindow bytes that the peer still takes on this session */
  onStall(streamId: number, sessionWindow: number): void
  /** Resets the stream, soon or as soon as the peer won't mind. */
  reset(stream: EngineStream): void
  /** The stream no longer counts against the peer's limit. */
  onStreamClosed(stream: EngineStream): void
}

/** The session, as its connection sees it. */
export interface ConnectionOwner extends StreamOwner {
  onError(error: Error): void
  /** It is gone; said at least once, and last. */
  onClose(): void
  onGoaway(code: number, lastStreamId: number, debugData: Buffer | null): void
  onSettings(settings: Settings): void
  /** Streams would go faster with windows of so many bytes; Infinity for as large as may be. */
  onBandwidth(bytes: number): void
}

/** What stands in for a socket may count no bytes. */
export function toBytesRead(socket: Socket): number | null {
  const bytes: unknown = socket.bytesRead
  return typeof bytes === 'number' ? bytes : null
}
