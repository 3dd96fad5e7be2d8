/**
 * Flat lists of a response's fields → the object that a handler gets.
 *
 * @module
 */

import type { IncomingHttpHeaders } from '../../types/headers.ts'
import { isSingleValue } from './field-names.ts'

/** The trailers of a response that has none. */
export const NO_TRAILERS: IncomingHttpHeaders = Object.freeze({})

/**
 * Up to so many entries of a list it is faster to look through the list than to ask the object whether a name has come.
 */
const SHORT_LIST = 32

/**
 * An object without a prototype that V8 doesn't make a dictionary of, as it does of those of `Object.create(null)`:
 * that takes a third to a half more time (`bench/micro/headers.mjs`), and more memory.
 */
function toEmptyObject(): IncomingHttpHeaders {
  return Object.setPrototypeOf({}, null)
}

/**
 * What node:http2 makes of the same fields. Names are in lower case already (RFC 9113 §8.2); `set-cookie` is an
 * array, other fields that came several times are joined or, where there may be one only, the first of them counts;
 * no prototype; no `:status`.
 *
 * @param fields a flat list in wire order; `:status`, where it has one, is the first
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

/** A dictionary: each new name would be a shape of its own. */
function toLargeObject(fields: readonly string[], start: number): IncomingHttpHeaders {
  const headers: IncomingHttpHeaders = Object.create(null)
  for (let i = start; i < fields.length; i += 2) {
    const name = fields[i] as string
    if (headers[name] !== undefined) join(headers, name, fields[i + 1] as string)
    else headers[name] = name === 'set-cookie' ? [fields[i + 1] as string] : fields[i + 1]
  }
  return headers
}

/** Adds a field whose name the object has already. */
function join(headers: IncomingHttpHeaders, name: string, value: string): void {
  const present = headers[name]
  if (Array.isArray(present)) present.push(value)
  else if (!isSingleValue(name)) headers[name] = `${present}${name === 'cookie' ? '; ' : ', '}${value}`
}

/**
 * Gives an object a member, also one with the name `__proto__`: an assignment would call the setter of
 * Object.prototype, or the one that Node has put there.
 */
export function setMember<TValue>(target: Record<string, TValue>, name: string, value: TValue): void {
  if (name !== '__proto__') target[name] = value
  else Object.defineProperty(target, name, { value, configurable: true, enumerable: true, writable: true })
}

/**
 * The same of names in any case, as HTTP/1.1 has them. Over HTTP/1.1 undici's objects inherit from Object.prototype,
 * and so do these: `headers.hasOwnProperty()` is there.
 *
 * @param raw `[name, value, name, value, …]`, as the normalizer makes it
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
