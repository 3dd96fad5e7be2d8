/**
 * The reader of another package's web stream.
 *
 * @module
 */

import type { ReadableStreamLike } from '../../types/body.ts'
import { originalSetImmediate } from '../core/original-timers.ts'

/** The result of a read. */
export type ReadResult = IteratorResult<unknown>

/** The members of a reader that are used: the types of another package's stream may be anything. */
export interface Reader {
  read(): PromiseLike<ReadResult>
  cancel(reason: unknown): PromiseLike<void>
}

/**
 * Reads a web stream, and cancels it when that is safe.
 *
 * The stream may come from Node's `Readable.toWeb()`. Up to Node 24, if such a stream is cancelled in the tick of a
 * read, or while a read waits, the Readable gives it one more chunk, and that throws an uncaught exception
 * (`Controller is already closed`). One turn of the event loop later, that chunk has arrived.
 */
export class StreamReader implements Reader {
  readonly #reader: Reader
  #hasRead = false

  /** Locks the stream. */
  constructor(stream: ReadableStreamLike) {
    this.#reader = stream.getReader() as Reader
  }

  read(): PromiseLike<ReadResult> {
    this.#hasRead = true
    return this.#reader.read()
  }

  /**
   * Cancels the stream: at once if it was never read, otherwise in the next turn of the event loop. Never fails: its
   * call is over, so there is no receiver for an error from the caller's `cancel()`.
   */
  async cancel(reason: unknown): Promise<void> {
    if (this.#hasRead) await nextTurn()
    try {
      await this.#reader.cancel(reason)
    } catch {
      // See above.
    }
  }
}

function nextTurn(): Promise<void> {
  return new Promise((resolve) => originalSetImmediate(resolve))
}
