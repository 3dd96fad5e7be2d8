import { errorMonitor } from 'node:events'
import type { ClientHttp2Stream } from 'node:http2'
import { connect } from 'node:net'
import { Duplex } from 'node:stream'
import type { TLSSocket } from 'node:tls'
import { connect as connectTls } from 'node:tls'
import { describe, expect, it, onTestFinished } from 'vitest'
import type { ConnectionScript } from '../../src/testing/fault-connection.ts'
import { Flag, frames } from '../../src/testing/frames.ts'
import { watchNodeStreams } from '../support/clients/node-streams.ts'
import { INTERNAL_ERROR } from '../support/peers/error-codes.ts'
import { ask, SERVE, startHarness, startPeer } from '../support/peers/peer-rig.ts'
import { toTlsPeer } from '../support/peers/peer-tls.ts'

/** A connection that is no socket: below it node reads several frames in one turn, and all of its ticks come behind. */
class Relay extends Duplex {
  readonly #socket: ReturnType<typeof connect>

  constructor(origin: string) {
    super()
    const { hostname, port } = new URL(origin)
    this.#socket = connect(Number(port), hostname)
    this.#socket.on('data', (chunk) => this.push(chunk))
    this.#socket.on('end', () => this.push(null))
    this.#socket.on('error', (error) => this.destroy(error))
  }

  override _read(): void {}

  override _write(chunk: Buffer, _encoding: BufferEncoding, callback: (error?: Error | null) => void): void {
    this.#socket.write(chunk, callback)
  }

  override _final(callback: () => void): void {
    this.#socket.end(callback)
  }

  override _destroy(error: Error | null, callback: (error: Error | null) => void): void {
    this.#socket.destroy()
    callback(error)
  }
}

/** TLS through a tunnel, as to an origin behind a proxy. */
function connectThrough(origin: string, ca: string): Promise<TLSSocket> {
  const relay = new Relay(origin)
  return new Promise((resolve, reject) => {
    const socket = connectTls({ socket: relay, servername: 'localhost', ca, ALPNProtocols: ['h2'] })
    socket.once('secureConnect', () => resolve(socket))
    socket.once('error', reject)
  })
}

describe('over a connection that is no socket of the system', () => {
  it.each([
    ['with a body', true],
    ['without one', false],
  ])('a response %s keeps the trailers that come in the same packet as its header', async (_what, hasBody) => {
    const { options, ca } = await toTlsPeer()
    const script: ConnectionScript = {
      onComplete: ({ id, connection }) => {
        const body = hasBody ? [frames.data(id, 'whole')] : []
        const trailers = frames.headers(id, [['grpc-status', '0']], Flag.END_STREAM)
        connection.write(frames.response(id), ...body, trailers)
      },
    }
    const peer = await startPeer(script, options)
    const harness = startHarness(peer, { connect: () => connectThrough(peer.origin, ca) })
    const calls = ['GET /', 'POST /'].map((what) => ask(harness, what))
    for (const call of calls) {
      await call.settled
      expect(call.text).toBe(hasBody ? 'whole' : '')
      expect(call.trailers).toEqual({ 'grpc-status': '0' })
    }
  })
})

describe("a listener on Node's own stream", () => {
  /** Makes one call, and waits until its stream is closed. */
  async function callOnce(
    script: ConnectionScript,
    onStream: (stream: ClientHttp2Stream) => void,
  ): Promise<void> {
    let close = (): void => {}
    const closed = new Promise<void>((resolve) => {
      close = resolve
    })
    const stop = await watchNodeStreams((stream) => {
      onStream(stream)
      stream.once('close', close)
    })
    onTestFinished(stop)
    const peer = await startPeer(script)
    await ask(startHarness(peer, {}), 'GET /').settled
    await closed
  }

  it('sees headers as node made them, their status included, and the 100 that node tells of by itself', async () => {
    const heard: string[] = []
    await callOnce(
      {
        onComplete: ({ id, connection }) => {
          const statuses = ['100', '103', '200'].map((status) => frames.headers(id, [[':status', status]]))
          connection.write(...statuses, frames.data(id, '', Flag.END_STREAM))
        },
      },
      (stream) => {
        stream.on('continue', () => heard.push('continue'))
        stream.on('headers', (headers) => heard.push(`headers ${headers[':status']}`))
        stream.on('response', (headers) => heard.push(`response ${headers[':status']}`))
      },
    )
    expect(heard).toEqual(['continue', 'headers 100', 'headers 103', 'response 200'])
  })

  it('hears each event with the arguments that node gave it', async () => {
    const heard: unknown[][] = []
    await callOnce(SERVE, (stream) => {
      for (const event of ['finish', 'close']) stream.on(event, (...args) => heard.push([event, ...args]))
    })
    expect(heard).toEqual([['finish'], ['close']])
  })

  it('may watch errors without taking them', async () => {
    const heard: string[] = []
    await callOnce({ onComplete: (stream) => stream.reset(INTERNAL_ERROR) }, (stream) => {
      stream.on(errorMonitor, ({ message }) => heard.push(message))
    })
    expect(heard).toEqual(['Stream closed with error code NGHTTP2_INTERNAL_ERROR'])
  })

  it('may have put an emit() of its own there, which still hears of all', async () => {
    const heard: (string | symbol)[] = []
    await callOnce(SERVE, (stream) => {
      const { emit } = stream
      stream.emit = function emitWatched(this: ClientHttp2Stream, ...args: Parameters<typeof emit>) {
        heard.push(args[0])
        return Reflect.apply(emit, this, args)
      }
    })
    expect(heard).toEqual(expect.arrayContaining(['finish', 'response', 'close']))
  })
})
