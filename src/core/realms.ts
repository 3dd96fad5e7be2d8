/**
 * What a value is, whichever realm has made it: of a value from a `vm` context, jest's environments and vitest's
 * `vmThreads` among them, `instanceof` says no.
 *
 * @module
 */

import { types } from 'node:util'

/** Whether it can be awaited. */
export function isPromiseLike(value: unknown): value is PromiseLike<unknown> {
  return typeof value === 'object' && value !== null && 'then' in value && typeof value.then === 'function'
}

/** A Buffer is one, too. */
export const isUint8Array: (value: unknown) => value is Uint8Array = types.isUint8Array

/** A SharedArrayBuffer is one, too. */
export const isArrayBuffer: (value: unknown) => value is ArrayBufferLike = types.isAnyArrayBuffer

/** A `URL`, that of jsdom too. */
export function isUrl(value: unknown): value is URL {
  return value instanceof URL || toTag(value) === '[object URL]'
}

/** A `URLSearchParams`, that of jsdom too. */
export function isUrlSearchParams(value: unknown): value is URLSearchParams {
  return value instanceof URLSearchParams || toTag(value) === '[object URLSearchParams]'
}

function toTag(value: unknown): string {
  return Object.prototype.toString.call(value)
}
