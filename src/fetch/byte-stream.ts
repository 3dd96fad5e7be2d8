/**
 * A caller's web stream that may hold bytes alone.
 *
 * @module
 */

import type { ReadableStreamLike } from '../../types/body.ts'

/** What a read gives. */
export interface ReadResult {
  readonly done: boolean
  readonly value?: unknown
}

/** The part of a reader that is used: the types of a foreign stream may be anything. */
export interface Reader {
  read(): PromiseLike<ReadResult>
  cancel(reason: unknown): PromiseLike<void>
  releaseLock?(): void
}

/** Nobody waits for the end of a stream that nobody wants any more. */
function ignoreLateFailure(): void {}

/** A stream as a dispatcher reads it. Fetch refuses a chunk that is no Uint8Array, where a dispatcher would take a string. */
export class ByteStream implements ReadableStreamLike {
  readonly #stream: ReadableStreamLike

  constructor(stream: ReadableStreamLike) {
    this.#stream = stream
  }

  get locked(): boolean {
    return this.#stream.locked
  }

  getReader(): Reader {
    const reader = this.#stream.getReader() as Reader
    return {
      read: () => reader.read().then(checkChunk),
      cancel: (reason) => reader.cancel(reason),
    }
  }

  /** For a dispatcher of undici's: it knows no web streams. */
  async *[Symbol.asyncIterator](): AsyncGenerator<unknown> {
    const reader = this.getReader()
    try {
      for (let result = await reader.read(); !result.done; result = await reader.read()) yield result.value
    } finally {
      await reader.cancel(undefined)
    }
  }

  /** Nobody will read it. A no-op once somebody does: then it is theirs to cancel. */
  cancel(reason: unknown): void {
    if (this.locked) return
    const reader = this.#stream.getReader() as Reader
    Promise.resolve(reader.cancel(reason)).then(undefined, ignoreLateFailure)
  }
}

/** @throws TypeError for a chunk that is no Uint8Array */
export function checkChunk(result: ReadResult): ReadResult {
  if (result.done || result.value instanceof Uint8Array) return result
  throw new TypeError(`A chunk of the request body is ${typeof result.value}, expected a Uint8Array`)
}
