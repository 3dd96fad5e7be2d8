/**
 * A request's header fields: a flat list, checked and in lower case; or an object that inherits nothing, for an older
 * node:http2.
 */
import { validateHeaderName, validateHeaderValue } from 'node:http'
import { loadModules } from '../../scripts/support.mjs'

/** @type {typeof import('../../src/request/headers.ts')} */
const { addHeaders } = await loadModules(`export * from '../src/request/headers.ts'`)
/** @type {typeof import('../../src/session/node/node-headers.ts')} */
const { toFieldObject } = await loadModules(`export * from '../src/session/node/node-headers.ts'`)
/** @type {typeof import('../../src/request/header-object.ts')} */
const { toResponseHeaders } = await loadModules(`export * from '../src/request/header-object.ts'`)

const object = {
  Accept: 'application/json',
  'Accept-Encoding': 'gzip, br',
  Authorization: `Bearer ${'t'.repeat(120)}`,
  'Content-Type': 'application/json',
  Cookie: 'session=0123456789; theme=dark',
  'User-Agent': 'bench',
  'X-Request-Id': '0b2f6a9e-2f3e-4f0b-8d0c-6a5b6d1f2c11',
}
const flat = Object.entries(object).flat()
const pairs = new Map(Object.entries(object))

/** @param {Parameters<typeof addHeaders>[1]} headers */
function add(headers) {
  /** @type {string[]} */
  const wire = []
  const target = { wire, host: null, contentLength: null, headerSize: 0 }
  addHeaders({ ...target, sensitiveHeaders: null, spellings: null, reset: null }, headers)
  return wire
}

/**
 * With the checks that Node exports, and a pair for each field, so that one loop does for all forms.
 *
 * @param {Iterable<readonly [string, string]>} pairs
 */
function addPairs(pairs) {
  const wire = []
  for (const [name, value] of pairs) {
    validateHeaderName(name)
    validateHeaderValue(name, value)
    wire.push(name.toLowerCase(), value.trim())
  }
  return wire
}

/** @param {readonly string[]} flat @returns {Iterable<[string, string]>} */
function* toPairs(flat) {
  for (let i = 0; i < flat.length; i += 2) yield [flat[i] ?? '', flat[i + 1] ?? '']
}

const fields = ':method GET :scheme https :authority localhost :path / accept */*'.split(' ')

/** @param {Record<string, string>} object an empty one */
function fill(object) {
  for (let i = 0; i < fields.length; i += 2) object[fields[i] ?? ''] = fields[i + 1] ?? ''
  return object
}

const DATE = 'Thu, 01 Jan 2026 00:00:00 GMT'
const response = [
  ...[':status', '200', 'server', 'nginx', 'date', DATE, 'content-type', 'text/plain'],
  ...['content-length', '1024', 'last-modified', DATE, 'etag', '"5e1"', 'vary', '*'],
]

/** Each name is looked up, as there may be another field of it. @param {readonly string[]} list */
function toDictionary(list) {
  /** @type {Record<string, string>} */
  const object = Object.create(null)
  for (let i = 2; i < list.length; i += 2) object[list[i] ?? ''] ??= list[i + 1] ?? ''
  return object
}

/** As node:http2 does with what it is given. @param {object} headers */
const copy = (headers) => Object.assign(Object.create(null), headers)

export const comparisons = [
  {
    title: 'header fields of an object',
    ways: {
      'addHeaders()': () => add(object),
      "Object.entries() and Node's validateHeader…()": () => addPairs(Object.entries(object)),
    },
  },
  {
    title: 'header fields of a flat array',
    ways: {
      'addHeaders()': () => add(flat),
      "a generator of pairs and Node's validateHeader…()": () => addPairs(toPairs(flat)),
    },
  },
  {
    title: 'header fields of an iterable, a Map',
    ways: {
      'addHeaders()': () => add(pairs),
      "Node's validateHeader…()": () => addPairs(pairs),
    },
  },
  {
    title: 'an object for five fields, filled and copied',
    ways: {
      'toFieldObject(): an empty, inherited prototype': () => copy(toFieldObject(fields)),
      'Object.create(null)': () => copy(fill(Object.create(null))),
      // Faster or not: it won't do, as it inherits `constructor` and has a setter for `__proto__`.
      '{}': () => copy(fill({})),
    },
  },
  {
    title: "an object of a response's seven fields, without a prototype",
    ways: {
      'toResponseHeaders(): { ...EMPTY, __proto__: null }': () => toResponseHeaders(response),
      'Object.create(null)': () => toDictionary(response),
    },
  },
]
