import { once } from 'node:events'
import type { IncomingHttpHeaders } from 'node:http2'
import { Readable } from 'node:stream'
import { describe, expect, it } from 'vitest'
import { errors } from '../../src/index.ts'
import type { RequestBody, RequestTrailers } from '../../types/index.ts'
import { startClient } from '../support/clients/agents.ts'
import { REFUSED_STREAM } from '../support/peers/error-codes.ts'
import { read } from '../support/servers/server.ts'

interface Received {
  readonly text: string
  readonly trailers: Record<string, unknown>
}

async function start(refusals = 0) {
  const received: Received[] = []
  let refused = 0
  const { server, client } = await startClient(async (stream) => {
    if (refused < refusals) {
      refused++
      stream.close(REFUSED_STREAM)
      return
    }
    let trailers: IncomingHttpHeaders = {}
    stream.on('trailers', (fields: IncomingHttpHeaders) => {
      trailers = fields
    })
    const text = await read(stream).catch(() => null)
    if (text === null || stream.destroyed) return
    received.push({ text, trailers: Object.fromEntries(Object.entries(trailers)) })
    stream.respond({ ':status': 200 })
    stream.end('hello')
  })
  const send = async (body: RequestBody, trailers: RequestTrailers | null, method = 'POST') =>
    (await client.request({ path: '/', method, body, trailers })).body.text()
  return { server, client, received, send }
}

describe('the trailers of a request', () => {
  it.each<[string, RequestTrailers]>([
    ['an object', { 'X-Sum': 'abc', 'x-list': ['1', '2'], 'x-none': undefined, 'x-count': 3 }],
    ['a flat list', ['X-Sum', 'abc', 'x-list', '1', 'x-list', '2', 'x-count', '3']],
    [
      'a Headers',
      new Headers([
        ['x-sum', 'abc'],
        ['x-list', '1'],
        ['x-list', '2'],
        ['x-count', '3'],
      ]),
    ],
    ['a function', () => ({ 'x-sum': 'abc', 'x-list': ['1', '2'], 'x-count': '3' })],
  ])('may be %s', async (_what, trailers) => {
    const { received, send } = await start()
    expect(await send('body', trailers)).toBe('hello')
    expect(received).toEqual([
      { text: 'body', trailers: { 'x-sum': 'abc', 'x-list': '1, 2', 'x-count': '3' } },
    ])
  })

  it.each<[string, () => RequestBody, string]>([
    ['a string', () => 'body', 'body'],
    ['a large string', () => 'body'.repeat(100_000), 'body'.repeat(100_000)],
    ['a Readable', () => Readable.from(['bo', 'dy']), 'body'],
    ['a generator function', () => () => ['bo', 'dy'], 'body'],
    ['a Blob', () => new Blob(['body']), 'body'],
    ['no body', () => null, ''],
  ])('follow %s', async (_what, toBody, text) => {
    const { received, send } = await start()
    expect(await send(toBody(), { 'x-sum': 'abc' })).toBe('hello')
    expect(received).toEqual([{ text, trailers: { 'x-sum': 'abc' } }])
  })

  it('may follow a GET', async () => {
    const { received, send } = await start()
    expect(await send(null, { 'x-sum': 'abc' }, 'GET')).toBe('hello')
    expect(received).toEqual([{ text: '', trailers: { 'x-sum': 'abc' } }])
  })

  it('come from a function that is called once, when the body has been read', async () => {
    const { received, send } = await start()
    const calls: number[] = []
    let length = 0
    const body = (function* () {
      for (const piece of ['one', 'two', 'three']) {
        length += piece.length
        yield piece
      }
    })()
    const trailers = () => {
      calls.push(length)
      return { 'x-length': String(length) }
    }
    expect(await send(body, trailers)).toBe('hello')
    expect(calls).toEqual([11])
    expect(received).toEqual([{ text: 'onetwothree', trailers: { 'x-length': '11' } }])
  })

  it.each([{ given: null }, { given: undefined }, { given: {} }])('may be missing: $given', async ({
    given,
  }) => {
    const { received, send } = await start()
    expect(await send('body', () => given)).toBe('hello')
    expect(received).toEqual([{ text: 'body', trailers: {} }])
  })

  it('are sent again with a request that was refused', async () => {
    const { received, send } = await start(1)
    expect(await send('body', () => ({ 'x-sum': 'abc' }))).toBe('hello')
    expect(received).toEqual([{ text: 'body', trailers: { 'x-sum': 'abc' } }])
  })

  it.each([
    { what: 'a pseudo-header', trailers: [':status', '200'], names: ':status' },
    { what: 'a bad name', trailers: ['x sum', '1'], names: 'x sum' },
    { what: 'a bad value', trailers: ['x-sum', 'a\r\nb'], names: 'x-sum' },
  ])('with $what are refused with an error that names them, before anything is sent, or fail the call', async ({
    trailers,
    names,
  }) => {
    const { client, received, send, server } = await start()
    const refused = send('body', trailers)
    await expect(refused).rejects.toBeInstanceOf(errors.InvalidArgumentError)
    await expect(refused).rejects.toThrow(names)
    expect(server.sessions).toHaveLength(0)
    const failed = send('body', () => trailers)
    await expect(failed).rejects.toBeInstanceOf(errors.InvalidArgumentError)
    await expect(failed).rejects.toThrow(names)
    expect(received).toEqual([])
    expect(await (await client.request({ path: '/', method: 'GET' })).body.text()).toBe('hello')
    expect(server.sessions).toHaveLength(1)
  })

  it('whose function throws fail the call with that exception, and no other call', async () => {
    const { client, received, send, server } = await start()
    const error = new Error('no sum')
    const failed = send('body', () => {
      throw error
    })
    await expect(failed).rejects.toBe(error)
    expect(await (await client.request({ path: '/', method: 'GET' })).body.text()).toBe('hello')
    expect(received.map(({ text }) => text)).toEqual([''])
    expect(server.sessions).toHaveLength(1)
  })

  it('are never made when the call is aborted before', async () => {
    const { client, server } = await start()
    const controller = new AbortController()
    let asked = 0
    const trailers = () => {
      asked++
      return {}
    }
    const body = (async function* () {
      yield 'a'
      controller.abort()
      yield 'b'
    })()
    const { signal } = controller
    const failed = client.request({ path: '/', method: 'POST', body, trailers, signal })
    await expect(failed).rejects.toMatchObject({ name: 'AbortError' })
    for (let i = 0; i < 10; i++) await (await client.request({ path: '/', method: 'GET' })).body.dump()
    expect(asked).toBe(0)
    expect(server.sessions).toHaveLength(1)
  })
})

describe('the trailers of a response', () => {
  const TRAILERS = { 'x-sum': 'abc', 'set-cookie': ['a=1', 'b=2'] }

  /** A server that sends a piece and waits for `finish`, or sends trailers alone. */
  async function begin(isBare = false) {
    let end = (): void => {}
    const { client } = await startClient((stream) => {
      stream.respond({ ':status': 200 }, { waitForTrailers: true })
      stream.on('wantTrailers', () => stream.sendTrailers(TRAILERS))
      if (isBare) stream.end()
      else stream.write('begun')
      end = () => stream.end()
    })
    return { client, finish: () => end() }
  }

  it('are there when the body has been read, and not before', async () => {
    const { client, finish } = await begin()
    const { body, trailers } = await client.request({ path: '/', method: 'GET' })
    await once(body, 'readable')
    expect(trailers).toEqual({})
    finish()
    expect(await body.text()).toBe('begun')
    expect(trailers).toEqual(TRAILERS)
  })

  it.each([
    ['an object', null, {}, TRAILERS],
    ['a flat list', 'raw', [], ['x-sum', 'abc', 'set-cookie', 'a=1', 'set-cookie', 'b=2']],
  ] as const)('of a pipeline are there when its body has ended, and not before, as %s', async (_what, responseHeaders, before, after) => {
    const { client, finish } = await begin()
    const seen: unknown[] = []
    const duplex = client.pipeline({ path: '/', method: 'POST', responseHeaders }, ({ body, trailers }) => {
      seen.push(structuredClone(trailers))
      body.once('data', () => {
        seen.push(structuredClone(trailers))
        finish()
      })
      body.once('end', () => seen.push(structuredClone(trailers)))
      return body
    })
    duplex.end('asked')
    expect(Buffer.concat(await duplex.toArray()).toString()).toBe('begun')
    expect(seen).toEqual([before, before, after])
  })

  it('of a pipeline without a body are there at its end', async () => {
    const { client } = await begin(true)
    let atEnd: unknown = null
    const duplex = client.pipeline({ path: '/', method: 'POST' }, ({ body, trailers }) =>
      body.on('end', () => {
        atEnd = { ...trailers }
      }),
    )
    duplex.end()
    expect(await duplex.toArray()).toEqual([])
    expect(atEnd).toEqual(TRAILERS)
  })

  it('may come without a body', async () => {
    const { client } = await begin(true)
    const { body, trailers } = await client.request({ path: '/', method: 'POST', responseHeaders: 'raw' })
    expect(await body.text()).toBe('')
    expect(trailers).toEqual(['x-sum', 'abc', 'set-cookie', 'a=1', 'set-cookie', 'b=2'])
  })
})
