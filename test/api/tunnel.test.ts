import { once } from 'node:events'
import type { ServerHttp2Stream } from 'node:http2'
import type { Duplex } from 'node:stream'
import { describe, expect, it } from 'vitest'
import { Client, errors } from '../../src/index.ts'
import { destroyWithTest } from '../support/clients/agents.ts'
import type { StreamListener } from '../support/servers/server.ts'
import { read, startServer } from '../support/servers/server.ts'

/** Bytes. */
const STREAM_WINDOW = 4_194_304

const TARGET = { path: 'example.test:443' } as const
const GET = { path: '/hello', method: 'GET' } as const

/** Responds to `/hello`; the listener gets requests for a tunnel. */
async function start(listener: StreamListener, options: { tls?: boolean } = {}) {
  const server = await startServer(
    (stream, headers) => {
      if (headers[':path'] !== '/hello') return listener(stream, headers)
      stream.respond({ ':status': 200 })
      stream.end('hello')
    },
    { settings: { enableConnectProtocol: true }, ...options },
  )
  const client = destroyWithTest(
    new Client(server.origin, { connect: { ca: server.ca }, initialWindowSize: STREAM_WINDOW }),
  )
  return { server, client }
}

/** A tunnel, and the server's end of it. */
async function open(name: 'connect' | 'upgrade' = 'connect') {
  let far: ServerHttp2Stream | null = null
  const { server, client } = await start((stream) => {
    far = stream
    stream.respond({ ':status': 200 })
  })
  const { socket } = name === 'connect' ? await client.connect(TARGET) : await client.upgrade({ path: '/' })
  if (far === null) throw new Error('There is no tunnel')
  return { server, client, near: socket, far: far as ServerHttp2Stream }
}

async function expectHello(client: Client): Promise<void> {
  expect(await (await client.request(GET)).body.text()).toBe('hello')
}

const accept: StreamListener = (stream) => {
  stream.respond({ ':status': 200 })
  stream.pipe(stream)
}

describe.each([
  { name: 'connect()', kind: 'connect' },
  { name: 'upgrade()', kind: 'upgrade' },
] as const)('the tunnel of $name', ({ kind }) => {
  it.each([{ tls: false }, { tls: true }])('carries bytes both ways (TLS: $tls)', async ({ tls }) => {
    const { client } = await start(accept, { tls })
    const { socket } = kind === 'connect' ? await client.connect(TARGET) : await client.upgrade({ path: '/' })
    for (const word of ['ping', 'pong']) {
      socket.write(word)
      expect((await once(socket, 'data')).toString()).toBe(word)
    }
    const block = Buffer.alloc(1024 * 1024, 'block')
    socket.end(block)
    expect(Buffer.concat(await socket.toArray()).equals(block)).toBe(true)
    await expectHello(client)
  })

  it('may be ended by the client first, while the peer goes on', async () => {
    const { near, far } = await open(kind)
    near.end('last word')
    expect(await read(far)).toBe('last word')
    expect(near.destroyed).toBe(false)
    far.write('still ')
    far.end('here')
    expect(await read(near)).toBe('still here')
    if (!near.closed) await once(near, 'close')
    expect(near.errored).toBeNull()
  })

  it('may be ended by the peer first, while the client goes on', async () => {
    const { near, far } = await open(kind)
    const heard = read(far)
    far.end('done')
    // Not by iteration: that would destroy it at its end.
    near.on('data', () => {})
    await once(near, 'end')
    expect([near.destroyed, near.writable]).toEqual([false, true])
    near.write('not ')
    near.end('me')
    expect(await heard).toBe('not me')
    if (!near.closed) await once(near, 'close')
    expect(near.errored).toBeNull()
  })

  it('gives the bytes that came before the peer ended, however late they are read', async () => {
    const { client, near, far } = await open(kind)
    near.end()
    far.end('early')
    await once(far, 'close')
    await expectHello(client)
    expect(await read(near)).toBe('early')
  })

  it('fails when the peer resets it, and leaves no write waiting', async () => {
    const { client, near, far } = await open(kind)
    const written = new Promise((resolve) => near.write(Buffer.alloc(4 * 1024 * 1024), resolve))
    const failed = once(near, 'error')
    far.destroy(new Error('broken'))
    const [error] = await failed
    expect(error).toMatchObject({ code: 'DODICI_ERR_STREAM', http2ErrorCode: 2 })
    await written
    expect(near.destroyed).toBe(true)
    await expectHello(client)
  })

  it('fails when the peer resets it with CANCEL, for which node emits only close', async () => {
    const { near, far } = await open(kind)
    const failed = once(near, 'error')
    far.close(8)
    far.destroy()
    expect((await failed)[0]).toBeInstanceOf(errors.DodiciError)
  })

  it('fails a write whose bytes were not sent when the peer resets it', async () => {
    const { near, far } = await open()
    const failed = once(near, 'error')
    const written = new Promise<Error | null | undefined>((resolve) =>
      near.write(Buffer.alloc(4_194_304), resolve),
    )
    far.close(2)
    expect(await written).toMatchObject({ http2ErrorCode: 2, processed: 'yes', attempts: 1, streamId: 1 })
    await failed
  })

  it('takes no more writes once the peer has closed the stream and all bytes were read', async () => {
    const { near, far } = await open()
    const gone = once(far, 'close')
    far.end()
    far.close(0)
    await gone
    near.resume()
    await once(near, 'close')
    const error = await new Promise((resolve) => near.write('late', resolve))
    expect(error).toMatchObject({ code: 'ERR_STREAM_DESTROYED' })
  })

  it('fails with the error that its client is destroyed with', async () => {
    const { client, near } = await open(kind)
    const failed = once(near, 'error')
    const reason = new Error('enough')
    await client.destroy(reason)
    expect((await failed)[0]).toBe(reason)
  })

  it('outlives close(), which waits for it', async () => {
    const { client, near, far } = await open(kind)
    let isClosed = false
    const closing = client.close().then(() => {
      isClosed = true
    })
    near.write('still')
    expect((await once(far, 'data')).toString()).toBe('still')
    expect(isClosed).toBe(false)
    near.end()
    far.end()
    near.resume()
    await closing
  })

  it('resets the stream with CANCEL when it is destroyed, and disturbs no sibling', async () => {
    const { client, near, far } = await open(kind)
    const closed = once(far, 'close')
    near.destroy()
    await closed
    expect(far.rstCode).toBe(8)
    await expectHello(client)
  })

  it('holds the peer back while it is not read', async () => {
    const { client, near, far } = await open(kind)
    let written = 0
    const write = (): void => {
      written += 65_536
      far.write(Buffer.alloc(65_536))
      far.once('drain', write)
    }
    write()
    for (let i = 0; i < 50; i++) await expectHello(client)
    // The stream's window, and what the server's own stream holds.
    expect(written).toBeLessThan(STREAM_WINDOW + 2_097_152)
    near.destroy()
  })

  it('holds the client back while the peer does not read', async () => {
    const { client, near } = await open(kind)
    let written = 0
    const write = (): void => {
      do written += 16_384
      while (near.write(Buffer.alloc(16_384)))
      near.once('drain', write)
    }
    write()
    for (let i = 0; i < 50; i++) await expectHello(client)
    expect(near.writableNeedDrain).toBe(true)
    expect(written).toBeLessThan(1024 * 1024)
    near.destroy()
  })

  it.each([
    403, 407, 302, 503,
  ])('that is refused with %i fails with that status, and closes the stream', async (statusCode) => {
    const closed: Promise<unknown>[] = []
    const { client, server } = await start((stream) => {
      closed.push(once(stream, 'close'))
      stream.respond({ ':status': statusCode, 'proxy-authenticate': 'Basic' })
      stream.write('why')
    })
    const refused = kind === 'connect' ? client.connect(TARGET) : client.upgrade({ path: '/' })
    await expect(refused).rejects.toBeInstanceOf(errors.TunnelRefusedError)
    await expect(refused).rejects.toBeInstanceOf(errors.SocketError)
    await expect(refused).rejects.toMatchObject({ statusCode, processed: 'yes' })
    await Promise.all(closed)
    await expectHello(client)
    expect(server.sessions).toHaveLength(1)
  })

  it('is not affected by its signal once it is established', async () => {
    const { client } = await start(accept)
    const controller = new AbortController()
    const { signal } = controller
    const options = { ...TARGET, signal }
    const { socket } =
      kind === 'connect' ? await client.connect(options) : await client.upgrade({ path: '/', signal })
    controller.abort()
    socket.write('ping')
    expect((await once(socket, 'data')).toString()).toBe('ping')
    socket.destroy()
  })

  it('is destroyed when the callback that gets it throws, and the exception is uncaught', async () => {
    const closed: Promise<unknown>[] = []
    const { client } = await start((stream) => {
      closed.push(once(stream, 'close'))
      stream.respond({ ':status': 200 })
    })
    const listeners = process.listeners('uncaughtException')
    process.removeAllListeners('uncaughtException')
    const uncaught = new Promise<unknown>((resolve) => process.once('uncaughtException', resolve))
    const error = new Error('mine')
    const take = (_error: unknown, data: { socket: Duplex }): void => {
      data.socket.on('error', () => {})
      throw error
    }
    if (kind === 'connect') client.connect(TARGET, take)
    else client.upgrade({ path: '/' }, take)
    expect(await uncaught).toBe(error)
    for (const listener of listeners) process.on('uncaughtException', listener)
    await Promise.all(closed)
    await expectHello(client)
  })
})
