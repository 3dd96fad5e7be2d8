import { describe, expect, it } from 'vitest'
import { fetch } from '../../../src/index.ts'
import { startOrigin, toFailure, toLatest, toMixedAgent, toValues } from './request-rig.ts'

type Pairs = readonly (readonly [name: string, value: string])[]

/** The fields that fetch adds to every request. */
const ADDED = [
  'accept',
  'accept-language',
  'accept-encoding',
  'sec-fetch-mode',
  'user-agent',
  'host',
  'connection',
]

function call(input: unknown, init: unknown): Promise<Response> {
  return Reflect.apply(fetch, undefined, [input, init])
}

/** The fields that a server gets from these headers, sorted by name. */
async function toSent(headers: unknown): Promise<Pairs> {
  const server = await startOrigin('HTTP/2')
  await (await call(server.origin, { headers, dispatcher: toMixedAgent(server) })).text()
  const own = toLatest(server).fields.filter(([name]) => !ADDED.includes(name))
  return own.toSorted(([a], [b]) => (a < b ? -1 : 1))
}

describe('when headers are an object', () => {
  it('does not change the object, and sends it again', async () => {
    const server = await startOrigin('HTTP/2')
    const headers = Object.freeze({ 'x-a': '1' })
    const init = { method: 'POST', body: 'body', headers, dispatcher: toMixedAgent(server) }
    for (let i = 0; i < 2; i++) await (await call(server.origin, init)).text()
    expect(server.seen.map((seen) => toValues(seen, 'x-a'))).toEqual([['1'], ['1']])
    expect(headers).toEqual({ 'x-a': '1' })
  })

  it('sends the fields as they were when fetch was called', async () => {
    const server = await startOrigin('HTTP/2')
    const headers = { 'x-a': '1' }
    const responded = call(server.origin, { headers, dispatcher: toMixedAgent(server) })
    headers['x-a'] = '2'
    await (await responded).text()
    expect(toValues(toLatest(server), 'x-a')).toEqual(['1'])
  })
})

describe('when a name is there twice', () => {
  it('does not add the field that fetch would add by default', async () => {
    const server = await startOrigin('HTTP/2')
    const headers = {
      Accept: 'a',
      'accept-language': 'b',
      'User-Agent': 'c',
      'Accept-Encoding': 'd',
      'Sec-Fetch-Mode': 'e',
    }
    await (await call(server.origin, { headers, dispatcher: toMixedAgent(server) })).text()
    const seen = toLatest(server)
    const names = ['accept', 'accept-language', 'user-agent', 'accept-encoding', 'sec-fetch-mode']
    expect(names.map((name) => toValues(seen, name))).toEqual([['a'], ['b'], ['c'], ['d'], ['cors']])
  })
})

describe('when a field is about the connection', () => {
  it('requests the host of the URL, whatever `host` has', async () => {
    const server = await startOrigin('HTTP/1.1')
    for (const headers of [{ Host: 'other.test' }, [['host', 'other.test']]]) {
      await (await call(server.origin, { headers, dispatcher: toMixedAgent() })).text()
      expect(toValues(toLatest(server), 'host')).toEqual([new URL(server.origin).host])
    }
  })

  it.each([
    ['transfer-encoding', 'chunked'],
    ['upgrade', 'h2c'],
    ['proxy-connection', 'close'],
    ['http2-settings', 'x'],
    ['te', 'gzip'],
    ['content-length', 'x'],
  ])('is a network error with a reason for %s, and disturbs no other request', async (name, value) => {
    const server = await startOrigin('HTTP/2')
    const dispatcher = toMixedAgent(server)
    const before = call(`${server.origin}/before`, { dispatcher })
    const failure = await toFailure(call(server.origin, { headers: { [name]: value }, dispatcher }))
    expect(failure).toContain('TypeError: fetch failed ← Invalid header')
    expect(failure).toContain(name)
    expect(failure).toContain(value)
    const after = call(`${server.origin}/after`, { dispatcher })
    for (const one of [before, after]) expect((await one).status).toBe(200)
    expect(server.connections).toBe(1)
    expect(server.seen.map(({ path }) => path)).toEqual(['/before', '/after'])
  })

  it('omits fields that HTTP/2 does not need', async () => {
    for (const connection of ['keep-alive', 'x-a'])
      expect(await toSent({ connection, 'keep-alive': 'timeout=5', te: 'trailers' })).toEqual([
        ['te', 'trailers'],
      ])
  })

  it('is a network error with a reason for a content-length that is not that of the body', async () => {
    const server = await startOrigin('HTTP/2')
    const init = {
      method: 'POST',
      body: 'four',
      headers: { 'content-length': '5' },
      dispatcher: toMixedAgent(server),
    }
    expect(await toFailure(call(server.origin, init))).toMatch(/^TypeError: fetch failed ← .*content-length/i)
  })
})

describe('when headers are large', () => {
  it('sends many fields, and long ones', async () => {
    const many = Object.fromEntries(
      Array.from({ length: 60 }, (_, i) => [`x-${i}`, 'value '.repeat(10).trim()]),
    )
    expect(Object.fromEntries(await toSent(many))).toEqual(many)
    expect(await toSent({ 'x-long': 'x'.repeat(14_000) })).toEqual([['x-long', 'x'.repeat(14_000)]])
  })

  it('is a network error with a reason for one that is too long', async () => {
    const server = await startOrigin('HTTP/2')
    const dispatcher = toMixedAgent(server)
    const headers = { 'x-long': 'x'.repeat(70_000) }
    expect(await toFailure(call(server.origin, { headers, dispatcher }))).toMatch(
      /^TypeError: fetch failed ← Invalid header "x-long": .* bytes/,
    )
    expect((await call(server.origin, { dispatcher })).status).toBe(200)
  })
})
