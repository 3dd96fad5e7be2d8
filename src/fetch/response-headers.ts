/**
 * The headers of a response, as a `Headers` that is made when somebody reads it.
 *
 * @module
 */

import type { RawHeadersSource } from '../core/headers.ts'
import { toRawHeaders } from '../core/headers.ts'

type HeadersClass = typeof Headers

/**
 * The class for the `Headers` that is global now, and that one: made on first use, since
 * reading `Headers` loads undici.
 */
let current: { readonly base: HeadersClass; readonly immutable: HeadersClass } | null = null

/**
 * Makes the Headers of a response. It is one of the global class, whose own methods throw where they would change it
 * (Fetch, headers guard `immutable`).
 *
 * @param source any form of headers; each field of the flat form becomes a value of its own
 */
export function toFetchHeaders(source: RawHeadersSource): Headers {
  const headers = new Headers()
  const raw = toRawHeaders(source)
  for (let i = 0; i + 1 < raw.length; i += 2) addField(headers, raw[i] as string, raw[i + 1] as string)
  Object.setPrototypeOf(headers, toImmutableClass().prototype)
  return headers
}

/**
 * A server's field may be none by the standard's rules: it is left out, as it would be by any other way to a Headers.
 */
function addField(headers: Headers, name: string, value: string): void {
  try {
    headers.append(name, value)
  } catch {
    // There is no other way to ask whether it is valid.
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

/** By its prototype alone: what undici keeps in a Headers stays as it made it. */
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
