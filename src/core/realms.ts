/**
 * What a value is, whichever realm it comes from: `instanceof` is false for a value from a `vm` context, such as jest's
 * environments and vitest's `vmThreads`.
 *
 * @module
 */

import { types } from 'node:util'

/** Whether a value can be awaited. */
export function isPromiseLike(value: unknown): value is PromiseLike<unknown> {
  return typeof value === 'object' && value !== null && 'then' in value && typeof value.then === 'function'
}

/** True for a Buffer, too. */
export const isUint8Array: (value: unknown) => value is Uint8Array = types.isUint8Array

/** True for a SharedArrayBuffer, too. */
export const isArrayBuffer: (value: unknown) => value is ArrayBufferLike = types.isAnyArrayBuffer

/** Whether a value is a `URL`, jsdom's included. */
export function isUrl(value: unknown): value is URL {
  return value instanceof URL || toTag(value) === '[object URL]'
}

/** Whether a value is a `URLSearchParams`, jsdom's included. */
export function isUrlSearchParams(value: unknown): value is URLSearchParams {
  return value instanceof URLSearchParams || toTag(value) === '[object URLSearchParams]'
}

function toTag(value: unknown): string {
  return Object.prototype.toString.call(value)
}
