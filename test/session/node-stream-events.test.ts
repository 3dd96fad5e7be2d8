import { errorMonitor } from 'node:events'
import type { ClientHttp2Stream } from 'node:http2'
import { connect } from 'node:net'
import { Duplex, Readable } from 'node:stream'
import type { TLSSocket } from 'node:tls'
import { connect as connectTls } from 'node:tls'
import { describe, expect, it, onTestFinished } from 'vitest'
import type { ConnectionScript } from '../../src/testing/fault-connection.ts'
import type { FaultStream } from '../../src/testing/fault-stream.ts'
import { Flag, frames, Setting } from '../../src/testing/frames.ts'
import type { Field } from '../../src/testing/hpack.ts'
import type { Harness } from '../support/clients/engines.ts'
import { watchNodeStreams } from '../support/clients/node-streams.ts'
import { Recorder } from '../support/clients/recorder.ts'
import { CANCEL, INTERNAL_ERROR, NO_ERROR, REFUSED_STREAM } from '../support/peers/error-codes.ts'
import { ask, SERVE, startHarness, startPeer, toOutcomes } from '../support/peers/peer-rig.ts'
import { toTlsPeer } from '../support/peers/peer-tls.ts'

/** A tunnel that no server of ours would have to make. */
const CONNECT = { method: 'CONNECT', path: 'example.com:443' } as const

async function startWatch(onStream: (stream: ClientHttp2Stream) => void): Promise<void> {
  onTestFinished(await watchNodeStreams(onStream))
}

/** A header, a piece of a body, and trailers that end it: as one packet. */
function toWhole(id: number): Buffer[] {
  return [frames.response(id), frames.data(id, 'whole'), toTrailers(id)]
}

function toTrailers(id: number): Buffer {
  return frames.headers(id, [['x-trailer', 'last']], Flag.END_STREAM)
}

/** A handler that reads nothing until the test resumes it. */
class Holding extends Recorder {
  override onResponseStart(...args: Parameters<Recorder['onResponseStart']>): void {
    super.onResponseStart(...args)
    args[0].pause()
  }
}

/** The peer counts one stream at a time: a place that isn't given back is a call that never comes. */
const ONE_BY_ONE = { settings: [[Setting.MAX_CONCURRENT_STREAMS, 1]] } as const satisfies ConnectionScript

function toStreams(harness: Harness): number[] {
  return harness.scheduler.toSessionStats().map(({ streams }) => streams)
}

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

describe("a listener on Node's own stream", () => {
  it('hears of its response, its trailers and its close, once each, beside the call', async () => {
    const heard: string[] = []
    await startWatch((stream) => {
      stream.on('response', (headers) => heard.push(`response ${headers['x-field']}`))
      stream.on('trailers', (trailers) => heard.push(`trailers ${trailers['x-trailer']}`))
      stream.on('close', () => heard.push('close'))
    })
    const peer = await startPeer({
      onComplete: ({ id, connection }) => {
        const header = frames.headers(id, [
          [':status', '200'],
          ['x-field', 'a'],
        ])
        connection.write(header, toTrailers(id))
      },
    })
    const call = ask(startHarness(peer, {}), 'GET /')
    await call.settled
    await expect.poll(() => heard).toEqual(['response a', 'trailers last', 'close'])
    expect(call.events).toEqual(['start', 'response 200', 'end'])
    expect(call.trailers).toEqual({ 'x-trailer': 'last' })
  })

  it('hears of its error, too, and the call fails by it', async () => {
    const heard: string[] = []
    await startWatch((stream) => stream.on('error', ({ message }) => heard.push(message)))
    const peer = await startPeer({ onComplete: (stream) => stream.reset(INTERNAL_ERROR) })
    const call = ask(startHarness(peer, {}), 'GET /')
    await call.settled
    expect(heard).toEqual(['Stream closed with error code NGHTTP2_INTERNAL_ERROR'])
    expect(call.error).toMatchObject({ http2ErrorCode: INTERNAL_ERROR, cause: { message: heard[0] } })
  })

  it('need not listen to its error: the error ends one call, and nothing else', async () => {
    const listeners: number[] = []
    await startWatch((stream) => {
      stream.on('close', () => listeners.push(stream.listenerCount('error')))
    })
    const peer = await startPeer({
      onComplete: (stream) => (stream.path === '/bad' ? stream.reset(INTERNAL_ERROR) : stream.respond()),
    })
    const harness = startHarness(peer, {})
    const calls = ['GET /bad', 'POST /bad', 'GET /good'].map((what) => ask(harness, what))
    const failure = (stream: number) => `StreamError maybe code=2 attempts=1 stream=${stream}`
    expect(await toOutcomes(calls)).toEqual([failure(1), failure(3), 'GET /good'])
    await expect.poll(() => listeners).toEqual([0, 0, 0])
  })

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

describe('header fields on the wire', () => {
  const headers = ['x-b', '1', 'X-A', '2', 'x-b', '3', 'cookie', 'a=1', 'x-b', '1', 'Cookie', 'b=2']

  function expectFields({ fields }: FaultStream, ...last: readonly Field[]): void {
    const of = (name: string) => fields.filter(([known]) => known === name).map(([, value]) => value)
    // Whether other names stand between those of one is up to node (RFC 9110 §5.3: their own order counts).
    expect(of('x-b')).toEqual(['1', '3', '1'])
    expect(of('cookie')).toEqual(['a=1', 'b=2'])
    expect(of('x-a')).toEqual(['2'])
    expect(fields.slice(0, 4).map(([name]) => name)).toEqual([':method', ':scheme', ':authority', ':path'])
    expect(fields).toHaveLength(10 + last.length)
    expect(fields.slice(10)).toEqual(last)
  }

  it.each([
    'bytes',
    'a factory',
  ])('are the same when a request with a body of %s is sent again', async (kind) => {
    const peer = await startPeer({
      onComplete: (stream) => (peer.requests.length < 3 ? stream.reset(REFUSED_STREAM) : stream.respond()),
    })
    const body = kind === 'bytes' ? 'body' : () => 'body'
    const call = ask(startHarness(peer, {}), 'PUT /', { headers, body })
    expect(await toOutcomes([call])).toEqual(['PUT /'])
    expect(peer.ledger).toHaveLength(3)
    const type: Field = ['content-type', 'text/plain;charset=UTF-8']
    for (const request of peer.requests) {
      const added = request.fields.slice(10).toSorted(([a], [b]) => (a < b ? -1 : 1))
      expect(added).toEqual(added.length === 1 ? [['content-length', '4']] : [['content-length', '4'], type])
      expectFields(request, ...request.fields.slice(10))
    }
  })
})

describe('a response that a reader holds back', () => {
  async function startHeld(script: ConnectionScript) {
    let close = (): void => {}
    const closed = new Promise<void>((resolve) => {
      close = resolve
    })
    await startWatch((stream) => stream.once('close', close))
    const peer = await startPeer({ ...ONE_BY_ONE, ...script })
    const harness = startHarness(peer, {})
    const call = harness.dispatch({}, new Holding())
    return { peer, harness, call: call as Recorder, closed }
  }

  it("is had whole, trailers and all, when it is taken after node's stream has closed", async () => {
    const { harness, call, closed } = await startHeld({
      onComplete: ({ id, connection }) => connection.write(...toWhole(id)),
    })
    await closed
    expect(call.events).toEqual(['start', 'response 200'])
    // It keeps its place: what it holds counts.
    expect(toStreams(harness)).toEqual([1])
    call.controller?.resume()
    expect(call.events).toEqual(['start', 'response 200', 'data', 'end'])
    expect(call.trailers).toEqual({ 'x-trailer': 'last' })
    expect(toStreams(harness)).toEqual([0])
  })

  it("gives its place back when it is aborted after node's stream has closed", async () => {
    const { harness, call, closed } = await startHeld({
      onComplete: (stream) =>
        stream.path === '/' ? stream.connection.write(...toWhole(stream.id)) : stream.respond(),
    })
    await closed
    call.controller?.abort(new Error('not wanted'))
    expect(call.events).toEqual(['start', 'response 200', 'error'])
    expect(toStreams(harness)).toEqual([0])
    expect(await toOutcomes([ask(harness, 'GET /next')])).toEqual(['GET /next'])
  })
})

describe('a peer that ends its response early', () => {
  it.each([
    ['END_STREAM', []],
    ['END_STREAM and RST_STREAM with NO_ERROR', [NO_ERROR]],
    ['END_STREAM and RST_STREAM with CANCEL', [CANCEL]],
  ])('with %s, in one packet: the call has it whole, its upload is let go of, its place is free', async (_name, codes) => {
    const peer = await startPeer({
      ...ONE_BY_ONE,
      onData: ({ id, connection, chunks }) => {
        if (chunks.length === 1)
          connection.write(...toWhole(id), ...codes.map((code) => frames.reset(id, code)))
      },
      onComplete: (stream) => stream.respond(),
    })
    const harness = startHarness(peer, {})
    const body = new Readable({ read() {} })
    body.push('some of it')
    const [call, next] = [ask(harness, 'POST /', { body }), ask(harness, 'GET /next')]
    expect(await toOutcomes([call, next])).toEqual(['whole', 'GET /next'])
    expect(call.trailers).toEqual({ 'x-trailer': 'last' })
    expect(body.destroyed).toBe(true)
    await expect.poll(() => toStreams(harness)).toEqual([0])
  })

  it.each([
    ['bytes', 'never'],
    ['a stream', Readable.from(['never'])],
  ])('to a body of %s that waits for 100 (Continue): none of it is sent, and its source is let go of', async (_kind, body) => {
    const peer = await startPeer({
      onRequest: ({ id, path, connection }) => {
        if (path === '/') connection.write(frames.headers(id, [[':status', '417']], Flag.END_STREAM))
      },
      onComplete: (stream) => stream.respond(),
    })
    const harness = startHarness(peer, {})
    const call = ask(harness, 'POST /', { body, expectContinue: true })
    await call.settled
    expect(call.events).toEqual(['start', 'response 417', 'end'])
    expect(await toOutcomes([ask(harness, 'GET /next')])).toEqual(['GET /next'])
    if (typeof body !== 'string') expect(body.destroyed).toBe(true)
    expect(peer.request('/').chunks).toEqual([])
  })

  it('by refusing a tunnel in its header alone: the call has that response, and its place is free', async () => {
    const peer = await startPeer({
      ...ONE_BY_ONE,
      onRequest: ({ id, method, connection }) => {
        if (method !== 'CONNECT') return
        connection.write(frames.headers(id, [[':status', '403']], Flag.END_STREAM))
      },
      onComplete: (stream) => stream.respond(),
    })
    const harness = startHarness(peer, {})
    const call = harness.dispatch(CONNECT)
    expect(await toOutcomes([ask(harness, 'GET /next')])).toEqual(['GET /next'])
    expect(call.events).toEqual(['start', 'response 403', 'end'])
    await peer.waitFor(() => peer.requests.some(({ resetCode }) => resetCode === CANCEL))
  })
})

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
