/**
 * What a response is made of.
 *
 * @module
 */

import { toBlock } from './header-blocks.ts'
import type { Field } from './hpack.ts'
import { encodeFields } from './hpack.ts'

/**
 * Header fields: an object, or pairs. They are sent in this order and in this spelling, with upper case, twice, or
 * wrong in any other way, as they are written here.
 */
export type FieldsInit = readonly Field[] | Readonly<Record<string, string | number | readonly string[]>>

/** A response. */
export interface FaultResponse {
  /** `:status`. Any text is sent as it is. @default 200 */
  readonly status?: number | string
  /** @default none */
  readonly headers?: FieldsInit
  /**
   * The body. Null: none, and the header section ends the stream. `''`: none, and an empty DATA frame ends it.
   *
   * @default the request's method and path, such as `GET /path`; null for HEAD, 204, 205 and 304
   */
  readonly body?: string | Uint8Array | null
  /** Behind the body. @default none */
  readonly trailers?: FieldsInit
}

/** A header section, in as many frames as any client takes. */
export function toSection(streamId: number, fields: readonly Field[], flags: number): Buffer {
  return toBlock(streamId, encodeFields(fields), flags)
}

/** Pairs, as they are sent. @throws TypeError for a value that is undefined or null */
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
