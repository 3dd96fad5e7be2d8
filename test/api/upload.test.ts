import type { ServerHttp2Stream } from 'node:http2'
import { connect, createServer } from 'node:net'
import { Readable } from 'node:stream'
import { ReadableStream } from 'node:stream/web'
import { describe, expect, it } from 'vitest'
import { Client } from '../../src/index.ts'
import { FrameParser, Type } from '../../src/testing/frames.ts'
import type { RequestBody } from '../../types/index.ts'
import { destroyWithTest } from '../support/clients/agents.ts'
import { listen } from '../support/servers/listen.ts'
import { read, startServer } from '../support/servers/server.ts'

/** A relay that counts the DATA frames with content which the client sends. */
async function startRelay(target: string) {
  const frames: number[] = []
  const relay = createServer((near) => {
    const far = connect(Number(new URL(target).port), '127.0.0.1')
    const parser = new FrameParser(({ type, payload: { length } }) => {
      if (type === Type.DATA && length > 0) frames.push(length)
    })
    near.on('data', (chunk: Buffer) => parser.push(chunk))
    near.on('error', () => far.destroy())
    far.on('error', () => near.destroy())
    near.pipe(far).pipe(near)
  })
  const { port } = await listen(relay)
  return { origin: `http://127.0.0.1:${port}`, frames }
}

function toClient(origin: string): Client {
  return destroyWithTest(new Client(origin))
}

/** A server that reads an upload only when the test says so, and responds to every other request. */
async function startDeaf() {
  const held: ServerHttp2Stream[] = []
  const server = await startServer((stream, headers) => {
    if (headers[':method'] === 'POST') {
      held.push(stream)
      return
    }
    stream.respond({ ':status': 200 })
    stream.end('hello')
  })
  const hear = (): void => {
    for (const stream of held) {
      let length = 0
      stream.on('data', (chunk: Buffer) => {
        length += chunk.length
      })
      stream.on('end', () => {
        stream.respond({ ':status': 200 })
        stream.end(String(length))
      })
    }
  }
  return { ...server, held, hear }
}

async function expectHello(client: Client): Promise<void> {
  expect(await (await client.request({ path: '/', method: 'GET' })).body.text()).toBe('hello')
}

describe('small pieces of a body', () => {
  const COUNT = 10_000
  const piece = Buffer.from('ten bytes.')

  function* generate(): Generator<Buffer> {
    for (let i = 0; i < COUNT; i++) yield piece
  }

  it.each<[string, () => RequestBody]>([
    ['a generator', generate],
    [
      'an async generator',
      async function* () {
        yield* generate()
      },
    ],
    ['a Readable', () => Readable.from(generate())],
    ['a web stream', () => ReadableStream.from(generate())],
  ])('of %s go out many in a frame', async (_what, toBody) => {
    const { origin } = await startServer(async (stream) => {
      const text = await read(stream)
      stream.respond({ ':status': 200 })
      stream.end(String(text.length))
    })
    const relay = await startRelay(origin)
    const { body } = await toClient(relay.origin).request({ path: '/', method: 'POST', body: toBody() })
    expect(await body.text()).toBe(String(COUNT * piece.length))
    expect(relay.frames.reduce((sum, length) => sum + length, 0)).toBe(COUNT * piece.length)
    expect(relay.frames.length).toBeLessThan(COUNT / 10)
  })

  it('go out at once when nothing follows them', async () => {
    const heard: string[] = []
    const { origin } = await startServer((stream) => {
      stream.on('data', (chunk: Buffer) => {
        heard.push(chunk.toString())
        stream.emit('heard')
      })
      stream.on('end', () => {
        stream.respond({ ':status': 200 })
        stream.end()
      })
    })
    const source = new Readable({ read() {} })
    const response = toClient(origin).request({ path: '/', method: 'POST', body: source })
    for (const word of ['one', 'two']) {
      source.push(word)
      await expect.poll(() => heard.at(-1)).toBe(word)
    }
    source.push(null)
    await (await response).body.dump()
    expect(heard).toEqual(['one', 'two'])
  })
})

describe('an upload that the peer does not take', () => {
  it.each([
    { what: 'without a window', settings: { initialWindowSize: 0 } },
    { what: 'whose window is used up', settings: {} },
  ])('($what) is read only as far as there is room, and goes on later', async ({ settings }) => {
    let far: ServerHttp2Stream | null = null
    const server = await startServer(
      (stream, headers) => {
        if (headers[':method'] === 'POST') {
          far = stream
          return
        }
        stream.respond({ ':status': 200 }, { endStream: true })
      },
      { settings },
    )
    const client = toClient(server.origin)
    const HEAD = { path: '/', method: 'HEAD' } as const
    // The peer's settings are known from now on.
    await client.request(HEAD)
    const size = 16_384
    const total = 256
    let pulled = 0
    const body = (function* () {
      for (; pulled < total; pulled++) yield Buffer.alloc(size)
    })()
    const call = client.request({ path: '/', method: 'POST', body })
    await expect.poll(() => far).not.toBeNull()
    for (let i = 0; i < 30; i++) await client.request(HEAD)
    // A window of 64 KiB, node's own buffer, and a piece or two that wait: far from all.
    expect(pulled * size).toBeLessThan(512 * 1024)
    const stream = far as unknown as ServerHttp2Stream
    let length = 0
    stream.on('data', (chunk: Buffer) => {
      length += chunk.length
    })
    stream.on('end', () => stream.respond({ ':status': 200 }, { endStream: true }))
    server.sessions[0]?.settings({ initialWindowSize: 65_535 })
    await (await call).body.dump()
    expect([pulled, length]).toEqual([total, total * size])
  })
})

describe('64 uploads of 1 MB that the server does not read', () => {
  const SIZE = 1024 * 1024

  it.each<[string, () => RequestBody]>([
    ['bytes', () => Buffer.alloc(SIZE)],
    ['Blobs', () => new Blob([new Uint8Array(SIZE)])],
    ['streams', () => () => Readable.from(Array(16).fill(Buffer.alloc(SIZE / 16)))],
  ])('of %s do not delay an unrelated request, and complete later', async (_what, toBody) => {
    const { origin, sessions, held, hear } = await startDeaf()
    const client = toClient(origin)
    const uploads = Array.from({ length: 64 }, () =>
      client.request({ path: '/', method: 'POST', body: toBody() }).then(({ body }) => body.text()),
    )
    await expect.poll(() => held.length).toBe(64)
    for (let i = 0; i < 20; i++) await expectHello(client)
    hear()
    expect(await Promise.all(uploads)).toEqual(Array(64).fill(String(SIZE)))
    expect(sessions).toHaveLength(1)
  })
})
