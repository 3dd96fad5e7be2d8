/**
 * A source that can be read only once, with a copy of what has arrived, so that each attempt can read all of it.
 *
 * @module
 */

import { isPromiseLike } from '../core/realms.ts'
import { RequestContentLengthMismatchError } from '../errors/errors.ts'
import type { ChunkSource } from './chunk-source.ts'
import { IteratorSource, toChunk } from './chunk-source.ts'

/**
 * - `unread`: the source wasn't asked for anything
 * - `open`: more may arrive
 * - `ended`: all of it has arrived
 * - `failed`: it has thrown this
 * - `stopped`: the rest isn't read
 */
type KeptState =
  | { readonly name: 'unread' | 'open' | 'ended' | 'stopped' }
  | { readonly name: 'failed'; readonly thrown: unknown }

const UNREAD: KeptState = { name: 'unread' }
const OPEN: KeptState = { name: 'open' }
const ENDED: KeptState = { name: 'ended' }
const STOPPED: KeptState = { name: 'stopped' }

const NOTHING = new Uint8Array(0)
const DONE: IteratorResult<Uint8Array> = Object.freeze({ done: true, value: undefined })

/**
 * Asks its source for a piece when the newest reader has read all others: nothing is read ahead. Pieces are copied,
 * because the code that created a piece may reuse its memory for the next one.
 */
export class KeptSource {
  /** The announced length, in bytes. */
  readonly #length: number
  readonly #toSource: () => ChunkSource
  #source: ChunkSource | null = null
  #state: KeptState = UNREAD
  /** The memory for all bytes, allocated when the first piece arrives. */
  #kept: Uint8Array = NOTHING
  /** How many bytes have arrived. */
  #size = 0
  /** A piece that is on its way; null between pieces. */
  #coming: Promise<void> | null = null

  /** @param length how many bytes the source promises: a source that delivers more fails */
  constructor(toSource: () => ChunkSource, length: number) {
    this.#toSource = toSource
    this.#length = length
  }

  get isStopped(): boolean {
    return this.#state.name === 'stopped'
  }

  /** What has arrived after the first `from` bytes; null if nothing has. */
  take(from: number): Uint8Array | null {
    return from < this.#size ? this.#kept.subarray(from, this.#size) : null
  }

  /** Whether no more will arrive. @throws what the source has thrown */
  get isOver(): boolean {
    if (this.#state.name === 'failed') throw this.#state.thrown
    return this.#state.name === 'ended' || this.#state.name === 'stopped'
  }

  /** Asks for one more piece. @returns null if it, or the end, has arrived at once */
  pull(): Promise<void> | null {
    if (this.#coming !== null) return this.#coming
    let result: ReturnType<ChunkSource['next']>
    try {
      this.#source ??= this.#toSource()
      if (this.#state.name === 'unread') this.#state = OPEN
      result = this.#source.next()
    } catch (thrown) {
      this.#onThrown(thrown)
      return null
    }
    if (isPromiseLike(result)) {
      this.#coming = this.#await(result)
      return this.#coming
    }
    this.#keep(result)
    return null
  }

  /** The rest isn't needed. Idempotent. */
  stop(reason: Error | null): void {
    const { name } = this.#state
    if (name === 'stopped') return
    this.#state = STOPPED
    if (name === 'open') this.#source?.stop(reason)
  }

  /** Never rejects: each reader learns of a failure from {@link isOver}. */
  async #await(answer: PromiseLike<IteratorResult<unknown>>): Promise<void> {
    try {
      const result = await answer
      this.#coming = null
      this.#keep(result)
    } catch (thrown) {
      this.#coming = null
      this.#onThrown(thrown)
    }
  }

  /** Keeps a piece. If that is impossible, the source fails; it may hold resources, so it is told to stop. */
  #keep(result: IteratorResult<unknown>): void {
    if (this.#state.name !== 'open') return
    try {
      this.#add(result)
    } catch (thrown) {
      this.#state = { name: 'failed', thrown }
      this.#source?.stop(null)
    }
  }

  #add({ done, value }: IteratorResult<unknown>): void {
    if (done === true) {
      this.#state = ENDED
      return
    }
    const piece = toChunk(value)
    const size = this.#size + piece.byteLength
    if (size > this.#length) throw toMismatch(size, this.#length)
    if (this.#kept === NOTHING) this.#kept = new Uint8Array(this.#length)
    this.#kept.set(piece, this.#size)
    this.#size = size
  }

  /** The source has thrown: it is over, and there is nothing to stop. */
  #onThrown(thrown: unknown): void {
    if (this.#state.name !== 'stopped') this.#state = { name: 'failed', thrown }
  }
}

/** Reads a kept source from its beginning. Ending the reading doesn't end the source: another reader may follow. */
export class KeptReader implements ChunkSource {
  readonly mayReuse = false
  readonly #kept: KeptSource
  /** How many bytes this reader has read. */
  #offset = 0

  constructor(kept: KeptSource) {
    this.#kept = kept
  }

  next(): IteratorResult<Uint8Array> | Promise<IteratorResult<Uint8Array>> {
    for (;;) {
      const piece = this.#kept.take(this.#offset)
      if (piece !== null) {
        this.#offset += piece.byteLength
        return { done: false, value: piece }
      }
      if (this.#kept.isOver) return DONE
      const coming = this.#kept.pull()
      if (coming !== null) return coming.then(() => this.next())
    }
  }

  onOver(): void {}
  stop(): void {}
}

/**
 * An iterable that can be iterated over any number of times, one after another: each iteration returns the same
 * source's bytes.
 */
export class KeptIterable implements AsyncIterable<Uint8Array> {
  readonly #kept: KeptSource

  /** @param length the same as for {@link KeptSource} */
  constructor(iterable: AsyncIterable<unknown> | Iterable<unknown>, length: number) {
    this.#kept = new KeptSource(() => new IteratorSource(toIterator(iterable)), length)
  }

  async *[Symbol.asyncIterator](): AsyncGenerator<Uint8Array> {
    const reader = new KeptReader(this.#kept)
    for (let result = await reader.next(); result.done !== true; result = await reader.next())
      yield result.value
  }

  /** No more iterations follow: the source is told that the rest isn't needed. Idempotent. */
  stop(): void {
    this.#kept.stop(null)
  }
}

/** The iterator of a sync or async iterable. */
export function toIterator(
  iterable: AsyncIterable<unknown> | Iterable<unknown>,
): AsyncIterator<unknown> | Iterator<unknown> {
  return Symbol.asyncIterator in iterable ? iterable[Symbol.asyncIterator]() : iterable[Symbol.iterator]()
}

/** The error for a body whose length differs from its `content-length`. @param received in bytes */
export function toMismatch(received: number, contentLength: number): RequestContentLengthMismatchError {
  const counts = `got ${received} bytes, expected ${contentLength}`
  return new RequestContentLengthMismatchError(`The request body doesn't match content-length: ${counts}`)
}
