/**
 * Converts any accepted request body to a BodySource.
 *
 * @module
 */

import { Readable } from 'node:stream'
import type { FormDataLike, ReadableStreamLike } from '../../types/body.ts'
import { isUrlSearchParams } from '../core/realms.ts'
import { invalidKind, showKind } from '../core/validate.ts'
import { InvalidReturnValueError } from '../errors/errors.ts'
import type { BodySource, BytesBody, FactoryBody, NoBody, SendableBody, StreamBody } from './body-source.ts'
import { NO_BODY } from './body-source.ts'
import { IteratorSource, ReaderSource, toBytes } from './chunk-source.ts'
import { toIterator } from './kept-source.ts'
import { isBlobLike, toMultipart } from './multipart.ts'
import { isOldStream, OldStreamReadable } from './old-stream.ts'
import { OneReadable, OneSource, Parts } from './stream-body.ts'

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

/** Whether a value has the members of a FormData that are used. */
export function isFormData(body: object): body is FormDataLike {
  return (
    'entries' in body &&
    typeof body.entries === 'function' &&
    'getAll' in body &&
    typeof body.getAll === 'function' &&
    !('sort' in body)
  )
}

/** Whether a value has the members of a web stream that are used. */
export function isReadableStream(body: object): body is ReadableStreamLike {
  return 'getReader' in body && typeof body.getReader === 'function' && 'locked' in body
}

function toReadableBody(body: Readable): SendableBody {
  if (Readable.isDisturbed(body))
    throw invalidKind('body', body, "a Readable that hasn't been read from or destroyed")
  // It has ended without data, as the request that a server has received for a GET: it emits no second `end`.
  if (body.readableEnded) return NO_BODY
  return new OneReadable(body)
}

function toWebBody(body: ReadableStreamLike): StreamBody {
  // Node's own function takes web streams too; its types leave them out.
  if (body.locked || Readable.isDisturbed(body as unknown as Readable))
    throw invalidKind('body', body, "a ReadableStream that hasn't been read from or locked")
  return new OneSource(() => new ReaderSource(body), true, false)
}

/**
 * Whether an iterable is its own iterator: then it may hold something before it is read. A list creates its
 * iterators.
 */
function isIterator(iterable: object): boolean {
  return 'next' in iterable && typeof iterable.next === 'function'
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
  if (Symbol.asyncIterator in body) return toIterableBody(body as AsyncIterable<unknown>)
  if (isOldStream(body)) return new OneReadable(new OldStreamReadable(body))
  return Symbol.iterator in body ? toIterableBody(body as Iterable<unknown>) : null
}

function toIterableBody(iterable: AsyncIterable<unknown> | Iterable<unknown>): StreamBody {
  const toSource = (): IteratorSource => new IteratorSource(toIterator(iterable), !Array.isArray(iterable))
  return new OneSource(toSource, isIterator(iterable), true)
}

function toSendableBody(body: unknown): SendableBody | null {
  if (body === null || body === undefined) return NO_BODY
  const bytes = toBytes(body)
  if (bytes !== null) return toBytesBody(bytes, null)
  return typeof body === 'object' ? toObjectBody(body) : null
}

/**
 * Creates a BodySource from a request body.
 *
 * @param body see `RequestBody`; null and undefined: no body.
 * @throws InvalidArgumentError for anything else, and for a stream that was already read from.
 */
export function toBodySource(body: unknown): BodySource {
  if (typeof body === 'function') return new Factory(body as () => unknown)
  const source = toSendableBody(body)
  if (source !== null) return source
  throw invalidKind('body', body, `${ACCEPTED}, a function that returns one of these, or null`)
}
