/**
 * The session, as its streams see it.
 *
 * @module
 */

import type { UploadBuffer } from './node-body-writer.ts'
import type { Resettable } from './reset-budget.ts'
import type { FailureContext } from './stream-failure.ts'

/** What a stream needs of its session besides being let go of. */
export interface NodeStreamHost extends FailureContext {
  readonly uploadBuffer: UploadBuffer
  /** The receive window that each stream has, in bytes. */
  readonly streamWindow: number
  /** Resets the stream, now or as soon as the peer won't mind. */
  reset(stream: Resettable): void
  /** A call has got its whole answer, or its tunnel. */
  onAnswered(): void
  /** A stream has received more than one window: it might go faster with a larger one. */
  onLargeAnswer(): void
}
