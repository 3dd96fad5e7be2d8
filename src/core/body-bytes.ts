/**
 * All bytes of a body → the results of `text()`, `json()` and so on.
 *
 * @module
 */

import type { KeptPieces } from './kept-pieces.ts'
import { show, showTarget } from './validate.ts'

/** Decodes as the Fetch standard does: UTF-8, without its byte order mark. */
export function toText(bytes: Buffer): string {
  const hasMark = bytes.length > 2 && bytes[0] === 0xef && bytes[1] === 0xbb && bytes[2] === 0xbf
  return bytes.toString('utf8', hasMark ? 3 : 0)
}

/** @throws SyntaxError if the bytes aren't JSON */
export function toJson(bytes: Buffer): unknown {
  return JSON.parse(toText(bytes))
}

/** How an error names the response whose body isn't JSON. */
export interface JsonResponse {
  /** Its request's path or URL. */
  readonly target: string
  readonly status: number
  /** Null if the response has none. */
  readonly contentType: string | null
}

/**
 * The error for a body that isn't JSON. Its message names the response, and shows nothing of the body or the query. The
 * parser's own message, in the cause, may quote the body.
 */
export function toJsonError(
  cause: unknown,
  bytes: Buffer,
  { target, status, contentType }: JsonResponse,
): Error {
  const [type] = (contentType ?? '').split(';')
  const said = type === undefined || type === '' ? 'no content-type' : `content-type ${show(type)}`
  const found = bytes.length === 0 ? 'is empty, not JSON' : "isn't JSON"
  // Its stack contains only Dodici's frames: the error has the caller's.
  if (cause instanceof Error) cause.stack = String(cause)
  const message = `The response body from ${showTarget(target)} ${found} (status ${status}, ${said})`
  return new SyntaxError(message, { cause })
}

/** All pieces → the body as a string. */
export function readText(kept: KeptPieces): string {
  return toText(kept.join())
}

/** All pieces → an ArrayBuffer that nothing else uses: it may be transferred to another thread. */
export function readArrayBuffer(kept: KeptPieces): ArrayBuffer {
  return kept.joinOwn()
}

/** All pieces → bytes in an ArrayBuffer that nothing else uses. */
export function readBytes(kept: KeptPieces): Uint8Array<ArrayBuffer> {
  return new Uint8Array(kept.joinOwn())
}
