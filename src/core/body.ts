/**
 * Any accepted request body → one BodySource.
 *
 * @module
 */

import { Readable } from 'node:stream'
import type { BlobLike, FormDataLike, ReadableStreamLike } from '../../types/body.ts'
import { InvalidReturnValueError, RequestAbortedError } from '../errors.ts'
import type { BodySource, BytesBody, FactoryBody, NoBody, SendableBody, StreamBody } from './body-source.ts'
import { NO_BODY } from './body-source.ts'
import type { ChunkSource } from './chunk-source.ts'
import { ChunkReadable, IteratorSource, PartsSource, ReaderSource, toBytes } from './chunk-source.ts'
import { isBlobLike, toMultipart } from './multipart.ts'
import { throwUncaught } from './original-timers.ts'
import { isUrlSearchParams } from './realms.ts'
import { invalidKind, showKind } from './validate.ts'

function toEmpty(contentType: string | null): NoBody {
  return contentType === null ? NO_BODY : { ...NO_BODY, contentType }
}

class Bytes implements BytesBody {
  readonly kind = 'bytes'
  readonly replayable = true
  readonly isSpent = false
  readonly length: number
  readonly contentType: string | null
  readonly bytes: Uint8Array

  constructor(bytes: Uint8Array, contentType: string | null) {
    this.bytes = bytes
    this.length = bytes.byteLength
    this.contentType = contentType
  }
}

/** What all bodies that are streams have in common: their failure reaches whoever watches, read or not. */
abstract class WatchedBody implements StreamBody {
  readonly kind = 'stream'
  abstract readonly length: number | null
  abstract readonly replayable: boolean
  abstract readonly isSpent: boolean
  abstract readonly canWait: boolean
  abstract readonly contentType: string | null
  readonly fromIterable: boolean = false
  /** The stream whose failure matters; null before there is one, and after we have let go of it. */
  #current: Readable | null = null
  #onBroken: ((error: Error) => void) | null = null

  abstract open(): Readable

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
      // An own destroy() of the caller's has failed: its call must hear its end all the same.
      throwUncaught(thrown)
    }
  }

  protected adopt(readable: Readable): Readable {
    this.#current = readable
    // For good: a stream's unheard `error` event would end the process.
    readable.on('error', (error) => this.#onGone(readable, error))
    readable.on('close', () => this.#onGone(readable, null))
    return readable
  }

  #onGone(readable: Readable, error: Error | null): void {
    if (this.#current !== readable) return
    this.#current = null
    // After its end it has no part in the call any more: a Duplex may break there on its other side.
    if (readable.readableEnded) return
    this.#onBroken?.(error ?? new RequestAbortedError('The request body was destroyed before its end'))
  }
}

/**
 * A caller's own Readable: what was read from it is gone, so it can't be sent again.
 *
 * It is watched from the moment the request is made: it may break while the call still waits in a queue.
 */
class OneReadable extends WatchedBody {
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

  /** One that flows already has another reader, and we would miss what that gets. */
  get canWait(): boolean {
    return this.#readable.readableFlowing !== true
  }

  open(): Readable {
    this.#isOpened = true
    // What somebody else has read while the call waited would be missing.
    if (this.#readable.readableDidRead) {
      throw invalidKind('body', this.#readable, 'a Readable that nobody else reads before it is sent')
    }
    return this.#readable
  }
}

/** An iterable or a web stream: it can be read once. */
class OneSource extends WatchedBody {
  readonly length = null
  readonly replayable = false
  readonly contentType = null
  /** Null once it was opened or destroyed. */
  #toSource: (() => ChunkSource) | null
  /** Whether what nobody has opened holds something that has to be let go of. */
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

  open(): Readable {
    const toSource = this.#toSource
    this.#toSource = null
    if (toSource === null) throw new RequestAbortedError('The request body was read or destroyed already')
    return this.adopt(new ChunkReadable(toSource()))
  }

  override destroy(error: Error | null): void {
    super.destroy(error)
    const toSource = this.#toSource
    this.#toSource = null
    if (toSource === null || !this.#mustStop) return
    try {
      toSource().stop(error)
    } catch {
      // Somebody has locked the stream meanwhile: then it is theirs to cancel.
    }
  }
}

/** Blobs and bytes: their content stays, so each attempt reads it anew. */
class Parts extends WatchedBody {
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

class Factory implements FactoryBody {
  readonly kind = 'factory'
  readonly length = null
  readonly replayable = true
  readonly isSpent = false
  readonly contentType = null
  readonly #make: () => unknown
  #made: SendableBody = NO_BODY
  #onBroken: ((error: Error) => void) | null = null

  constructor(make: () => unknown) {
    this.#make = make
  }

  make(): SendableBody {
    const make = this.#make
    const body = make()
    const source = toSendableBody(body)
    if (source === null) {
      const accepted = `${ACCEPTED} or null`
      throw new InvalidReturnValueError(`The body function returned ${showKind(body)}, expected ${accepted}`)
    }
    this.#made = source
    if (source.kind === 'stream' && this.#onBroken !== null) source.watch(this.#onBroken)
    return source
  }

  watch(onBroken: (error: Error) => void): void {
    this.#onBroken = onBroken
  }

  destroy(error: Error | null): void {
    if (this.#made.kind === 'stream') this.#made.destroy(error)
    this.#made = NO_BODY
  }
}

const ACCEPTED =
  'a string, a Buffer, a typed array, an ArrayBuffer, a Blob, a FormData, a URLSearchParams, a Readable, ' +
  'a ReadableStream, an iterable or async iterable'

/** Whether a value has what is used of a FormData. */
export function isFormData(body: object): body is FormDataLike {
  return (
    'entries' in body &&
    typeof body.entries === 'function' &&
    'getAll' in body &&
    typeof body.getAll === 'function' &&
    !('sort' in body)
  )
}

/** Whether a value has what is used of a web stream. */
export function isReadableStream(body: object): body is ReadableStreamLike {
  return 'getReader' in body && typeof body.getReader === 'function' && 'locked' in body
}

function toReadableBody(body: Readable): StreamBody {
  if (Readable.isDisturbed(body))
    throw invalidKind('body', body, 'a Readable that nobody has read from or destroyed')
  return new OneReadable(body)
}

function toWebBody(body: ReadableStreamLike): StreamBody {
  // Node's own function takes web streams too; its types leave them out.
  if (body.locked || Readable.isDisturbed(body as unknown as Readable))
    throw invalidKind('body', body, 'a ReadableStream that nobody has read from or locked')
  return new OneSource(() => new ReaderSource(body), true)
}

function toBytesBody(bytes: Uint8Array, contentType: string | null): SendableBody {
  return bytes.byteLength === 0 ? toEmpty(contentType) : new Bytes(bytes, contentType)
}

function toObjectBody(body: object): SendableBody | null {
  if (body instanceof Readable) return toReadableBody(body)
  if (isReadableStream(body)) return toWebBody(body)
  if (isBlobLike(body)) {
    const contentType = body.type === '' ? null : body.type
    return body.size === 0 ? toEmpty(contentType) : new Parts([body], body.size, contentType)
  }
  if (isFormData(body)) {
    const { parts, length, contentType } = toMultipart(body)
    return new Parts(parts, length, contentType)
  }
  if (isUrlSearchParams(body)) {
    return toBytesBody(Buffer.from(body.toString()), 'application/x-www-form-urlencoded;charset=UTF-8')
  }
  if (Symbol.asyncIterator in body) {
    const iterable = body as AsyncIterable<unknown>
    return new OneSource(() => new IteratorSource(iterable[Symbol.asyncIterator]()), false)
  }
  if (Symbol.iterator in body) {
    const iterable = body as Iterable<unknown>
    return new OneSource(() => new IteratorSource(iterable[Symbol.iterator]()), false)
  }
  return null
}

function toSendableBody(body: unknown): SendableBody | null {
  if (body === null || body === undefined) return NO_BODY
  const bytes = toBytes(body)
  if (bytes !== null) return toBytesBody(bytes, null)
  return typeof body === 'object' ? toObjectBody(body) : null
}

/**
 * Makes a BodySource of a request's body.
 *
 * @param body see `RequestBody`; null and undefined are no body.
 * @throws InvalidArgumentError for anything else, and for a stream that was read from already.
 */
export function toBodySource(body: unknown): BodySource {
  if (typeof body === 'function') return new Factory(body as () => unknown)
  const source = toSendableBody(body)
  if (source !== null) return source
  throw invalidKind('body', body, `${ACCEPTED}, a function that returns one of these, or null`)
}
