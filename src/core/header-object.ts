/**
 * A flat list of an answer's fields → the object that a handler gets.
 *
 * @module
 */

import type { IncomingHttpHeaders } from '../../types/headers.ts'
import { isSingleValue } from './field-names.ts'

/**
 * Names in lower case, `set-cookie` as an array, other fields that came several times joined or, where there may be one only,
 * the first of them; no prototype: what node:http2 makes of the same fields.
 *
 * @param raw `[name, value, name, value, …]`, as the normalizer makes it
 */
export function toHeaderObject(raw: readonly string[]): IncomingHttpHeaders {
  const headers: IncomingHttpHeaders = Object.create(null)
  for (let i = 0; i + 1 < raw.length; i += 2) {
    addToObject(headers, (raw[i] as string).toLowerCase(), raw[i + 1] as string)
  }
  return headers
}

function addToObject(headers: IncomingHttpHeaders, name: string, value: string): void {
  const present = headers[name]
  if (name === 'set-cookie') {
    if (Array.isArray(present)) present.push(value)
    else headers[name] = [value]
  } else if (present === undefined) {
    headers[name] = value
  } else if (!isSingleValue(name)) {
    headers[name] = `${present}${name === 'cookie' ? '; ' : ', '}${value}`
  }
}
