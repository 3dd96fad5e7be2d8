/**
 * Bodies that are read as streams: a caller's own Readable, an iterable or a web stream, and
 * parts such as those of a form.
 *
 * @module
 */

import type { Readable } from 'node:stream'
import type { BlobLike } from '../../types/body.ts'
import { RequestAbortedError } from '../errors.ts'
import type { StreamBody } from './body-source.ts'
import type { ChunkSource } from './chunk-source.ts'
import { ChunkReadable, PartsSource } from './chunk-source.ts'
import { KeptReader, KeptSource } from './kept-source.ts'
import { throwUncaught } from './original-timers.ts'
import { invalidKind } from './validate.ts'

/** The common part of all bodies that are streams: `watch()` reports a failure, whether the body is read or not. */
abstract class WatchedBody implements StreamBody {
  readonly kind = 'stream'
  abstract readonly length: number | null
  abstract readonly replayable: boolean
  abstract readonly isSpent: boolean
  abstract readonly canWait: boolean
  abstract readonly contentType: string | null
  readonly fromIterable: boolean = false
  /** The stream whose failure matters; null before there is one, and after it was given up. */
  #current: Readable | null = null
  #onBroken: ((error: Error) => void) | null = null

  abstract open(): Readable

  toKept(_length: number): StreamBody {
    return this
  }

  release(): void {}

  watch(onBroken: (error: Error) => void): void {
    this.#onBroken = onBroken
  }

  destroy(error: Error | null): void {
    const current = this.#current
    this.#current = null
    if (current === null || current.destroyed) return
    try {
      current.destroy(error ?? undefined)
    } catch (thrown) {
      // The caller's own destroy() has thrown: the call must hear its end all the same.
      throwUncaught(thrown)
    }
  }

  protected adopt(readable: Readable): Readable {
    this.#current = readable
    // The listener stays: an `error` event without a listener would end the process.
    readable.on('error', (error) => this.#onGone(readable, error))
    readable.on('close', () => this.#onGone(readable, null))
    return readable
  }

  #onGone(readable: Readable, error: Error | null): void {
    if (this.#current !== readable) return
    this.#current = null
    // After its end the stream doesn't matter to the call: the other side of a Duplex may break then.
    if (readable.readableEnded) return
    this.#onBroken?.(error ?? new RequestAbortedError('The request body was destroyed before its end'))
  }
}

/**
 * A caller's own Readable: what was read from it is gone, so it can't be sent again.
 *
 * It is watched from the moment the request is made: it may break while the call still waits in a queue.
 */
export class OneReadable extends WatchedBody {
  readonly length = null
  readonly replayable = false
  readonly contentType = null
  readonly #readable: Readable
  #isOpened = false

  constructor(readable: Readable) {
    super()
    this.#readable = this.adopt(readable)
  }

  get isSpent(): boolean {
    return this.#isOpened
  }

  /** A stream that flows already has another reader: what that one reads would be missing here. */
  get canWait(): boolean {
    return this.#readable.readableFlowing !== true
  }

  open(): Readable {
    this.#isOpened = true
    // What another reader has read while the call waited would be missing.
    if (this.#readable.readableDidRead) {
      throw invalidKind('body', this.#readable, 'a Readable without another reader')
    }
    return this.#readable
  }
}

/** An iterable or a web stream: it can be read once. */
export class OneSource extends WatchedBody {
  readonly length = null
  readonly replayable = false
  readonly contentType = null
  /** Null once it was opened or destroyed. */
  #toSource: (() => ChunkSource) | null
  /** Whether a source that was never opened holds a resource that must be released. */
  readonly #mustStop: boolean
  override readonly fromIterable: boolean

  constructor(toSource: () => ChunkSource, mustStop: boolean) {
    super()
    this.fromIterable = !mustStop
    this.#toSource = toSource
    this.#mustStop = mustStop
  }

  get isSpent(): boolean {
    return this.#toSource === null
  }

  get canWait(): boolean {
    return true
  }

  override toKept(length: number): StreamBody {
    return new KeptBody(this, length)
  }

  /** The source itself, once: its reader stops it. @throws RequestAbortedError when it was taken or destroyed */
  takeSource(): ChunkSource {
    const toSource = this.#toSource
    this.#toSource = null
    if (toSource === null) throw toGoneError()
    return toSource()
  }

  open(): Readable {
    return this.adopt(new ChunkReadable(this.takeSource()))
  }

  override destroy(error: Error | null): void {
    super.destroy(error)
    const toSource = this.#toSource
    this.#toSource = null
    if (toSource === null || !this.#mustStop) return
    try {
      toSource().stop(error)
    } catch {
      // Another reader has locked the stream meanwhile: cancelling is up to that reader.
    }
  }
}

/**
 * An iterable or a web stream of a length that was announced, and is small: what has come is kept, until a response has
 * come, so that another attempt can send it.
 */
class KeptBody extends WatchedBody {
  readonly replayable = true
  readonly isSpent = false
  readonly canWait = true
  readonly length = null
  readonly contentType = null
  override readonly fromIterable: boolean
  readonly #one: OneSource
  readonly #kept: KeptSource
  /** No further attempt follows. */
  #isLast = false

  constructor(one: OneSource, length: number) {
    super()
    this.fromIterable = one.fromIterable
    this.#one = one
    this.#kept = new KeptSource(() => one.takeSource(), length)
  }

  open(): Readable {
    if (this.#kept.isStopped) throw toGoneError()
    return this.adopt(new ChunkReadable(new KeptReader(this.#kept)))
  }

  override release(): void {
    this.#isLast = true
  }

  override destroy(error: Error | null): void {
    super.destroy(error)
    if (error === null && !this.#isLast) return
    this.#kept.stop(error)
    this.#one.destroy(error) // When it was never begun.
  }
}

/** Blobs and bytes: their content stays, so each attempt reads it anew. */
export class Parts extends WatchedBody {
  readonly replayable = true
  readonly isSpent = false
  readonly canWait = false
  readonly length: number
  readonly contentType: string | null
  readonly #parts: readonly (Uint8Array | BlobLike)[]

  constructor(parts: readonly (Uint8Array | BlobLike)[], length: number, contentType: string | null) {
    super()
    this.#parts = parts
    this.length = length
    this.contentType = contentType
  }

  open(): Readable {
    return this.adopt(new ChunkReadable(new PartsSource(this.#parts)))
  }
}

function toGoneError(): RequestAbortedError {
  return new RequestAbortedError('The request body was read or destroyed already')
}
