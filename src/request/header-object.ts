/**
 * Converts flat lists of response fields to the object that a handler gets.
 *
 * @module
 */

import type { IncomingHttpHeaders } from '../../types/headers.ts'
import { isSingleValue } from './field-names.ts'

/** The trailers of a response without trailers. */
export const NO_TRAILERS: IncomingHttpHeaders = Object.freeze({})

/** Up to this many entries, searching the list is faster than asking the object whether it contains a name. */
const SHORT_LIST = 32

const EMPTY: IncomingHttpHeaders = {}

/**
 * An object without a prototype that V8 doesn't turn into a dictionary, as it does with those from
 * `Object.create(null)`: a dictionary takes a third to a half more time (`bench/micro/headers.mjs`), and more memory.
 * The order matters: V8 copies the shape of a literal that begins with a spread. `{ __proto__: null, ...EMPTY }` is a
 * dictionary, and `Object.setPrototypeOf()` is a call into the runtime for each object.
 */
function toEmptyObject(): IncomingHttpHeaders {
  // TypeScript takes `__proto__` for a member.
  return { ...EMPTY, __proto__: null } as unknown as IncomingHttpHeaders
}

/**
 * The same object as node:http2 creates from the same fields. Names are already in lower case (RFC 9113 §8.2);
 * `set-cookie` is an array; other repeated fields are joined or, if only one is allowed, the first counts; no
 * prototype; no `:status`.
 *
 * @param fields a flat list in wire order; `:status`, if present, is the first
 */
export function toResponseHeaders(fields: readonly string[]): IncomingHttpHeaders {
  const start = fields[0] === ':status' ? 2 : 0
  if (fields.length > SHORT_LIST) return toLargeObject(fields, start)
  const headers = toEmptyObject()
  for (let i = start; i < fields.length; i += 2) {
    const name = fields[i] as string
    if (hasCome(fields, name, start, i)) join(headers, name, fields[i + 1] as string)
    else headers[name] = name === 'set-cookie' ? [fields[i + 1] as string] : fields[i + 1]
  }
  return headers
}

function hasCome(fields: readonly string[], name: string, start: number, end: number): boolean {
  for (let i = start; i < end; i += 2) if (fields[i] === name) return true
  return false
}

/** A dictionary, because each new name would create another shape. */
function toLargeObject(fields: readonly string[], start: number): IncomingHttpHeaders {
  const headers: IncomingHttpHeaders = Object.create(null)
  for (let i = start; i < fields.length; i += 2) {
    const name = fields[i] as string
    if (headers[name] !== undefined) join(headers, name, fields[i + 1] as string)
    else headers[name] = name === 'set-cookie' ? [fields[i + 1] as string] : fields[i + 1]
  }
  return headers
}

/** Adds a field whose name is already in the object. */
function join(headers: IncomingHttpHeaders, name: string, value: string): void {
  const present = headers[name]
  if (Array.isArray(present)) present.push(value)
  else if (!isSingleValue(name)) headers[name] = `${present}${name === 'cookie' ? '; ' : ', '}${value}`
}

/**
 * Adds a member to an object, even one named `__proto__`: an assignment would call the setter of Object.prototype, or
 * the one that Node has put there.
 */
export function setMember<TValue>(target: Record<string, TValue>, name: string, value: TValue): void {
  if (name !== '__proto__') target[name] = value
  else Object.defineProperty(target, name, { value, configurable: true, enumerable: true, writable: true })
}

/**
 * The same for names in any case, as in HTTP/1.1. Over HTTP/1.1 undici's objects inherit from Object.prototype, so
 * these do, too: they have `headers.hasOwnProperty()`.
 *
 * @param raw `[name, value, name, value, …]`, from the normalizer
 */
export function toHeaderObject(raw: readonly string[]): IncomingHttpHeaders {
  const headers: Record<string, string | string[]> = {}
  for (let i = 0; i < raw.length; i += 2) {
    const name = (raw[i] as string).toLowerCase()
    const value = raw[i + 1] as string
    if (Object.hasOwn(headers, name)) join(headers, name, value)
    else setMember(headers, name, name === 'set-cookie' ? [value] : value)
  }
  return headers
}
