import { AsyncLocalStorage } from 'node:async_hooks'
import { once } from 'node:events'
import { PassThrough } from 'node:stream'
import { describe, expect, it } from 'vitest'
import { Client, fetch } from '../../src/index.ts'
import type { RequestOptions } from '../../types/index.ts'
import { destroyWithTest } from '../support/clients/agents.ts'
import { startServer } from '../support/servers/server.ts'

const GET = { path: '/', method: 'GET' } as const

async function start(): Promise<Client> {
  const { origin } = await startServer(
    (stream, headers) => {
      stream.respond({ ':status': 200 })
      if (headers[':method'] === 'GET') stream.end('body')
    },
    { settings: { enableConnectProtocol: true } },
  )
  const client = destroyWithTest(new Client(origin))
  return client
}

describe('the async context of its caller', () => {
  const storage = new AsyncLocalStorage<string>()

  it.each([
    'request',
    'stream',
    'connect',
    'upgrade',
  ] as const)('is that of the callback of %s(), of responses and errors', async (name) => {
    const client = await start()
    // Both wait for the connection that the first of them opens: its context is not the other's.
    const begin = (mine: string, options: RequestOptions): Promise<string | undefined> =>
      storage.run(
        mine,
        () =>
          new Promise((resolve) => {
            const end = (_error: unknown, data: unknown): void => {
              const told = data as { body?: { dump(): void }; socket?: { destroy(): void } }
              told.body?.dump()
              told.socket?.destroy()
              resolve(storage.getStore())
            }
            if (name === 'request') client.request(options, end)
            else if (name === 'stream') client.stream(options, () => new PassThrough().resume(), end)
            else if (name === 'connect') client.connect({ ...options, path: 'a.test:1' }, end)
            else client.upgrade(options, end)
          }),
      )
    expect(await Promise.all([begin('a', GET), begin('b', GET)])).toEqual(['a', 'b'])
    expect(await begin('c', { ...GET, headersTimeout: -1 })).toBe('c')
    expect(await begin('d', { ...GET, signal: AbortSignal.abort() })).toBe('d')
  })

  it("is that of stream()'s factory and of pipeline()'s handler", async () => {
    const client = await start()
    const heard: unknown[] = []
    const streamed = storage.run('factory', () =>
      client.stream(GET, () => {
        heard.push(storage.getStore())
        return new PassThrough().resume()
      }),
    )
    const duplex = storage.run('handler', () =>
      client.pipeline(GET, ({ body }) => {
        heard.push(storage.getStore())
        return body
      }),
    )
    duplex.end().resume()
    await Promise.all([streamed, once(duplex, 'end')])
    expect(heard.sort()).toEqual(['factory', 'handler'])
  })

  it('is that of the code after fetch(), and of each piece of its body', async () => {
    const client = await start()
    const begin = (mine: string): Promise<unknown[]> =>
      storage.run(mine, async () => {
        const response = await fetch(client.origin, { dispatcher: client })
        const heard: unknown[] = [storage.getStore()]
        for await (const chunk of response.body ?? []) heard.push(String(chunk.length), storage.getStore())
        return heard
      })
    expect(await Promise.all([begin('a'), begin('b')])).toEqual([
      ['a', '4', 'a'],
      ['b', '4', 'b'],
    ])
  })

  it('is that of the handler of a raw dispatch()', async () => {
    const client = await start()
    const begin = (mine: string): Promise<unknown> =>
      storage.run(mine, () => {
        return new Promise((resolve, reject) => {
          client.dispatch(GET, {
            onRequestStart() {},
            onResponseStart() {},
            onResponseData() {},
            onResponseEnd: () => resolve(storage.getStore()),
            onResponseError: (_controller, error) => reject(error),
          })
        })
      })
    // Both wait for the connection that the first of them opens.
    expect(await Promise.all([begin('a'), begin('b')])).toEqual(['a', 'b'])
    expect(await Promise.all([begin('c'), begin('d')])).toEqual(['c', 'd'])
  })
})
