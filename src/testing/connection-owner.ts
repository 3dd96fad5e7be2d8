/**
 * What a connection reports to its fault server.
 *
 * @module
 */

import type { FaultStream } from './fault-stream.ts'
import type { RecordedFrame } from './records.ts'

/** What a connection needs from its server. */
export interface ConnectionOwner<Connection> {
  /** A new request's place among all of the server's requests. */
  place(method: string, path: string): { readonly index: number; readonly count: number }
  /** Runs a part of a script. Its error is kept for the next wait. */
  run(part: () => unknown): void
  /** A request's header section has arrived; no script has run. */
  onOpen(stream: FaultStream): void
  onRequest(stream: FaultStream, connection: Connection): void
  onComplete(stream: FaultStream, connection: Connection): void
  /** The request won't be completed any more. */
  onGone(stream: FaultStream): void
  onFrame(frame: RecordedFrame): void
  /** The client has violated HTTP/2, or doesn't speak it. */
  onProblem(problem: string): void
  /** Something has arrived that a wait may be for. */
  onChange(): void
}
