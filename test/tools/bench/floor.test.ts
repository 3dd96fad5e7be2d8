import { once } from 'node:events'
import type { ServerHttp2Stream, Settings } from 'node:http2'
import { createServer } from 'node:http2'
import type { AddressInfo } from 'node:net'
import { describe, expect, it, onTestFinished } from 'vitest'
import { loadModule } from '../../support/clients/plain-module.ts'

type Done = (error: Error | null, status: number, bytes: number) => void

interface Adapter {
  open(
    origins: readonly string[],
    options: object,
  ): Promise<{ apis: { frames(target: object, done: Done): void }; close(): Promise<void> }>
}

const { toFloor } = await loadModule<{ toFloor(name: string): Adapter }>('bench/e2e/clients/floor.mjs')

function respondShortly(stream: ServerHttp2Stream): void {
  stream.respond()
  stream.end('abc')
}

/** Keeps the fields of each request. */
async function startServer(settings: Settings, respond: (stream: ServerHttp2Stream, count: number) => void) {
  const server = createServer({ settings })
  const requests: object[] = []
  server.on('stream', (stream: ServerHttp2Stream, headers) => {
    requests.push(Object.fromEntries(Object.entries(headers)))
    respond(stream, requests.length)
  })
  await once(server.listen(0, '127.0.0.1'), 'listening')
  onTestFinished(() => void server.close())
  return { requests, origin: `http://127.0.0.1:${(server.address() as AddressInfo).port}` }
}

/** Sends one request after the other, and returns status and size of the responses. */
async function ask(name: string, origin: string, targets: readonly object[]): Promise<unknown[]> {
  const { apis, close } = await toFloor(name).open([origin], { connections: 1 })
  onTestFinished(close)
  const responses: unknown[] = []
  for (const target of targets) {
    responses.push(
      await new Promise((resolve, reject) => {
        apis.frames({ path: '/', method: 'GET', body: null, ...target }, (error, status, bytes) =>
          error === null ? resolve([status, bytes]) : reject(error),
        )
      }),
    )
  }
  return responses
}

const POST = { method: 'POST', body: Buffer.alloc(10) }

describe.each(['floor', 'floor-hpack'])('%s', (name) => {
  it('sends method, scheme, authority, path and fields of each request', async () => {
    const { requests, origin } = await startServer({}, respondShortly)
    const targets = [{ path: '/1' }, { path: '/2?a' }, { path: '/1', ...POST }]
    expect(await ask(name, origin, targets)).toEqual([
      [200, 3],
      [200, 3],
      [200, 3],
    ])
    const common = {
      ':scheme': 'http',
      ':authority': new URL(origin).host,
      accept: '*/*',
      'user-agent': 'bench',
    }
    expect(requests).toEqual([
      { ...common, ':method': 'GET', ':path': '/1' },
      { ...common, ':method': 'GET', ':path': '/2?a' },
      { ...common, ':method': 'POST', ':path': '/1', 'content-length': '10' },
    ])
  })
})

describe('the floor with HPACK', () => {
  it.each([0, 128, 4096])('obeys a dynamic table of %i bytes', async (headerTableSize) => {
    const { requests, origin } = await startServer({ headerTableSize }, respondShortly)
    const targets = Array.from({ length: 20 }, (_, index) => ({ path: `/${index}` }))
    expect(await ask('floor-hpack', origin, targets)).toEqual(targets.map(() => [200, 3]))
    expect(requests.map((request) => Reflect.get(request, ':path'))).toEqual(targets.map(({ path }) => path))
  })

  it('decodes each response: its status, whatever it is, interim responses and trailers', async () => {
    const { origin } = await startServer({}, (stream, count) => {
      stream.additionalHeaders({ ':status': 103, link: '</a>' })
      // A new entry of the dynamic table each time, and a Huffman string.
      stream.respond(
        { ':status': 400 + (count % 100), 'x-count': `count ${count}` },
        { waitForTrailers: true },
      )
      stream.on('wantTrailers', () => stream.sendTrailers({ 'x-checksum': `${count}` }))
      stream.end('a'.repeat(count))
    })
    const targets = Array.from({ length: 200 }, () => ({}))
    expect(await ask('floor-hpack', origin, targets)).toEqual(
      targets.map((_, index) => [400 + ((index + 1) % 100), index + 1]),
    )
  })
})
