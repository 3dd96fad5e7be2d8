/**
 * What a response consists of.
 *
 * @module
 */

import { toBlock } from './header-blocks.ts'
import type { Field } from './hpack.ts'
import { encodeFields } from './hpack.ts'

/**
 * Header fields: an object, or name-value pairs. The server sends them exactly as you write them: in this order and
 * spelling, duplicated, in upper case, or invalid in any other way.
 */
export type FieldsInit = readonly Field[] | Readonly<Record<string, string | number | readonly string[]>>

/** A response that the server sends. */
export interface FaultResponse {
  /** The `:status`, such as `404`, or any text, sent as it is. @default 200 */
  readonly status?: number | string
  /** The header fields. @default {} */
  readonly headers?: FieldsInit
  /**
   * The body. `null`: none, and the header section ends the stream. `''`: none, and an empty DATA frame ends it.
   *
   * @default the request's method and path, such as `GET /path`; `null` for HEAD, 204, 205 and 304
   */
  readonly body?: string | Uint8Array | null
  /** The trailer fields, after the body. @default none */
  readonly trailers?: FieldsInit
}

/** A header section, in as many frames as any client needs. */
export function toSection(streamId: number, fields: readonly Field[], flags: number): Buffer {
  return toBlock(streamId, encodeFields(fields), flags)
}

/** The fields as pairs, as they are sent. @throws TypeError for a value that is undefined or null */
export function toFields(headers: FieldsInit): readonly Field[] {
  if (isPairs(headers)) {
    for (const [name, value] of headers) checkValue(name, value)
    return headers
  }
  return Object.entries(headers).flatMap(([name, value]) =>
    (Array.isArray(value) ? value : [value]).map((each): Field => {
      checkValue(name, each)
      return [name, String(each)]
    }),
  )
}

/** @throws TypeError: a variable that isn't set would be sent as the word 'undefined' */
function checkValue(name: string, value: unknown): void {
  if (value === undefined || value === null)
    throw new TypeError(`The header field '${name}' is ${value}: leave it out, or give it a value`)
}

function isPairs(headers: FieldsInit): headers is readonly Field[] {
  return Array.isArray(headers)
}
