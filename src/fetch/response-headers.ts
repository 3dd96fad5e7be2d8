/**
 * The headers of a response, as a `Headers` that is created when the caller reads it.
 *
 * @module
 */

import type { RawHeadersSource } from '../request/headers.ts'
import { toRawHeaders } from '../request/headers.ts'

type HeadersClass = typeof Headers

/**
 * The current global `Headers`, and the immutable class for it. Created on first use, because reading `Headers` loads
 * undici.
 */
let current: { readonly base: HeadersClass; readonly immutable: HeadersClass } | null = null

/**
 * Creates the Headers of a response. They are an instance of the global class, whose methods throw if they would
 * change it (Fetch, headers guard `immutable`).
 *
 * @param source any form of headers; each field in the flat form becomes a separate value
 */
export function toFetchHeaders(source: RawHeadersSource): Headers {
  const headers = new Headers()
  const raw = toRawHeaders(source)
  for (let i = 0; i + 1 < raw.length; i += 2) addField(headers, raw[i] as string, raw[i + 1] as string)
  Object.setPrototypeOf(headers, toImmutableClass().prototype)
  return headers
}

/** A server's field may be invalid by the standard's rules: it is omitted. */
function addField(headers: Headers, name: string, value: string): void {
  try {
    headers.append(name, value)
  } catch {
    // `append()` is the only check of validity: an invalid field is left out.
  }
}

function toImmutableClass(): HeadersClass {
  const base = globalThis.Headers
  if (current === null || current.base !== base) current = { base, immutable: makeImmutableClass(base) }
  return current.immutable
}

function refuse(): never {
  throw new TypeError('immutable')
}

/** Only the prototype differs: undici's private state of a Headers isn't touched. */
function makeImmutableClass(base: HeadersClass): HeadersClass {
  const immutable = class extends base {}
  const method = { value: refuse, writable: true, configurable: true, enumerable: false }
  Object.defineProperties(immutable.prototype, {
    append: method,
    delete: method,
    set: method,
    constructor: { ...method, value: base },
  })
  return immutable
}
