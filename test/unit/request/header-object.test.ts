import { once } from 'node:events'
import { connect } from 'node:http2'
import { describe, expect, it, onTestFinished } from 'vitest'
import { toHeaderObject } from '../../../src/request/header-object.ts'
import { frames } from '../../../src/testing/frames.ts'
import { startPeer } from '../../support/peers/peer-rig.ts'

/** What node:http2 makes of a response's fields. */
async function toNodeObject(raw: readonly string[]): Promise<Record<string, unknown>> {
  const fields: [string, string][] = [[':status', '200']]
  for (let i = 0; i < raw.length; i += 2) fields.push([raw[i] ?? '', raw[i + 1] ?? ''])
  const peer = await startPeer({
    onComplete: ({ id, connection }) => connection.write(frames.headers(id, fields, 1)),
  })
  const session = connect(peer.origin)
  onTestFinished(() => session.destroy())
  const stream = session.request({ ':path': '/' })
  const [{ ':status': _status, ...headers }] = await once(stream, 'response')
  stream.resume()
  return headers
}

/** By name; what `toEqual` doesn't look at is looked at apart. */
const toPlain = (headers: object): Record<string, unknown> => ({ ...headers })

const LISTS: readonly { readonly what: string; readonly raw: readonly string[] }[] = [
  { what: 'nothing', raw: [] },
  { what: 'one field', raw: ['x-a', '1'] },
  { what: 'duplicates', raw: ['x-a', '1', 'x-b', '2', 'x-a', '3', 'x-a', ''] },
  { what: 'one set-cookie', raw: ['set-cookie', 'a=1'] },
  { what: 'several set-cookie', raw: ['set-cookie', 'a=1', 'x', 'y', 'set-cookie', 'b=2'] },
  { what: 'several cookie', raw: ['cookie', 'a=1', 'cookie', 'b=2'] },
  {
    what: 'several fields of which there may be one',
    raw: ['etag', '"a"', 'etag', '"b"', 'age', '1', 'age', '2'],
  },
  { what: 'names of the prototype', raw: ['__proto__', 'a', 'constructor', 'b', 'tostring', 'c'] },
  { what: 'empty values', raw: ['x-a', '', 'x-a', ''] },
  {
    what: 'several vary, via and link',
    raw: ['vary', 'a', 'via', '1', 'vary', 'b', 'link', '<a>', 'link', '<b>'],
  },
]

describe('the header object of a raw list', () => {
  it.each(LISTS)('is what node:http2 makes of $what', async ({ raw }) => {
    const ours = toPlain(toHeaderObject(raw))
    const theirs = await toNodeObject(raw)
    expect(Object.keys(ours).sort()).toEqual(Object.keys(theirs).sort())
    for (const name of Object.keys(theirs)) expect([name, ours[name]]).toEqual([name, theirs[name]])
  })

  it('has names in lower case, which HTTP/1.1 may write otherwise', () => {
    const raw = ['X-A', '1', 'x-a', '2', 'Set-Cookie', 'a', 'SET-COOKIE', 'b', 'ETag', 'c', 'etag', 'd']
    expect(toPlain(toHeaderObject(raw))).toEqual({ 'x-a': '1, 2', 'set-cookie': ['a', 'b'], etag: 'c' })
  })

  it.each([
    ['a', 'b'],
    ['__proto__', 'a'],
    ['__proto__', 'a', '__proto__', 'b'],
    ['Constructor', 'a'],
  ])('inherits from Object.prototype, as undici has it over HTTP/1.1: %j', (...raw) => {
    const headers = toHeaderObject(raw)
    expect(Object.getPrototypeOf(headers)).toBe(Object.prototype)
    expect(Object.keys(headers)).toEqual([raw[0]?.toLowerCase()])
    expect(headers.hasOwnProperty).toBe(Object.prototype.hasOwnProperty)
  })

  it('leaves a name without a value out', () => {
    expect(toPlain(toHeaderObject(['a', 'b', 'c']))).toEqual({ a: 'b' })
  })
})
