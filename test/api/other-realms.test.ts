import type { Socket } from 'node:net'
import { connect } from 'node:net'
import { runInNewContext } from 'node:vm'
import { describe, expect, it } from 'vitest'
import { Client, errors, fetch } from '../../src/index.ts'
import type { Connector, ConnectorCallback, DispatchOptions } from '../../types/index.ts'
import { destroyWithTest } from '../support/clients/agents.ts'
import { startServer } from '../support/servers/server.ts'

const GET = { path: '/', method: 'GET' } as const

/** Evaluates an expression in a realm of its own. */
function elsewhere(code: string, values: Record<string, unknown> = {}): unknown {
  return runInNewContext(`(${code})`, values)
}

async function start(connector?: (dial: () => unknown) => unknown): Promise<Client> {
  const { origin } = await startServer((stream, headers) => {
    if (headers[':path'] === '/hang') return
    stream.respond({ ':status': 200, 'x-seen': headers['x-own'] ?? '' })
    stream.pipe(stream)
  })
  const dial = (): unknown => connect(Number(new URL(origin).port), '127.0.0.1')
  const connectOption = connector?.(dial) as Connector | undefined
  const client = destroyWithTest(
    new Client(origin, connectOption === undefined ? {} : { connect: connectOption }),
  )
  return client
}

async function send(client: Client, options: unknown): Promise<string> {
  const call = Object.assign({ ...GET, method: 'POST' }, options) as DispatchOptions
  const { body } = await client.request(call)
  return body.text()
}

describe('a value of another realm', () => {
  it.each([
    ['a Uint8Array', 'Uint8Array.of(116, 101, 120, 116)'],
    ['an ArrayBuffer', 'Uint8Array.of(116, 101, 120, 116).buffer'],
    [
      'a SharedArrayBuffer',
      '(() => { const b = new SharedArrayBuffer(4); new Uint8Array(b).set([116, 101, 120, 116]); return b })()',
    ],
    ['a DataView', 'new DataView(Uint8Array.of(116, 101, 120, 116).buffer)'],
    ['an array of pieces', "['te', Uint8Array.of(120, 116)]"],
    ['a generator', "(function* () { yield 'te'; yield Uint8Array.of(120, 116) })()"],
    ['an async generator', "(async function* () { yield 'te'; yield Uint8Array.of(120, 116).buffer })()"],
    ['a function that returns a promise-less body', '() => Uint8Array.of(116, 101, 120, 116)'],
  ])('is a body: %s', async (_what, code) => {
    expect(await send(await start(), { body: elsewhere(code) })).toBe('text')
  })

  it.each([
    ['a Uint8Array', 'Uint8Array.of(116, 101, 120, 116)'],
    ['an ArrayBuffer', 'Uint8Array.of(116, 101, 120, 116).buffer'],
    ['an async generator', '(async function* () { yield Uint8Array.of(116, 101, 120, 116) })()'],
  ])('is a body of fetch: %s', async (_what, code) => {
    const dispatcher = await start()
    const init = { method: 'POST', body: elsewhere(code) as never, duplex: 'half', dispatcher } as const
    expect(await (await fetch(dispatcher.origin, init)).text()).toBe('text')
  })

  it('is a URLSearchParams, as jsdom makes them', async () => {
    class URLSearchParams {
      readonly [Symbol.toStringTag] = 'URLSearchParams'
      toString(): string {
        return 'a=b'
      }
    }
    expect(await send(await start(), { body: new URLSearchParams() })).toBe('a=b')
  })

  it.each([
    ['an object', "({ 'x-own': 'a' })"],
    ['a flat list', "['x-own', 'a']"],
    ['pairs', "[['x-own', 'a']]"],
    ['a Map', "new Map([['x-own', 'a']])"],
  ])('is headers: %s', async (_what, code) => {
    const client = await start()
    const { headers, body } = await client.request({ ...GET, headers: elsewhere(code) as never })
    expect(headers['x-seen']).toBe('a')
    await body.dump()
  })

  it('is an Error that a signal is aborted with, untouched', async () => {
    const client = await start()
    const reason = elsewhere("new TypeError('mine')")
    const call = client.request({ ...GET, path: '/hang', signal: AbortSignal.abort(reason) })
    await expect(call).rejects.toBe(reason)
    const aborter = new AbortController()
    const later = client.request({ ...GET, path: '/hang', signal: aborter.signal })
    aborter.abort(reason)
    await expect(later).rejects.toBe(reason)
  })

  it("is an Error of the caller's own function, untouched", async () => {
    const thrown = elsewhere("new RangeError('mine')")
    const throws = (): never => {
      throw thrown
    }
    const client = await start()
    await expect(client.request({ ...GET, method: 'POST', body: throws })).rejects.toBe(thrown)
    await expect(client.stream(GET, throws)).rejects.toBe(thrown)
  })

  it('is recognized as a promise where no promise is permitted', async () => {
    const client = await start()
    const trailers = elsewhere('async () => ({})') as never
    const call = client.request({ ...GET, method: 'POST', body: 'text', trailers })
    await expect(call).rejects.toBeInstanceOf(errors.InvalidReturnValueError)
  })

  it('is an origin: a URL', async () => {
    const { origin } = await start()
    const url: object = { href: `${origin}/`, [Symbol.toStringTag]: 'URL' }
    expect(new Client(url as URL).origin).toBe(origin)
  })
})

describe('a connector reports', () => {
  it.each([
    ['a promise of another realm', 'async () => dial()'],
    ['a thenable', '() => ({ then(resolve) { resolve(dial()) } })'],
    [
      'its callback, behind a promise of undefined',
      'async (_, callback) => void setImmediate(() => callback(null, dial()))',
    ],
    ['its callback, before a promise of undefined', 'async (_, callback) => callback(null, dial())'],
  ])('by %s', async (_what, code) => {
    const client = await start((dial) => elsewhere(code, { dial, setImmediate }))
    expect(await send(client, { body: 'text' })).toBe('text')
  })

  it.each([
    ['a promise of another realm', "async () => { throw new Error('mine') }"],
    ['a thenable', "() => ({ then(_, reject) { reject(new Error('mine')) } })"],
    ['a thenable that throws', "() => ({ then() { throw new Error('mine') } })"],
    [
      'its callback, behind a promise of undefined',
      "async (_, callback) => void setImmediate(() => callback(new Error('mine')))",
    ],
    ['what it throws', "() => { throw new Error('mine') }"],
  ])('with an error by %s', async (_what, code) => {
    const client = await start(() => elsewhere(code, { setImmediate }))
    const failure: unknown = await send(client, { body: 'text' }).catch((error: unknown) => error)
    expect(failure).toBeInstanceOf(errors.ConnectError)
    expect(failure).toMatchObject({ cause: { message: 'mine' } })
  })

  it('by its callback, long after its promise has been fulfilled with undefined', async () => {
    // As the connector of undici's ProxyAgent does.
    const client = await start((dial) => async (_options: unknown, callback: ConnectorCallback) => {
      setImmediate(() => callback(null, dial() as Socket))
    })
    expect(await send(client, { body: 'text' })).toBe('text')
  })

  it('by neither: then it fails after connectTimeout', async () => {
    const { origin } = await start()
    const client = destroyWithTest(
      new Client(origin, {
        connect: (async () => {}) as unknown as Connector,
        connectTimeout: 20,
      }),
    )
    await expect(client.request(GET)).rejects.toBeInstanceOf(errors.ConnectTimeoutError)
  })
})
