/**
 * The body of a fetch: converts the standard's BodyInit to a body that a dispatcher accepts.
 *
 * @module
 */

import { Readable } from 'node:stream'
import { types } from 'node:util'
import type { BlobLike, FormDataLike, ReadableStreamLike, RequestBody } from '../../types/body.ts'
import { isUint8Array, isUrlSearchParams } from '../core/realms.ts'
import { isFormData, isReadableStream } from '../request/body.ts'
import { isBlobLike, toMultipart } from '../request/multipart.ts'
import { ByteStream } from './byte-stream.ts'

/** The body of a request (Fetch, "body"). */
export interface FetchBody {
  /** The body to dispatch. */
  readonly content: RequestBody
  /** Its length in bytes; null if that is only known at the end. */
  readonly length: number | null
  /** The form that the body was created from: mocks match and show it, as undici's do. Null for any other body. */
  readonly form: FormDataLike | null
  /** Whether it has a source: only then can a redirect, or another connection, send it again. */
  readonly hasSource: boolean
  /** Null if the content has no type, or if the dispatcher determines it. */
  readonly contentType: string | null
}

/** A body that can be read only once has no source. */
export function toStreaming(content: RequestBody): FetchBody {
  return { content, length: null, form: null, hasSource: false, contentType: null }
}

/** The source of a body with a known length. */
type Sourced = string | Uint8Array | BlobLike

function toSourced(
  content: Sourced,
  contentType: string | null,
  form: FormDataLike | null = null,
): FetchBody {
  return { content, length: toLength(content), form, hasSource: true, contentType }
}

/** A body of bytes that are available. */
export function toBytesBody(bytes: Uint8Array): FetchBody {
  return toSourced(bytes, null)
}

function toLength(content: Sourced): number {
  if (typeof content === 'string') return Buffer.byteLength(content)
  return isUint8Array(content) ? content.byteLength : content.size
}

const FORM_TYPE = 'application/x-www-form-urlencoded;charset=UTF-8'

/** A copy of the bytes, because the caller may change the original later. Null for an object without bytes. */
function copyBytes(body: object): Uint8Array | null {
  if (ArrayBuffer.isView(body)) {
    return new Uint8Array(body.buffer.slice(body.byteOffset, body.byteOffset + body.byteLength))
  }
  // An ArrayBuffer of another realm, too.
  return types.isAnyArrayBuffer(body) ? new Uint8Array(body.slice(0)) : null
}

function checkUnused(body: object): void {
  // Node's own function takes web streams too; its types leave them out.
  const isLocked = 'locked' in body && body.locked === true
  if (isLocked || Readable.isDisturbed(body as Readable)) {
    throw new TypeError('The request body has already been read from, or is locked')
  }
}

function toStream(body: ReadableStreamLike): FetchBody {
  checkUnused(body)
  return toStreaming(new ByteStream(body))
}

/**
 * Encodes a form now, once for all redirects, as a body that other packages' dispatchers accept, too. Only Dodici's
 * dispatchers can read a file that isn't Node's own Blob.
 */
function toForm(body: FormDataLike): FetchBody {
  const { parts, contentType } = toMultipart(body)
  if (parts.every(isUint8Array)) return toSourced(Buffer.concat(parts), contentType, body)
  return parts.every((part) => isUint8Array(part) || part instanceof Blob)
    ? toSourced(new Blob(parts as ConstructorParameters<typeof Blob>[0]), contentType, body)
    : { content: body, length: null, form: body, hasSource: true, contentType: null }
}

/**
 * Extracts a body (Fetch, "extract a body").
 *
 * @param body anything but null and undefined
 * @throws TypeError for a stream that is locked, or was read from
 */
export function toFetchBody(body: unknown): FetchBody {
  if (typeof body === 'string') return toSourced(body, 'text/plain;charset=UTF-8')
  if (typeof body === 'symbol') throw new TypeError('Invalid body: got a symbol, expected a BodyInit')
  if (typeof body !== 'object' || body === null) return toSourced(`${body}`, 'text/plain;charset=UTF-8')
  const bytes = copyBytes(body)
  if (bytes !== null) return toSourced(bytes, null)
  if (isUrlSearchParams(body)) return toSourced(body.toString(), FORM_TYPE)
  if (isBlobLike(body)) return toSourced(body, body.type === '' ? null : body.type)
  if (isReadableStream(body)) return toStream(body)
  if (isFormData(body)) return toForm(body)
  if (Symbol.asyncIterator in body) {
    checkUnused(body)
    return toStreaming(body as AsyncIterable<Uint8Array>)
  }
  return toSourced(`${body}`, 'text/plain;charset=UTF-8')
}

/** The request won't be sent: cancels its stream with the reason. */
export function cancelBody({ content }: FetchBody, reason: unknown): void {
  if (content instanceof ByteStream) void content.cancel(reason)
}
