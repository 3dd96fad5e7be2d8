/**
 * A caller's web stream, which may contain only bytes.
 *
 * @module
 */

import { types } from 'node:util'
import type { ReadableStreamLike } from '../../types/body.ts'
import { RequestAbortedError } from '../errors/errors.ts'
import type { Reader, ReadResult } from '../request/stream-reader.ts'
import { StreamReader } from '../request/stream-reader.ts'

/**
 * A stream for a dispatcher to read. It is locked from the start. Fetch refuses a chunk that isn't a Uint8Array; a
 * dispatcher would accept a string.
 */
export class ByteStream implements ReadableStreamLike {
  readonly #reader: StreamReader
  #isCancelled = false
  locked = false

  constructor(stream: ReadableStreamLike) {
    this.#reader = new StreamReader(stream)
  }

  /** The reader is a separate object: undici calls `read()` on any body that has one, and would lose the result. */
  getReader(): Reader {
    this.locked = true
    return { read: () => this.#read(), cancel: (reason) => this.cancel(reason) }
  }

  async #read(): Promise<ReadResult> {
    const result = await this.#reader.read()
    // A read of a cancelled stream gives `done`: half a body would look like a whole one.
    if (this.#isCancelled) throw new RequestAbortedError('The request body was cancelled')
    return checkChunk(result)
  }

  /** For undici's dispatchers, which don't read web streams. */
  async *[Symbol.asyncIterator](): AsyncGenerator<unknown> {
    const reader = this.getReader()
    try {
      for (let result = await reader.read(); !result.done; result = await reader.read()) yield result.value
    } finally {
      await reader.cancel(undefined)
    }
  }

  /** Cancels the caller's stream, whose source gets the reason. Only the first reason counts. */
  cancel(reason: unknown): Promise<void> {
    this.#isCancelled = true
    return this.#reader.cancel(reason)
  }
}

/** @throws TypeError for a chunk that isn't a Uint8Array */
export function checkChunk(result: ReadResult): ReadResult {
  if (result.done || types.isUint8Array(result.value)) return result
  throw new TypeError(`A chunk of the request body is ${typeof result.value}, expected a Uint8Array`)
}
