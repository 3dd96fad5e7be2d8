import { once } from 'node:events'
import type { ClientHttp2Session } from 'node:http2'
import { connect, sensitiveHeaders } from 'node:http2'
import { describe, expect, it, onTestFinished } from 'vitest'
import { toHeaderObject, toResponseHeaders } from '../../../src/request/header-object.ts'
import { Flag, frames } from '../../../src/testing/frames.ts'
import type { Field } from '../../../src/testing/hpack.ts'
import { Random } from '../../support/clocks/seeded-random.ts'
import { startPeer } from '../../support/peers/peer-rig.ts'

/** Fields of a response, without `:status`. */
type Fields = readonly Field[]

/** Those that may be there once, those that are joined in their own way, those that objects inherit, and indices. */
const NAMES = [
  ...['age', 'authorization', 'content-type', 'date', 'dnt', 'etag', 'expires', 'host', 'last-modified'],
  ...['location', 'max-forwards', 'referer', 'retry-after', 'tk', 'user-agent', 'x-content-type-options'],
  ...['access-control-allow-credentials', 'access-control-max-age', 'content-range', 'content-encoding'],
  ...['set-cookie', 'set-cookie', 'set-cookie', 'cookie', 'cookie', 'vary', 'via', 'link', 'accept-ranges'],
  ...['__proto__', 'constructor', 'tostring', 'hasownproperty', 'valueof', 'then', '0', '17', '4294967295'],
  ...['x-a', 'x-b', 'x-c', '!#$%&', '-', '_'],
] as const
const [FIRST, ...OTHERS] = NAMES

const VALUES = ['', '1', 'a=1; Path=/', 'a, b', ',', '\u00e4\u00ff', '"q"', '0', 'null'] as const

/** Lists on both sides of the length from which on they are looked through in another way. */
const LENGTHS = [0, 1, 2, 5, 14, 15, 16, 17, 18, 40, 100] as const
const LISTS_OF_LENGTH = 12

function toRandomFields(random: Random, length: number): Fields {
  return Array.from({ length }, () => [random.pick([FIRST, ...OTHERS]), random.pick(VALUES)])
}

/** What came, as the engine has it. */
function toList(fields: Fields): string[] {
  return [':status', '200', ...fields.flat()]
}

/** Asks a peer that gives each of its responses the next list; what node:http2 makes of them. */
async function toNodeObjects(lists: readonly Fields[]): Promise<object[]> {
  const left = [...lists]
  const peer = await startPeer({
    onComplete({ id, connection }) {
      connection.write(frames.headers(id, [[':status', '200'], ...(left.shift() ?? [])], Flag.END_STREAM))
    },
  })
  const session = connect(peer.origin, { maxHeaderListPairs: 1_000 })
  onTestFinished(() => session.destroy())
  const objects: object[] = []
  for (const _list of lists) objects.push(await toNodeObject(session))
  return objects
}

async function toNodeObject(session: ClientHttp2Session): Promise<object> {
  const stream = session.request({ ':path': '/' })
  const [headers] = await once(stream, 'response')
  stream.resume()
  // As the engine over node:http2 hands it on.
  Reflect.deleteProperty(headers, ':status')
  Reflect.deleteProperty(headers, sensitiveHeaders)
  return headers
}

/** All that can be told of an object: names in their order, values, flags, and what it inherits. */
function toAnatomy(object: object): unknown {
  const properties = Reflect.ownKeys(object).map((key) => [
    key,
    Reflect.getOwnPropertyDescriptor(object, key),
  ])
  return { properties, prototype: Reflect.getPrototypeOf(object) }
}

/** The names with their values, in one order: objects put names that are indices first. */
function toSorted(object: object): [string, unknown][] {
  return Object.entries(object).sort(([a], [b]) => (a < b ? -1 : 1))
}

describe('the header object of engine wire', () => {
  it.each(LENGTHS)('is what node:http2 makes of the same %i fields', async (length) => {
    const random = new Random(length)
    const lists = Array.from({ length: LISTS_OF_LENGTH }, () => toRandomFields(random, length))
    const theirs = await toNodeObjects(lists)
    expect(lists.map((fields) => toAnatomy(toResponseHeaders(toList(fields))))).toEqual(theirs.map(toAnatomy))
    expect(lists.map((fields) => toSorted(toHeaderObject(fields.flat())))).toEqual(theirs.map(toSorted))
  })

  it.each(NAMES)('is what node:http2 makes of %s that comes once, twice and three times', async (name) => {
    const lists = [1, 2, 3].map((count) =>
      Array.from({ length: count }, (_none, i): Field => [name, `value ${i}`]),
    )
    const theirs = await toNodeObjects(lists)
    expect(lists.map((fields) => toAnatomy(toResponseHeaders(toList(fields))))).toEqual(theirs.map(toAnatomy))
    expect(lists.map((fields) => toSorted(toHeaderObject(fields.flat())))).toEqual(theirs.map(toSorted))
  })

  describe('of trailers, which have no :status', () => {
    it.each(LENGTHS)('is the same: %i fields', (length) => {
      const fields = toRandomFields(new Random(length), length)
      expect(toAnatomy(toResponseHeaders(fields.flat()))).toEqual(
        toAnatomy(toResponseHeaders(toList(fields))),
      )
    })
  })

  it('leaves the list as it is, and shares nothing with the next one', () => {
    const list = Object.freeze(['set-cookie', 'a=1', 'set-cookie', 'b=2'])
    const first = toResponseHeaders(list)
    expect(first).not.toBe(toResponseHeaders(list))
    expect(first['set-cookie']).not.toBe(toResponseHeaders(list)['set-cookie'])
  })
})
