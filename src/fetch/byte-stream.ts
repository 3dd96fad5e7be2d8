/**
 * A caller's web stream that may hold bytes alone.
 *
 * @module
 */

import { types } from 'node:util'
import type { ReadableStreamLike } from '../../types/body.ts'
import { RequestAbortedError } from '../errors.ts'

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

/**
 * A stream as a dispatcher reads it: nobody else can, from the start. Fetch refuses a chunk that is no Uint8Array,
 * where a dispatcher would take a string.
 */
export class ByteStream implements ReadableStreamLike {
  readonly #reader: Reader
  #isCancelled = false
  locked = false

  constructor(stream: ReadableStreamLike) {
    this.#reader = stream.getReader() as Reader
  }

  /** An object of its own: undici calls `read()` of any body that has one, and would lose what comes then. */
  getReader(): Reader {
    this.locked = true
    return { read: () => this.#read(), cancel: (reason) => this.cancel(reason) }
  }

  async #read(): Promise<ReadResult> {
    const result = await this.#reader.read()
    // Cancelled, it would look as if it had come to its end, and half a body like a whole one.
    if (this.#isCancelled) throw new RequestAbortedError('The request body was cancelled')
    return checkChunk(result)
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

  /** Nobody wants the rest of it. The first reason counts: whoever fills the stream is told that one. */
  async cancel(reason: unknown): Promise<void> {
    this.#isCancelled = true
    try {
      await this.#reader.cancel(reason)
    } catch {
      // Its fetch is over: nobody is left to be told.
    }
  }
}

/** @throws TypeError for a chunk that is no Uint8Array */
export function checkChunk(result: ReadResult): ReadResult {
  if (result.done || types.isUint8Array(result.value)) return result
  throw new TypeError(`A chunk of the request body is ${typeof result.value}, expected a Uint8Array`)
}
