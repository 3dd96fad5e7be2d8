import { createHash } from 'node:crypto'
import { once } from 'node:events'
import type { Duplex } from 'node:stream'
import { Readable } from 'node:stream'
import { describe, expect, it } from 'vitest'
import { Agent, errors } from '../../src/index.ts'
import type { ClientOptions, DispatchOptions, LegacyDispatchHandler } from '../../types/index.ts'
import { destroyWithTest, startClient } from '../support/clients/agents.ts'
import type { LegacyActs } from '../support/clients/fallback-legacy.ts'
import { LegacyRecorder } from '../support/clients/fallback-legacy.ts'
import { Recorder } from '../support/clients/recorder.ts'
import { startHttp1 } from '../support/servers/fallback-http1.ts'
import type { StreamListener } from '../support/servers/server.ts'

const GET = { path: '/', method: 'GET' } as const
const MINE = new Error('mine')

const serveText: StreamListener = (stream) => {
  stream.respond({ ':status': 200 })
  stream.end('text')
}

async function start(listener: StreamListener = serveText, options: ClientOptions = {}) {
  const { server, client } = await startClient(listener, options, {
    settings: { enableConnectProtocol: true },
  })
  const run = async (
    acts: LegacyActs = {},
    given: Partial<DispatchOptions> = {},
  ): Promise<LegacyRecorder> => {
    const handler = new LegacyRecorder(acts)
    client.dispatch({ ...GET, ...given }, handler)
    await handler.settled
    return handler
  }
  return { server, client, run }
}

/** A turn of the event loop: anything that is pending would come in it. */
const turn = (): Promise<void> => new Promise((resolve) => setImmediate(resolve))

describe('a handler of the older shape that returns false', () => {
  const BLOCK = 65_536
  const serveLarge: StreamListener = (stream) => {
    stream.respond({ ':status': 200 })
    stream.end(Buffer.alloc(16 * BLOCK, 'x'))
  }

  it('in onHeaders gets nothing more until it resumes', async () => {
    const { client } = await start(serveLarge)
    let onPaused = (): void => {}
    const paused = new Promise<void>((resolve) => {
      onPaused = resolve
    })
    const handler = new LegacyRecorder({
      onHeaders: () => {
        onPaused()
        return false
      },
    })
    client.dispatch(GET, handler)
    await paused
    // Another request goes there and back meanwhile.
    await (await client.request({ ...GET, method: 'HEAD' })).body.dump()
    for (let i = 0; i < 20; i++) await turn()
    expect(handler.names.at(-1)).toBe('onHeaders')
    handler.resume()
    await handler.settled
    expect(Buffer.concat(handler.chunks)).toHaveLength(16 * BLOCK)
  })

  it('in onData gets nothing more until it resumes, each time', async () => {
    const { run } = await start(serveLarge)
    let isPaused = false
    const wrong: string[] = []
    const { chunks } = await run({
      onData: ({ resume }) => {
        if (isPaused) wrong.push('a piece came while it was paused')
        isPaused = true
        setImmediate(() => {
          isPaused = false
          resume()
        })
        return false
      },
    })
    expect(wrong).toEqual([])
    expect(Buffer.concat(chunks)).toHaveLength(16 * BLOCK)
  })

  it('may resume as a Readable reads, as fetch does', async () => {
    const { client } = await start(serveLarge)
    const handler = new LegacyRecorder({
      onHeaders: ({ resume }) => {
        readable = new Readable({ read: () => resume(), highWaterMark: 1_024 })
        return true
      },
      onData: ({ chunks }) => readable.push(chunks.at(-1)),
    })
    let readable = new Readable()
    client.dispatch(GET, handler)
    void handler.settled.then(() => readable.push(null))
    await expect.poll(() => handler.names.includes('onData')).toBe(true)
    let length = 0
    for await (const chunk of readable) length += chunk.length
    expect(length).toBe(16 * BLOCK)
  })

  it('may resume after the end, without effect', async () => {
    const { run } = await start()
    const handler = await run()
    handler.resume()
    handler.abort(MINE)
    await turn()
    expect(handler.names).toEqual([
      'onConnect',
      'onRequestSent',
      'onResponseStarted',
      'onHeaders',
      'onData',
      'onComplete',
    ])
  })
})

describe('a handler of the older shape', () => {
  it.each([
    'onConnect',
    'onHeaders',
    'onData',
  ] as const)('that throws in %s fails its own call only', async (where) => {
    const { server, run } = await start()
    const throwing = run({
      [where]: () => {
        throw MINE
      },
    })
    const [failed, fine] = await Promise.all([throwing, run()])
    expect([failed.error, failed.names.filter((name) => name === 'onError')]).toEqual([MINE, ['onError']])
    expect(fine.names.at(-1)).toBe('onComplete')
    expect((await run()).names.at(-1)).toBe('onComplete')
    expect(server.sessions).toHaveLength(1)
  })

  it.each([
    'onResponseStarted',
    'onBodySent',
    'onRequestSent',
    'onComplete',
  ] as const)('that throws in %s gets its own error', async (where) => {
    const { server, client, run } = await start()
    const handler = new LegacyRecorder()
    const throwing: LegacyDispatchHandler = Object.assign(handler, {
      [where]: () => {
        throw MINE
      },
    })
    client.dispatch({ path: '/', method: 'POST', body: 'text' }, throwing)
    await handler.settled
    expect(handler.error).toBe(MINE)
    expect((await run()).names.at(-1)).toBe('onComplete')
    expect(server.sessions).toHaveLength(1)
  })

  it.each([
    MINE,
    undefined,
    'a text',
    null,
    Object.freeze({ frozen: true }),
  ])('aborts with %o', async (reason) => {
    const { run } = await start()
    const handler = await run({ onHeaders: ({ abort }) => void abort(reason as unknown as Error) })
    const hasReason = reason !== undefined && reason !== null
    if (hasReason) expect(handler.error).toBe(reason)
    else expect(handler.error).toBeInstanceOf(errors.RequestAbortedError)
    expect(handler.names.filter((name) => name === 'onError')).toHaveLength(1)
    expect(handler.names).not.toContain('onComplete')
  })

  it('aborts before there is a connection', async () => {
    const { client } = await start()
    const handler = new LegacyRecorder()
    client.dispatch(GET, handler)
    handler.abort(MINE)
    expect(handler.events).toEqual(['onConnect', ['onError', 'Error', undefined]])
    handler.abort(new Error('again'))
    expect(handler.events).toHaveLength(2)
  })

  it.each([
    'onConnect',
    'onHeaders',
    'onData',
    'onComplete',
    'onError',
  ])('without %s is refused with an error that names it', async (name) => {
    const { client } = await start()
    const told: Error[] = []
    const onError = (error: Error): void => void told.push(error)
    const handler = Object.assign(new LegacyRecorder(), { onError, [name]: undefined })
    const send = (): boolean => client.dispatch(GET, handler)
    if (name === 'onError') expect(send).toThrow(`handler.${name}`)
    else expect(send()).toBe(false)
    for (const error of told) expect(error).toBeInstanceOf(errors.InvalidArgumentError)
    expect(told.map(({ message }) => message.includes(`handler.${name}`))).toEqual(
      name === 'onError' ? [] : [true],
    )
  })

  it('that has both shapes is treated as one of the newer shape', async () => {
    const { client } = await start()
    const newer = new Recorder()
    const older = new LegacyRecorder()
    const names = ['onConnect', 'onHeaders', 'onData', 'onComplete', 'onError'] as const
    const methods = names.map((name) => [name, older[name].bind(older)])
    client.dispatch(GET, Object.assign(newer, Object.fromEntries(methods)))
    await newer.settled
    expect(newer.events).toEqual(['start', 'response 200', 'data', 'end'])
    expect(older.events).toEqual([])
  })

  it.each(['close', 'destroy'] as const)('gets only onError after %s()', async (end) => {
    const { client } = await start()
    await client[end]()
    const handler = new LegacyRecorder()
    expect(client.dispatch(GET, handler)).toBe(false)
    expect(handler.events).toEqual([['onError', 'ClientDestroyedError', 'UND_ERR_DESTROYED']])
  })

  it('gets only onError for invalid options', async () => {
    const { client } = await start()
    const handler = new LegacyRecorder()
    client.dispatch({ ...GET, path: 'no slash' }, handler)
    expect(handler.events).toEqual([['onError', 'InvalidArgumentError', 'UND_ERR_INVALID_ARG']])
  })
})

describe('a tunnel for a handler of the older shape', () => {
  const KEY = 'dGhlIHNhbXBsZSBub25jZQ=='
  const serveTunnel: StreamListener = (stream) => {
    stream.respond({ ':status': 200, 'x-tunnel': 'yes' })
    stream.pipe(stream)
  }

  it('by CONNECT has its status and fields as they came', async () => {
    const { run } = await start(serveTunnel)
    const { events, socket } = await run({}, { method: 'CONNECT', path: 'example.com:443' })
    expect(events.at(-1)).toEqual(['onUpgrade', 200, ['x-tunnel: yes']])
    socket?.write('ping')
    if (socket !== null) expect(String((await once(socket, 'data'))[0])).toBe('ping')
    socket?.destroy()
  })

  it('by extended CONNECT looks like an upgrade of HTTP/1.1', async () => {
    const { run } = await start(serveTunnel)
    const headers = { 'sec-websocket-key': KEY }
    const { socket, ...handler } = await run({}, { upgrade: 'websocket', headers })
    const [name, status, fields] = handler.events.at(-1) as [string, number, string[]]
    // RFC 6455 §1.3 has this very key.
    const accept = 'sec-websocket-accept: s3pPLMBiTxaQ9kYGzzhZRbK+xOo='
    expect([name, status]).toEqual(['onUpgrade', 101])
    expect(fields).toEqual(['upgrade: websocket', 'x-tunnel: yes', accept])
    expect(createHash('sha1').update(`${KEY}258EAFA5-E914-47DA-95CA-C5AB0DC85B11`).digest('base64')).toBe(
      accept.slice('sec-websocket-accept: '.length),
    )
    socket?.destroy()
  })

  it("by extended CONNECT has the key's own `sec-websocket-accept`, whatever a proxy has passed on", async () => {
    const { run } = await start((stream) => {
      stream.respond({ ':status': 200, 'sec-websocket-accept': 'of another key', 'x-tunnel': 'yes' })
      stream.end()
    })
    const headers = { 'sec-websocket-key': KEY }
    const { socket, ...handler } = await run({}, { upgrade: 'websocket', headers })
    const fields = [
      'upgrade: websocket',
      'x-tunnel: yes',
      'sec-websocket-accept: s3pPLMBiTxaQ9kYGzzhZRbK+xOo=',
    ]
    expect(handler.events.at(-1)).toEqual(['onUpgrade', 101, fields])
    socket?.destroy()
  })

  it('of a WebSocket that has refused the handshake, and listens to nothing, ends without an uncaught error', async () => {
    const { client } = await start(serveTunnel)
    const socket = await new Promise<Duplex>((resolve, reject) => {
      const options = { ...GET, upgrade: 'websocket', headers: { 'sec-websocket-key': KEY } }
      client.dispatch(options, {
        onRequestStart: () => {},
        onResponseStart: () => {},
        onResponseData: () => {},
        onResponseEnd: () => {},
        onRequestUpgrade: (_controller, _status, _headers, tunnel) => resolve(tunnel),
        onResponseError: (_controller, error) => reject(error),
      })
    })
    const closed = new Promise((resolve) => socket.on('close', resolve))
    await client.destroy()
    await closed
    expect(socket.errored).toMatchObject({ code: 'UND_ERR_DESTROYED' })
  })

  it('that is refused is a response', async () => {
    const { run } = await start((stream) => {
      stream.respond({ ':status': 403 })
      stream.end('no')
    })
    const { events } = await run({}, { upgrade: 'websocket' })
    expect(events.slice(-3)).toEqual([['onHeaders', 403, [], 'string'], 'onData', ['onComplete', [], 'no']])
  })

  it('over HTTP/1.1 has the fields of the server, and no others', async () => {
    const server = await startHttp1(() => {}, { tls: false })
    server.server.on('upgrade', (_request, socket) => {
      socket.on('error', () => {})
      socket.write('HTTP/1.1 101 Yes\r\nConnection: Upgrade\r\nUpgrade: websocket\r\nX-Tunnel: yes\r\n\r\n')
    })
    const agent = destroyWithTest(new Agent())
    const handler = new LegacyRecorder()
    agent.dispatch({ ...GET, origin: server.origin, upgrade: 'websocket' }, handler)
    await handler.settled
    expect(handler.events.at(-1)).toEqual(['onUpgrade', 101, ['upgrade: websocket', 'x-tunnel: yes']])
    handler.socket?.destroy()
  })

  it('needs an onUpgrade', async () => {
    const { client } = await start(serveTunnel)
    const heard = new LegacyRecorder()
    const handler: LegacyDispatchHandler = heard
    Object.assign(handler, { onUpgrade: undefined })
    client.dispatch({ ...GET, upgrade: 'websocket' }, handler)
    expect(heard.error).toBeInstanceOf(errors.InvalidArgumentError)
    expect(String(heard.error)).toContain('handler.onUpgrade')
  })
})
