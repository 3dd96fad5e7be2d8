/**
 * All bytes of a body → what `text()` and its like give.
 *
 * @module
 */

import { show, showTarget } from './validate.ts'

const EMPTY = Buffer.alloc(0)

/** Joins the pieces of a body. A single piece is returned itself, uncopied. */
export function joinChunks(chunks: readonly Buffer[]): Buffer {
  if (chunks.length === 1) return chunks[0] ?? EMPTY
  return chunks.length === 0 ? EMPTY : Buffer.concat(chunks)
}

/** As the Fetch standard decodes: UTF-8, without its byte order mark. */
export function toText(bytes: Buffer): string {
  const hasMark = bytes.length > 2 && bytes[0] === 0xef && bytes[1] === 0xbb && bytes[2] === 0xbf
  return bytes.toString('utf8', hasMark ? 3 : 0)
}

/** @throws SyntaxError when the bytes aren't JSON */
export function toJson(bytes: Buffer): unknown {
  return JSON.parse(toText(bytes))
}

/** The response whose body isn't JSON, as an error names it. */
export interface JsonResponse {
  /** The path, or the URL, of its request. */
  readonly target: string
  readonly status: number
  /** Null where the response has none. */
  readonly contentType: string | null
}

/**
 * The error of a body that isn't JSON. Its message names the response, and shows nothing of the body or of the query:
 * the parser's own message, that of the cause, may quote the body.
 */
export function toJsonError(
  cause: unknown,
  bytes: Buffer,
  { target, status, contentType }: JsonResponse,
): Error {
  const [type] = (contentType ?? '').split(';')
  const said = type === undefined || type === '' ? 'no content-type' : `content-type ${show(type)}`
  const found = bytes.length === 0 ? 'is empty, not JSON' : "isn't JSON"
  // Its frames are Dodici's alone: the error has the caller's.
  if (cause instanceof Error) cause.stack = String(cause)
  const message = `The response body from ${showTarget(target)} ${found} (status ${status}, ${said})`
  return new SyntaxError(message, { cause })
}

/**
 * The bytes in an ArrayBuffer of their own, which may be transferred to another thread. Mostly a copy: a piece of a
 * body is a view of what its socket has read, with other responses beside it.
 */
export function toUint8Array(bytes: Buffer): Uint8Array {
  const { buffer, byteLength } = bytes
  // No bytes are a constant, which all empty bodies share.
  const isAlone = byteLength > 0 && byteLength === buffer.byteLength
  return new Uint8Array(isAlone ? buffer : toArrayBuffer(bytes))
}

/** A copy in an ArrayBuffer of its own: it shares no memory with another Buffer. */
export function toArrayBuffer(bytes: Buffer): ArrayBuffer {
  const copy = new ArrayBuffer(bytes.byteLength)
  new Uint8Array(copy).set(bytes)
  return copy
}
