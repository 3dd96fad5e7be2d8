import { Blob } from 'node:buffer'
import { Readable } from 'node:stream'
import { ReadableStream } from 'node:stream/web'
import { describe, expect, it } from 'vitest'
import type { RequestBody } from '../../types/index.ts'
import { startClient } from '../support/clients/agents.ts'

async function start() {
  const { server, client } = await startClient((stream) => {
    stream.resume()
    stream.on('end', () => {
      if (stream.destroyed) return
      stream.respond({ ':status': 200 })
      stream.end('hello')
    })
  })
  return { server, client }
}

describe('a piece that is neither a string nor bytes', () => {
  it.each<[string, () => RequestBody]>([
    ['a Readable', () => Readable.from(['a', 5])],
    ['an array', () => ['a', 5] as unknown as string[]],
    [
      'a generator',
      () =>
        (function* () {
          yield 'a'
          yield 5 as unknown as string
        })(),
    ],
    [
      'an async generator',
      () =>
        (async function* () {
          yield 'a'
          yield 5 as unknown as string
        })(),
    ],
    ['a web stream', () => ReadableStream.from(['a', 5])],
    ['a factory', () => () => ['a', 5] as unknown as string[]],
  ])('of %s fails the call with an error that names it, and no other call', async (_what, toBody) => {
    const { client, server } = await start()
    const failed = client.request({ path: '/', method: 'POST', body: toBody() })
    // The class and the code of Node's streams, as in undici.
    await expect(failed).rejects.toBeInstanceOf(TypeError)
    await expect(failed).rejects.toMatchObject({
      code: 'ERR_INVALID_ARG_TYPE',
      message: expect.stringContaining('chunk of the request body: got 5'),
    })
    expect(await (await client.request({ path: '/', method: 'GET' })).body.text()).toBe('hello')
    expect(server.sessions).toHaveLength(1)
  })

  it('of a FormData is refused with an error that names it', async () => {
    const { client } = await start()
    const form = { entries: () => [['field', 5]], getAll: () => [] } as unknown as FormData
    const refused = client.request({ path: '/', method: 'POST', body: form })
    await expect(refused).rejects.toThrow('FormData entry "field"')
  })
})

describe('a body that breaks', () => {
  const error = new Error('no more')

  it.each<[string, () => RequestBody]>([
    [
      'a generator',
      () =>
        (function* () {
          yield 'a'
          throw error
        })(),
    ],
    [
      'an async generator',
      () =>
        (async function* () {
          yield 'a'
          throw error
        })(),
    ],
    [
      'an iterator without generator',
      () => ({
        [Symbol.iterator]: () => {
          throw error
        },
      }),
    ],
    [
      'a Readable',
      () =>
        new Readable({
          read() {
            this.destroy(error)
          },
        }),
    ],
    ['a web stream', () => new ReadableStream({ pull: (controller) => controller.error(error) })],
    [
      'a factory that throws',
      () => () => {
        throw error
      },
    ],
    [
      'a factory of what throws',
      () => () =>
        (function* () {
          yield 'a'
          throw error
        })(),
    ],
    [
      'a Blob',
      () =>
        Object.assign(new Blob(['a']), {
          stream: () => {
            throw error
          },
        }),
    ],
  ])('such as %s fails its call with its own error, and no other call', async (_what, toBody) => {
    const { client, server } = await start()
    await expect(client.request({ path: '/', method: 'POST', body: toBody() })).rejects.toBe(error)
    expect(await (await client.request({ path: '/', method: 'GET' })).body.text()).toBe('hello')
    expect(server.sessions).toHaveLength(1)
    expect(client.stats.running).toBe(0)
  })

  it.each([
    { what: 'read', spoil: async (body: Readable) => void (await body.toArray()) },
    { what: 'destroyed', spoil: async (body: Readable) => void body.destroy() },
  ])('or was $what before is refused', async ({ spoil }) => {
    const { client } = await start()
    const body = Readable.from(['a'])
    await spoil(body)
    await expect(client.request({ path: '/', method: 'POST', body })).rejects.toThrow('body')
  })

  it('or a web stream that is locked is refused', async () => {
    const { client } = await start()
    const body = ReadableStream.from(['a'])
    body.getReader()
    await expect(client.request({ path: '/', method: 'POST', body })).rejects.toThrow('body')
  })
})
