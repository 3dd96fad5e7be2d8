/**
 * Names of header fields: which are valid, and which need a closer look.
 *
 * @module
 */

import { invalidKind, showName, toInvalid } from '../core/validate.ts'

/** RFC 9110 §5.6.2. */
const TOKEN = /^[!#$%&'*+\-.^_`|~0-9A-Za-z]+$/
/** RFC 9113 §8.2.2: these fields belong to one HTTP/1.1 connection. A request that contains one is malformed. */
const HOP_BY_HOP: ReadonlySet<string> = new Set([
  'proxy-connection',
  'transfer-encoding',
  'upgrade',
  'http2-settings',
])

/** Fields for which node:http2 accepts only one value (it throws ERR_HTTP2_HEADER_SINGLE_VALUE). */
const SINGLE_VALUE: ReadonlySet<string> = new Set([
  ...['access-control-allow-credentials', 'access-control-max-age', 'access-control-request-method', 'age'],
  ...[
    'authorization',
    'content-encoding',
    'content-language',
    'content-length',
    'content-location',
    'content-md5',
  ],
  ...['content-range', 'content-type', 'date', 'dnt', 'etag', 'expires', 'from', 'host', 'if-match'],
  ...['if-modified-since', 'if-none-match', 'if-range', 'if-unmodified-since', 'last-modified', 'location'],
  ...[
    'max-forwards',
    'proxy-authorization',
    'range',
    'referer',
    'retry-after',
    'tk',
    'upgrade-insecure-requests',
  ],
  ...['user-agent', 'x-content-type-options'],
])

/** Fields that aren't sent unchanged, or not at all. */
const SPECIAL: ReadonlySet<string> = new Set([
  ...HOP_BY_HOP,
  ...['connection', 'keep-alive', 'host', 'te', 'content-length'],
])

/** A name, and the checks that its field needs before it is sent. */
export interface FieldName {
  /** In lower case. */
  readonly name: string
  readonly rule: 'plain' | 'single' | 'special'
}

/** Names that were found to be tokens. Limited, because names may come from outside. */
const checkedNames = new Map<string, FieldName>()
const MAX_CHECKED_NAMES = 1_024

/** Whether a string is a token (RFC 9110 §5.6.2), as a method and a field name must be. */
export function isToken(value: string): boolean {
  return TOKEN.test(value)
}

/** Whether a field with this name, in lower case, may occur only once. */
export function isSingleValue(name: string): boolean {
  return SINGLE_VALUE.has(name)
}

/**
 * Checks a field name. @throws InvalidArgumentError for a value that isn't a field name, and for a pseudo-header
 * field's name
 */
export function toFieldName(name: unknown): FieldName {
  if (typeof name !== 'string') throw invalidKind('header name', name, 'a string')
  const known = checkedNames.get(name)
  if (known !== undefined) return known
  if (name.startsWith(':')) {
    throw toInvalid(
      'header name',
      showName(name),
      'no pseudo-header field: Dodici sets them from method, path and origin',
    )
  }
  if (!TOKEN.test(name)) throw toInvalid('header name', showName(name), 'a token (RFC 9110 §5.6.2)')
  const field = toRuled(name.toLowerCase())
  if (checkedNames.size < MAX_CHECKED_NAMES && name.length <= 64) checkedNames.set(name, field)
  return field
}

/**
 * Writes the names in a flat list of fields in the caller's spelling.
 *
 * @param fields `[name, value, name, value, …]`, the names in lower case. It is changed.
 * @param spellings tokens that aren't in lower case. Of two spellings of the same name, the first counts.
 */
export function respell(fields: string[], spellings: readonly string[]): void {
  const byName = new Map<string, string>()
  for (const given of spellings) {
    const name = given.toLowerCase()
    if (!byName.has(name)) byName.set(name, given)
  }
  for (let i = 0; i < fields.length; i += 2) {
    const name = fields[i] as string
    fields[i] = byName.get(name) ?? name
  }
}

function toRuled(name: string): FieldName {
  if (SPECIAL.has(name)) return { name, rule: 'special' }
  return { name, rule: SINGLE_VALUE.has(name) ? 'single' : 'plain' }
}
