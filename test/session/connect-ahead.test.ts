/** Connecting before the first request, and what a call's controller tells of its connection and of its response's end. */

import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { describe, expect, it, onTestFinished } from 'vitest'
import { Agent, Client, errors, Pool } from '../../src/index.ts'
import type { ClientOptions } from '../../types/index.ts'
import { ENGINES } from '../support/clients/engines.ts'
import { Recorder } from '../support/clients/recorder.ts'
import { startPeer } from '../support/peers/peer-rig.ts'
import { startHttp1 } from '../support/servers/fallback-http1.ts'
import { startServer } from '../support/servers/server.ts'

function toClient(origin: string, options: ClientOptions): Client {
  const client = new Client(origin, options)
  onTestFinished(() => client.destroy())
  return client
}

const SILENT = { settings: null, acksPings: false } as const

describe.each(ENGINES)('connectAhead() on engine %s', (engine) => {
  it('settles when SETTINGS have come, and the first request takes that connection', async () => {
    const { origin, sessions } = await startServer((stream) => stream.end('hello'))
    const client = toClient(origin, { engine })
    expect(await client.connectAhead()).toBe('h2c')
    expect(client.stats.sessions).toMatchObject([{ state: 'ready', requests: 0, openedFor: 'cold' }])
    expect(client.stats.sessions[0]?.peerLimit).not.toBeNull()
    await (await client.request({ path: '/', method: 'GET' })).body.text()
    expect(sessions).toHaveLength(1)
  })

  it('dials once for several callers, and not again for a connection that is there', async () => {
    const { origin, sessions } = await startServer((stream) => stream.end('hello'))
    const pool = new Pool(origin, { engine, connections: 4 })
    onTestFinished(() => pool.destroy())
    expect(await Promise.all([pool.connectAhead(), pool.connectAhead()])).toEqual(['h2c', 'h2c'])
    expect(await pool.connectAhead()).toBe('h2c')
    expect(sessions).toHaveLength(1)
  })

  it('settles beside a request that was dispatched first', async () => {
    const { origin, sessions } = await startServer((stream) => stream.end('hello'))
    const client = toClient(origin, { engine })
    const response = client.request({ path: '/', method: 'GET' })
    expect(await client.connectAhead()).toBe('h2c')
    await (await response).body.text()
    expect(sessions).toHaveLength(1)
  })

  it('is a method of an Agent, with an origin, and of what compose() returns', async () => {
    const { origin, ca, sessions } = await startServer((stream) => stream.end('hello'), { tls: true })
    const agent = new Agent({ engine, connect: { ca } })
    onTestFinished(() => agent.destroy())
    expect(await agent.compose((dispatch) => dispatch).connectAhead(origin)).toBe('h2')
    expect(sessions).toHaveLength(1)
  })

  it('rejects with the error of the connection, and tries anew when it is asked anew', async () => {
    const { origin } = await startServer((stream) => stream.end('hello'))
    let isKnown = false
    const client = toClient(`http://server.invalid:${new URL(origin).port}`, {
      engine,
      connect: {
        lookup: (_name, _options, done) =>
          isKnown ? done(null, [{ address: '127.0.0.1', family: 4 }]) : done(new Error('no such name'), []),
      },
    })
    await expect(client.connectAhead()).rejects.toThrow('no such name')
    isKnown = true
    expect(await client.connectAhead()).toBe('h2c')
  })

  it('rejects when SETTINGS don’t come within connectTimeout', async () => {
    const peer = await startPeer([SILENT, SILENT, SILENT, SILENT])
    const client = toClient(peer.origin, { engine, connectTimeout: 200, fallback: null })
    await expect(client.connectAhead()).rejects.toBeInstanceOf(errors.ConnectTimeoutError)
  })

  it('rejects when the server closes the connection before SETTINGS', async () => {
    const peer = await startPeer({ settings: null, onConnection: (connection) => connection.break() })
    const client = toClient(peer.origin, { engine, fallback: null })
    await expect(client.connectAhead()).rejects.toMatchObject({ processed: 'no' })
  })

  it('goes on to another connection when the first one is retired at once', async () => {
    let connections = 0
    const peer = await startPeer({
      onConnection: (connection) => {
        if (connections++ === 0) connection.goAway()
      },
    })
    const client = toClient(peer.origin, { engine, fallback: null })
    expect(await client.connectAhead()).toBe('h2c')
    expect(connections).toBeGreaterThanOrEqual(1)
  })

  it.each([
    ['close', errors.ClientClosedError],
    ['destroy', errors.ClientDestroyedError],
  ] as const)('rejects after %s(), and when that comes meanwhile', async (end, ErrorClass) => {
    const peer = await startPeer([SILENT])
    const client = toClient(peer.origin, { engine, connectTimeout: 0, fallback: null })
    const early = expect(client.connectAhead()).rejects.toBeInstanceOf(ErrorClass)
    const ended = client[end]()
    await early
    await expect(client.connectAhead()).rejects.toBeInstanceOf(errors.DodiciError)
    await ended
  })

  it('tells of an origin that speaks HTTP/1.1', async () => {
    const { origin, ca } = await startHttp1()
    const client = toClient(origin, { engine, connect: { ca } })
    expect(await client.connectAhead()).toBe('http/1.1')
    expect(await client.connectAhead()).toBe('http/1.1')
    const strict = toClient(origin, { engine, connect: { ca }, fallback: null })
    await expect(strict.connectAhead()).rejects.toThrow('ALPN')
  })
})

async function record(client: Client, method: 'GET' | 'HEAD' = 'GET'): Promise<Recorder> {
  const recorder = new Recorder()
  client.dispatch({ path: '/', method }, recorder)
  await recorder.settled
  return recorder
}

describe.each(ENGINES)('the controller of a call on engine %s', (engine) => {
  it('tells addresses, and null for TLS over h2c', async () => {
    const { origin, sessions } = await startServer((stream) => stream.end('hello'))
    const client = toClient(origin, { engine })
    const { controller } = await record(client)
    const { socket } = sessions[0] ?? {}
    expect(controller?.transport).toEqual({
      localAddress: socket?.remoteAddress,
      localPort: socket?.remotePort,
      remoteAddress: socket?.localAddress,
      remotePort: socket?.localPort,
      tls: null,
    })
    const before = controller?.transport
    await client.destroy()
    expect(controller?.transport).toEqual(before)
  })

  it('tells what TLS has agreed on', async () => {
    const { origin, ca } = await startServer((stream) => stream.end('hello'), { tls: true })
    const client = toClient(origin, { engine, connect: { ca } })
    const { controller } = await record(client)
    const tls = controller?.transport?.tls
    expect(tls).toMatchObject({
      protocol: 'TLSv1.3',
      cipher: expect.stringMatching(/^TLS_/),
      alpnProtocol: 'h2',
      authorized: true,
      isSessionReused: false,
    })
    expect(tls?.peerCertificate?.subject.CN).toBe('localhost')
    expect(tls?.peerCertificate).toBe(tls?.peerCertificate)
  })

  it('tells nothing before the first attempt, and of HTTP/1.1', async () => {
    const { origin, ca } = await startHttp1()
    const client = toClient(origin, { engine, connect: { ca } })
    const recorder = new Recorder()
    const seen: unknown[] = []
    const start = recorder.onRequestStart.bind(recorder)
    recorder.onRequestStart = (controller) => {
      seen.push(controller.transport, controller.isHeaderOnly)
      start(controller)
    }
    client.dispatch({ path: '/', method: 'GET' }, recorder)
    await recorder.settled
    expect(seen).toEqual([null, false])
    expect(recorder.controller?.transport).toBe(null)
    expect(recorder.controller?.isHeaderOnly).toBe(false)
  })

  it('has null for addresses over a Unix socket', async () => {
    const path = join(tmpdir(), `dodici-ahead-${process.pid}-${engine}`)
    const { origin } = await startServer((stream) => stream.end('hello'), { path })
    const client = toClient(origin, { engine, connect: { socketPath: path } })
    const { controller } = await record(client)
    expect(controller?.transport).toMatchObject({ remoteAddress: null, remotePort: null, tls: null })
  })

  it.each([
    ['a header section alone', { endStream: true }, true],
    ['a header section, and an empty DATA frame', { isEmpty: true }, false],
    ['a body', {}, false],
  ] as const)('knows whether the response was %s', async (_name, {
    endStream = false,
    isEmpty = false,
  }: { endStream?: boolean; isEmpty?: boolean }, expected) => {
    const { origin } = await startServer((stream) => {
      stream.additionalHeaders({ ':status': 103 })
      stream.respond({ ':status': 200, 'grpc-status': '5' }, { endStream })
      if (!endStream) stream.end(isEmpty ? '' : 'hello')
    })
    const recorder = new Recorder()
    const told: unknown[] = []
    const respond = recorder.onResponseStart.bind(recorder)
    recorder.onResponseStart = (controller, status, headers) => {
      told.push([status, controller.isHeaderOnly])
      respond(controller, status, headers)
    }
    toClient(origin, { engine }).dispatch({ path: '/', method: 'GET' }, recorder)
    await recorder.settled
    expect(told).toEqual([
      [103, false],
      [200, expected],
    ])
    expect(recorder.controller?.isHeaderOnly).toBe(expected)
  })
})
