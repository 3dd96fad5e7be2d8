/**
 * What a connection of a fault server tells it.
 *
 * @module
 */

import type { FaultStream } from './fault-stream.ts'
import type { RecordedFrame } from './records.ts'

/** What a connection needs of its server. */
export interface ConnectionOwner<Connection> {
  /** The place of a new request among all of the server's. */
  place(method: string, path: string): { readonly index: number; readonly count: number }
  /** Runs a part of a script; an error of it is kept for whoever awaits. */
  run(part: () => unknown): void
  /** A request's header section has come; no script has run. */
  onOpen(stream: FaultStream): void
  onRequest(stream: FaultStream, connection: Connection): void
  onComplete(stream: FaultStream, connection: Connection): void
  /** It won't be whole any more. */
  onGone(stream: FaultStream): void
  onFrame(frame: RecordedFrame): void
  /** The client has broken HTTP/2, or doesn't speak it. */
  onProblem(problem: string): void
  /** Something that somebody may wait for has come. */
  onChange(): void
}
