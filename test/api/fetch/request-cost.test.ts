import { afterEach, describe, expect, it, vi } from 'vitest'
import { fetch } from '../../../src/index.ts'
import { startOrigin, toMixedAgent } from './request-rig.ts'

const CLASSES = ['Request', 'Response', 'Headers', 'ReadableStream', 'FormData', 'Blob', 'URL'] as const

type Counts = Record<(typeof CLASSES)[number], number>

/** How often each global class is constructed from now on. */
function countConstructions(): Counts {
  const counts: Counts = {
    Request: 0,
    Response: 0,
    Headers: 0,
    ReadableStream: 0,
    FormData: 0,
    Blob: 0,
    URL: 0,
  }
  for (const name of CLASSES) {
    const counted = new Proxy(globalThis[name], {
      construct(target, args, newTarget) {
        counts[name]++
        return Reflect.construct(target, args, newTarget)
      },
    })
    vi.stubGlobal(name, counted)
  }
  return counts
}

const NOTHING: Counts = {
  Request: 0,
  Response: 0,
  Headers: 0,
  ReadableStream: 0,
  FormData: 0,
  Blob: 0,
  URL: 0,
}

afterEach(() => {
  vi.unstubAllGlobals()
})

/** An origin that responds, an agent that has its connection, and what is constructed from then on. */
async function start() {
  const server = await startOrigin('HTTP/2', () => ({ fields: { 'x-a': '1' }, body: '{"a":1}' }))
  const dispatcher = toMixedAgent(server)
  await (await fetch(server.origin, { dispatcher })).text()
  const counts = countConstructions()
  // The first response after a change of the global class looks at it.
  await (await fetch(server.origin, { dispatcher })).text()
  Object.assign(counts, NOTHING)
  return { url: `${server.origin}/path?query`, dispatcher, counts }
}

describe('when a call is plain', () => {
  it.each<[string, (response: Response) => Promise<unknown>]>([
    ['text()', (response) => response.text()],
    ['json()', (response) => response.json()],
    ['bytes()', (response) => response.bytes()],
    ['arrayBuffer()', (response) => response.arrayBuffer()],
  ])('constructs nothing, when read by %s', async (_what, read) => {
    const { url, dispatcher, counts } = await start()
    await read(await fetch(url, { dispatcher }))
    expect(counts).toEqual(NOTHING)
  })

  it.each<[string, RequestInit]>([
    ['fields', { headers: { 'X-A': '1', accept: 'text/html' } }],
    ['a string to post', { method: 'POST', headers: { 'content-type': 'application/json' }, body: '{}' }],
    ['bytes to post', { method: 'PUT', body: new Uint8Array(3) }],
    ['redirect', { redirect: 'manual' }],
    ['a signal', { signal: new AbortController().signal }],
  ])('constructs no more with %s', async (_what, init) => {
    const { url, dispatcher, counts } = await start()
    const response = await fetch(url, { ...init, dispatcher })
    expect([response.status, response.ok, response.statusText, response.type]).toEqual([
      200,
      true,
      '',
      'basic',
    ])
    await response.json()
    expect(counts).toEqual(NOTHING)
  })

  it('gets a Response without its constructor, which can be collected without its body', async () => {
    const { url, dispatcher, counts } = await start()
    const response = await fetch(url, { dispatcher })
    expect(response).toBeInstanceOf(Response)
    expect(counts).toEqual(NOTHING)
  })
})

describe('when the text of a URL may not be its serialization', () => {
  it.each(['/a b', '/a/../b', '/é', '/a%2e', '/a#b', ''])('parses it: %j', async (path) => {
    const { url, dispatcher, counts } = await start()
    const { origin } = new URL(url)
    Object.assign(counts, NOTHING)
    await (await fetch(`${origin}${path}`, { dispatcher })).text()
    expect(counts).toEqual({ ...NOTHING, URL: 1 })
  })
})

describe('when the caller reads objects that a plain call does not make', () => {
  it('makes the Headers of a response once', async () => {
    const { url, dispatcher, counts } = await start()
    const response = await fetch(url, { dispatcher })
    expect(counts.Headers).toBe(0)
    const { headers } = response
    expect([headers.get('x-a'), response.headers === headers]).toEqual(['1', true])
    expect(counts.Headers).toBe(1)
  })

  it('makes the stream of a response once', async () => {
    const { url, dispatcher, counts } = await start()
    const response = await fetch(url, { dispatcher })
    const { body } = response
    expect(response.body).toBe(body)
    expect(counts.ReadableStream).toBe(1)
    expect(await response.text()).toBe('{"a":1}')
    expect(counts.ReadableStream).toBe(1)
  })

  it('makes a Headers for fields that need validation', async () => {
    const { url, dispatcher, counts } = await start()
    await (await fetch(url, { headers: [['x-a', '1']], dispatcher })).text()
    await (await fetch(url, { headers: { 'x-a': ' spaced ' }, dispatcher })).text()
    expect(counts).toEqual({ ...NOTHING, Headers: 2 })
  })

  it('makes a Request for members that only its constructor validates', async () => {
    const { url, dispatcher, counts } = await start()
    await (await fetch(url, { cache: 'no-store', dispatcher })).text()
    expect(counts.Request).toBe(1)
  })
})
