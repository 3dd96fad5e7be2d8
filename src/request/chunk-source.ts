/**
 * Sources that deliver their bytes in pieces, such as iterators and web streams, as a Readable.
 *
 * @module
 */

import { Readable } from 'node:stream'
import type { BlobLike, ReadableStreamLike } from '../../types/body.ts'
import { noop } from '../core/noop.ts'
import { isArrayBuffer, isPromiseLike, isUint8Array } from '../core/realms.ts'
import { invalid } from '../core/validate.ts'
import { toError } from '../errors/errors.ts'
import type { ReadResult } from './stream-reader.ts'
import { StreamReader } from './stream-reader.ts'

/** The bytes of a string (as UTF-8) or of an object with bytes, not copied; null for anything else. */
export function toBytes(value: unknown): Uint8Array | null {
  if (typeof value === 'string') return Buffer.from(value)
  if (isUint8Array(value)) return value
  if (ArrayBuffer.isView(value)) return new Uint8Array(value.buffer, value.byteOffset, value.byteLength)
  return isArrayBuffer(value) ? new Uint8Array(value) : null
}

/**
 * A piece of a body as bytes.
 *
 * @throws TypeError for anything else, with the same code as Node's streams and undici: `ERR_INVALID_ARG_TYPE`
 */
export function toChunk(value: unknown): Uint8Array {
  const bytes = toBytes(value)
  if (bytes !== null) return bytes
  const { message } = invalid('chunk of the request body', value, 'a string or bytes')
  throw Object.assign(new TypeError(message), { code: 'ERR_INVALID_ARG_TYPE' })
}

/** How many pieces are copied before an iterator is trusted. */
const TRIED_PIECES = 8

/** The largest piece that is copied, in bytes: a large body in one piece must not take its memory twice. */
const MAX_COPIED = 4_194_304

/**
 * Keeps the content of pieces whose memory is filled again for later ones: the next piece is asked for before this one
 * is sent. Copying all pieces would double the cost of an upload. So the first ones are copied, and all others if the
 * memory of one was seen before.
 */
class PieceKeeper {
  /** The first pieces; null once all of them had different memory, or one didn't. */
  #first: Uint8Array[] | null = []
  /** The last piece of a trusted iterator; null otherwise. */
  #last: Uint8Array | null = null

  keep(chunk: Uint8Array): Uint8Array {
    if (chunk.byteLength > MAX_COPIED) return chunk
    if (this.#first !== null) {
      if (this.#first.some((piece) => isShared(piece, chunk))) this.#first = null
      else if (this.#first.push(chunk) === TRIED_PIECES) {
        this.#first = null
        this.#last = chunk
      }
      return Buffer.from(chunk)
    }
    if (this.#last !== null) this.#last = isShared(this.#last, chunk) ? null : chunk
    return this.#last === null ? Buffer.from(chunk) : chunk
  }
}

/** Whether two pieces have memory in common. */
function isShared(one: Uint8Array, two: Uint8Array): boolean {
  if (one.buffer !== two.buffer) return false
  return one.byteOffset < two.byteOffset + two.byteLength && two.byteOffset < one.byteOffset + one.byteLength
}

/** Delivers one piece at a time, when asked: nothing is read ahead. */
export interface ChunkSource {
  /** Whether the memory of a piece may have other content once the next piece was asked for. */
  readonly mayReuse: boolean
  /** The next piece. Called again only after the last result has settled. */
  next(): IteratorResult<unknown> | PromiseLike<IteratorResult<unknown>>
  /** The last result was the end, or the last call of `next()` has failed: there is nothing to stop. */
  onOver(): void
  /**
   * The rest isn't read. A generator that aborts its own request calls it during `next()`. Idempotent.
   *
   * @param reason why; null if nothing has failed: the response was complete before the body
   */
  stop(reason: Error | null): void
}

/** Any iterator, including a generator's. As `for await` does, it calls `return()` once, but not after the end. */
export class IteratorSource implements ChunkSource {
  readonly mayReuse: boolean
  readonly #iterator: Iterator<unknown> | AsyncIterator<unknown>
  #isRunning = false
  /** Whether it was stopped, has ended, or has failed. */
  #isStopped = false

  /** @param mayReuse false for the iterator of a list, which has all its pieces already */
  constructor(iterator: Iterator<unknown> | AsyncIterator<unknown>, mayReuse = true) {
    this.mayReuse = mayReuse
    this.#iterator = iterator
  }

  next(): IteratorResult<unknown> | PromiseLike<IteratorResult<unknown>> {
    this.#isRunning = true
    try {
      return this.#iterator.next()
    } finally {
      this.#isRunning = false
      if (this.#isStopped) this.#return()
    }
  }

  onOver(): void {
    this.#isStopped = true
  }

  stop(): void {
    if (this.#isStopped) return
    this.#isStopped = true
    // `return()` of a generator that is running throws.
    if (!this.#isRunning) this.#return()
  }

  #return(): void {
    try {
      // The result isn't awaited: an async generator returns when its own `await` has settled, which may be never.
      const returned: unknown = this.#iterator.return?.()
      if (isPromiseLike(returned)) returned.then(undefined, noop)
    } catch {
      // The handler has been told of the call's end: a failure of the source can't change that.
    }
  }
}

/** A web stream, read by its reader. Its iterator would queue `return()` after a `read()` that may never settle. */
export class ReaderSource implements ChunkSource {
  readonly mayReuse = false
  readonly #reader: StreamReader
  #isStopped = false

  constructor(stream: ReadableStreamLike) {
    this.#reader = new StreamReader(stream)
  }

  next(): PromiseLike<ReadResult> {
    return this.#reader.read()
  }

  onOver(): void {
    this.#isStopped = true
  }

  stop(reason: Error | null): void {
    if (this.#isStopped) return
    this.#isStopped = true
    // Undefined is also what the stream's own iterator gives when a loop over it is left.
    void this.#reader.cancel(reason ?? undefined)
  }
}

/** Bytes and blobs, one after another. */
export class PartsSource implements ChunkSource {
  readonly mayReuse = false
  readonly #parts: readonly (Uint8Array | BlobLike)[]
  #index = 0
  /** Null between blobs. */
  #blob: ReaderSource | null = null

  constructor(parts: readonly (Uint8Array | BlobLike)[]) {
    this.#parts = parts
  }

  next(): IteratorResult<unknown> | PromiseLike<IteratorResult<unknown>> {
    if (this.#blob !== null) return this.#readBlob(this.#blob)
    const part = this.#parts[this.#index++]
    if (part === undefined) return { done: true, value: undefined }
    if (isUint8Array(part)) return { done: false, value: part }
    this.#blob = new ReaderSource(part.stream())
    return this.#readBlob(this.#blob)
  }

  async #readBlob(blob: ReaderSource): Promise<IteratorResult<unknown>> {
    const result = await blob.next()
    if (result.done !== true) return result
    this.#blob = null
    return this.next()
  }

  onOver(): void {
    this.#blob = null
  }

  stop(reason: Error | null): void {
    this.#index = this.#parts.length
    this.#blob?.stop(reason)
  }
}

/** Pulls a piece when its reader has room for one, and passes it on as bytes. */
export class ChunkReadable extends Readable {
  readonly #source: ChunkSource
  /** Null for a source that leaves the memory of its pieces alone. */
  readonly #keeper: PieceKeeper | null
  readonly #onResult = (result: IteratorResult<unknown>): void => this.#receive(result)
  readonly #onFailure = (thrown: unknown): void => {
    this.#source.onOver()
    this.destroy(toError(thrown))
  }

  constructor(source: ChunkSource) {
    super({ objectMode: true, highWaterMark: 1 })
    this.#source = source
    this.#keeper = source.mayReuse ? new PieceKeeper() : null
  }

  override _read(): void {
    let result: ReturnType<ChunkSource['next']>
    try {
      result = this.#source.next()
    } catch (thrown) {
      this.#onFailure(thrown)
      return
    }
    if (isPromiseLike(result)) result.then(this.#onResult, this.#onFailure)
    else this.#receive(result)
  }

  override _destroy(error: Error | null, callback: (error?: Error | null) => void): void {
    this.#source.stop(error)
    callback(error)
  }

  #receive(result: IteratorResult<unknown>): void {
    if (this.destroyed) return
    try {
      const { done, value } = result
      if (done !== true) {
        const chunk = toChunk(value)
        this.push(this.#keeper?.keep(chunk) ?? chunk)
        return
      }
      this.#source.onOver()
      this.push(null)
    } catch (thrown) {
      this.destroy(toError(thrown))
    }
  }
}
