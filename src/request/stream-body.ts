/**
 * Bodies that are read as streams: a caller's own Readable, an iterable or a web stream, and parts such as those in a
 * form.
 *
 * @module
 */

import { Duplex, Readable } from 'node:stream'
import type { BlobLike } from '../../types/body.ts'
import { throwUncaught } from '../core/original-timers.ts'
import { invalidKind } from '../core/validate.ts'
import { RequestAbortedError } from '../errors/errors.ts'
import type { StreamBody } from './body-source.ts'
import type { ChunkSource } from './chunk-source.ts'
import { ChunkReadable, PartsSource } from './chunk-source.ts'
import { KeptReader, KeptSource } from './kept-source.ts'
import { isServerRequest } from './server-request.ts'

/** Ends a stream. One without `destroy()`, such as an old stream with Readable's prototype, is drained. */
function destroyQuietly(stream: Readable, error: Error | null): void {
  const { destroy }: Partial<Pick<Readable, 'destroy'>> = stream
  if (destroy === undefined) {
    drain(stream)
    return
  }
  try {
    destroy.call(stream, error ?? undefined)
  } catch (thrown) {
    // The caller's own destroy() has thrown: the call must hear its end all the same.
    throwUncaught(thrown)
  }
}

/** Lets a stream reach its end without a reader. */
function drain(stream: Readable): void {
  try {
    stream.resume()
  } catch (thrown) {
    throwUncaught(thrown)
  }
}

interface Watched {
  readonly readable: Readable
  readonly onError: (error: Error) => void
  readonly onClose: () => void
}

/** What all bodies that are streams share: `watch()` reports a failure, whether the body is read or not. */
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
  /** The last adopted stream, with Dodici's listeners; null once they were removed. */
  #watched: Watched | null = null

  abstract open(): Readable

  toKept(_length: number): StreamBody {
    return this
  }

  release(): void {}

  watch(onBroken: (error: Error) => void): void {
    this.#onBroken = onBroken
  }

  stop(): void {
    const current = this.#takeCurrent()
    if (current !== null && !current.readableEnded) this.stopStream(current)
  }

  destroy(error: Error | null): void {
    const current = this.#takeCurrent()
    if (current !== null) this.destroyStream(current, error)
  }

  /** The stream that is still open but no longer matters to the call; null for none. */
  #takeCurrent(): Readable | null {
    const current = this.#current
    this.#current = null
    return current?.destroyed === false ? current : null
  }

  protected stopStream(stream: Readable): void {
    destroyQuietly(stream, null)
  }

  protected destroyStream(stream: Readable, error: Error | null): void {
    destroyQuietly(stream, error)
  }

  protected adopt(readable: Readable): Readable {
    this.#current = readable
    const onError = (error: Error): void => this.#onGone(readable, error)
    const onClose = (): void => this.#onGone(readable, null)
    // The listener stays: an `error` event without a listener would end the process.
    readable.on('error', onError)
    readable.on('close', onClose)
    this.#watched = { readable, onError, onClose }
    return readable
  }

  /** Leaves the adopted stream as it was before. */
  protected disown(): void {
    const watched = this.#watched
    this.#watched = null
    watched?.readable.off('error', watched.onError).off('close', watched.onClose)
  }

  #onGone(readable: Readable, error: Error | null): void {
    if (this.#current !== readable) return
    this.#current = null
    // After its end the stream doesn't matter to the call: the other side of a Duplex may break then.
    if (readable.readableEnded) return
    this.#onBroken?.(error ?? new RequestAbortedError('The request body was destroyed before it ended'))
  }
}

/**
 * A caller's own Readable: data that was read from it is gone, so it can't be sent again.
 *
 * It is watched from when the request is created: it may break while the call waits in a queue.
 *
 * The stream isn't destroyed if that would break something else that belongs to its owner:
 *
 * - a request that a server has received (see {@link isServerRequest}): its response uses the same connection,
 *   whether the call fails or not. A stream that was opened is drained, so that the connection can be reused. One
 *   that wasn't is left as it is: the server may send it elsewhere, or drains it itself.
 * - any other Duplex of a call that has its response: what is written to it is the caller's. It is drained, so that
 *   the writer can finish.
 *
 * Every other stream is destroyed: a file is closed.
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

  /** A stream that already flows has another reader, whose data would be missing here. */
  get canWait(): boolean {
    return this.#readable.readableFlowing !== true
  }

  open(): Readable {
    this.#isOpened = true
    // What another reader has read while the call waited would be missing.
    if (this.#readable.readableDidRead) {
      throw invalidKind('body', this.#readable, 'a Readable without another reader')
    }
    // It has ended without data while the call waited, and emits no second `end`.
    return this.#readable.readableEnded ? this.adopt(Readable.from([])) : this.#readable
  }

  protected override stopStream(stream: Readable): void {
    if (isServerRequest(stream)) this.#spare(stream)
    else if (stream instanceof Duplex) drain(stream)
    else destroyQuietly(stream, null)
  }

  protected override destroyStream(stream: Readable, error: Error | null): void {
    if (isServerRequest(stream)) this.#spare(stream)
    else destroyQuietly(stream, error)
  }

  #spare(stream: Readable): void {
    if (this.#isOpened) drain(stream)
    else this.disown()
  }
}

/** An iterable or a web stream: it can be read only once. */
export class OneSource extends WatchedBody {
  readonly length = null
  readonly replayable = false
  readonly contentType = null
  /** Null once it was opened or stopped. */
  #toSource: (() => ChunkSource) | null
  /** Whether a source that was never opened holds a resource that must be released. */
  readonly #mustStop: boolean
  override readonly fromIterable: boolean

  constructor(toSource: () => ChunkSource, mustStop: boolean, fromIterable: boolean) {
    super()
    this.fromIterable = fromIterable
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

  /** The source itself, once: its reader stops it. @throws RequestAbortedError if it was taken or destroyed */
  takeSource(): ChunkSource {
    const toSource = this.#toSource
    this.#toSource = null
    if (toSource === null) throw toGoneError()
    return toSource()
  }

  open(): Readable {
    return this.adopt(new ChunkReadable(this.takeSource()))
  }

  override stop(): void {
    super.stop()
    this.#stopUnopened(null)
  }

  override destroy(error: Error | null): void {
    super.destroy(error)
    this.#stopUnopened(error)
  }

  #stopUnopened(error: Error | null): void {
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
 * An iterable or a web stream with a small announced length: what has arrived is kept until a response has arrived,
 * so that another attempt can send it.
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
  /** Whether no more attempts follow. */
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

  override stop(): void {
    super.stop()
    this.#kept.stop(null)
    this.#one.stop() // When it was never begun.
  }

  override destroy(error: Error | null): void {
    super.destroy(error)
    if (error === null && !this.#isLast) return
    this.#kept.stop(error)
    this.#one.destroy(error) // When it was never begun.
  }
}

/** Blobs and bytes: their content stays, so each attempt reads it again. */
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
  return new RequestAbortedError('The request body was already read or destroyed')
}
