/**
 * Converts header objects to and from node:http2's.
 *
 * @module
 */

import type { IncomingHttpHeaders as NodeHeaders, OutgoingHttpHeaders, sensitiveHeaders } from 'node:http2'
import type { IncomingHttpHeaders } from '../../../types/headers.ts'
import { loadHttp2 } from '../../core/builtin.ts'
import { toRawHeaders } from '../../request/headers.ts'
import type { Request } from '../../request/request.ts'
import type { WireHeaders } from '../../request/wire-headers.ts'

/** Whether `session.request()` accepts a flat list: since Node 22.17, but not on Node 23. */
const TAKES_LIST = takesList(process.versions.node)

function takesList(version: string): boolean {
  const [major = 0, minor = 0] = version.split('.').map(Number)
  return major >= 24 || (major === 22 && minor >= 17)
}

/** Null until the first session has loaded node:http2. */
let sensitiveKey: typeof sensitiveHeaders | null = null

/** The key under which node:http2 keeps the names of sensitive fields. */
function toSensitiveKey(): typeof sensitiveHeaders {
  sensitiveKey ??= loadHttp2().sensitiveHeaders
  return sensitiveKey
}

/**
 * Creates objects that inherit nothing (a field may be called `constructor` or `__proto__`). Unlike objects from
 * `Object.create(null)`, they aren't dictionaries to V8, and take a sixth to a quarter of the time
 * (`bench/micro/headers.mjs`).
 */
const FieldObject = function FieldObject() {} as unknown as new () => Record<string, string | string[]>
FieldObject.prototype = Object.freeze(Object.create(null))

/**
 * The fields as an object, with several values for a name in an array: the form that all versions of Node accept, and
 * the only form for trailers.
 */
export function toFieldObject(wire: WireHeaders): OutgoingHttpHeaders {
  const fields = new FieldObject()
  for (let i = 0; i < wire.length; i += 2) {
    const name = wire[i] as string
    const value = wire[i + 1] as string
    const present = fields[name]
    if (present === undefined) fields[name] = value
    else if (typeof present === 'string') fields[name] = [present, value]
    else present.push(value)
  }
  return fields
}

/**
 * Header fields for `session.request()`: the list itself if Node accepts one, because Node would copy an object and
 * look up each name.
 */
export function toNodeHeaders(
  wire: WireHeaders,
  sensitive: ReadonlySet<string> | null = null,
): OutgoingHttpHeaders | WireHeaders {
  if (sensitive === null) return TAKES_LIST ? wire : toFieldObject(wire)
  // A copy, because the list belongs to the request and serves all its attempts.
  const fields = TAKES_LIST ? [...wire] : toFieldObject(wire)
  return Object.assign(fields, { [toSensitiveKey()]: [...sensitive] })
}

/** Trailers for `stream.sendTrailers()`. */
export function toNodeTrailers(
  wire: WireHeaders,
  { sensitiveHeaders: names }: Pick<Request, 'sensitiveHeaders'>,
): OutgoingHttpHeaders {
  const fields = toFieldObject(wire)
  return names === null ? fields : Object.assign(fields, { [toSensitiveKey()]: [...names] })
}

/** The object that Node created, without the keys that aren't fields. It isn't copied. */
export function toHandedHeaders(headers: NodeHeaders): IncomingHttpHeaders {
  Reflect.deleteProperty(headers, ':status')
  Reflect.deleteProperty(headers, toSensitiveKey())
  return headers
}

/** The flat list in wire order. Node passes it as a third argument that its types don't declare. */
export function toRawList(raw: unknown, handed: IncomingHttpHeaders): readonly string[] {
  return Array.isArray(raw) ? raw : toRawHeaders(handed)
}

const SP = 0x20
const HTAB = 0x09

/**
 * Why a field makes its message malformed that nghttp2 passes on because it was told not to drop it: white space around
 * the value (RFC 9113 §8.2.1). Null if no field does. The text never contains a value.
 */
export function toSpaceFault(raw: readonly string[]): string | null {
  for (let i = 1; i < raw.length; i += 2) {
    const value = raw[i] as string
    if (value !== '' && (isSpace(value.charCodeAt(0)) || isSpace(value.charCodeAt(value.length - 1))))
      return `the value of the field '${raw[i - 1]}' starts or ends with a space or tab (RFC 9113 §8.2.1)`
  }
  return null
}

function isSpace(unit: number): boolean {
  return unit === SP || unit === HTAB
}
