import { subscribe, unsubscribe } from 'node:diagnostics_channel'
import { connect } from 'node:net'
import { PassThrough, Readable } from 'node:stream'
import { describe, expect, it, onTestFinished } from 'vitest'
import type { ConnectionScript } from '../../src/testing/fault-connection.ts'
import { Setting } from '../../src/testing/frames.ts'
import type { Connector, DispatchController, IncomingHttpHeaders } from '../../types/index.ts'
import { begin, FakeFallback, Http1Harness, respondTo } from '../support/clients/fallback-fake.ts'
import { Recorder } from '../support/clients/recorder.ts'
import { FakeClock } from '../support/clocks/fake-clock.ts'
import { ask, PATIENT, SERVE, startHarness, startPeer } from '../support/peers/peer-rig.ts'

const MISDIRECT: ConnectionScript = {
  onComplete: (stream) => {
    if (stream.path !== '/elsewhere') return
    stream.head(421)
    stream.end('misdirected')
  },
}

/** Connects this many times; later connections never come about. */
function dialOnce(origin: string, times: number): { connect: Connector } {
  let left = times
  return {
    connect: (_options, callback) => {
      if (left-- <= 0) return
      const socket = connect(Number(new URL(origin).port), '127.0.0.1', () => callback(null, socket))
    },
  }
}

async function turns(count = 20): Promise<void> {
  for (let i = 0; i < count; i++) await new Promise((resolve) => setImmediate(resolve))
}

describe('a subscriber of undici:request:create that aborts the call', () => {
  it('ends the call once, and nothing is sent', async () => {
    const fallback = new FakeFallback((request) => respondTo(request))
    const peer = await startPeer({ settings: [[8, 1]], onRequest: (stream) => stream.head(200) })
    // A fallback: it isn't known yet who serves it, so that it is announced late; upgrades wait even over http.
    const harness = startHarness(peer, { fallback })
    const call = new Recorder()
    const mine = new Error('mine')
    const onCreate = (): void => call.controller?.abort(mine)
    subscribe('undici:request:create', onCreate)
    onTestFinished(() => void unsubscribe('undici:request:create', onCreate))
    const waits = harness.dispatch({ path: '/first' })
    harness.dispatch({ upgrade: 'websocket' }, call)
    await call.settled
    await turns()
    waits.controller?.abort()
    expect(call.events).toEqual(['start', 'error'])
    expect(call.error).toBe(mine)
    expect([harness.scheduler.pending, harness.scheduler.running]).toEqual([0, 0])
    expect(fallback.requests).toHaveLength(0)
    expect(peer.requests.map(({ path }) => path)).toEqual(['/first'])
  })
})

describe('a call that waits behind one that a subscriber aborts on its request event', () => {
  it('settles', async () => {
    const peer = await startPeer({ settings: [[8, 1]], onRequest: (stream) => stream.respond() })
    const harness = startHarness(peer, { fallback: new FakeFallback() })
    const call = new Recorder()
    const onCreate = (message: unknown): void => {
      if (Object(message).request.method === 'CONNECT') call.controller?.abort()
    }
    subscribe('undici:request:create', onCreate)
    onTestFinished(() => void unsubscribe('undici:request:create', onCreate))
    harness.dispatch({ upgrade: 'websocket' }, call)
    const behind = ask(harness, 'GET /behind')
    await turns(200)
    expect(behind.events).toEqual(['start', 'response 200', 'data', 'end'])
  })
})

describe('a held 421', () => {
  it('reaches a handler that has paused before the response', async () => {
    const peer = await startPeer(MISDIRECT)
    const harness = startHarness(peer, {})
    const call = new (class extends Recorder {
      override onRequestStart(controller: DispatchController): void {
        super.onRequestStart(controller)
        controller.pause()
      }
      override onResponseStart(c: DispatchController, status: number, headers: IncomingHttpHeaders): void {
        super.onResponseStart(c, status, headers)
        c.resume()
      }
    })()
    ask(harness, 'GET /held')
    await peer.waitFor(() => peer.requests.length === 1)
    await peer.connection(0).ping()
    harness.dispatch({ method: 'POST', path: '/elsewhere', body: Readable.from(['text']) }, call)
    await peer.waitFor(() => peer.requests.length === 2)
    await peer.connection(0).ping()
    await turns()
    expect(call.events).toEqual(['start', 'response 421', 'data', 'end'])
  })

  it('that its handler aborts at the header ends by that error', async () => {
    const peer = await startPeer(MISDIRECT)
    const harness = startHarness(peer, {})
    const mine = new Error('mine')
    const call = new (class extends Recorder {
      override onResponseStart(c: DispatchController, status: number, headers: IncomingHttpHeaders): void {
        super.onResponseStart(c, status, headers)
        c.abort(mine)
      }
    })()
    harness.dispatch({ method: 'POST', path: '/elsewhere', body: Readable.from(['text']) }, call)
    await call.settled
    expect(call.events).toEqual(['start', 'response 421', 'error'])
  })

  it('is handed over before its error, when its body never ends', async () => {
    const peer = await startPeer({
      onComplete: (stream) => {
        stream.head(421)
        stream.data('begun')
      },
    })
    const clock = new FakeClock()
    const harness = startHarness(peer, { ...PATIENT, bodyTimeout: 5_000 }, clock)
    const call = harness.dispatch({ method: 'POST', path: '/', body: Readable.from(['text']) })
    await peer.waitFor(() => peer.requests.length === 1)
    await peer.connection(0).ping()
    await turns()
    clock.advance(5_000)
    expect(call.events).toEqual(['start', 'response 421', 'data', 'error'])
  })
})

describe('a call that got a 421', () => {
  const SINGLE = [[Setting.MAX_CONCURRENT_STREAMS, 1]] as const

  it('has the id of its last stream when it fails after that', async () => {
    const peer = await startPeer([MISDIRECT, { settings: null }])
    const clock = new FakeClock()
    const { connect: connector } = dialOnce(peer.origin, 1)
    const harness = startHarness(peer, { ...PATIENT, connect: connector }, clock)
    const call = ask(harness, 'GET /elsewhere')
    await peer.waitFor(() => peer.requests.length === 1)
    await peer.connection(0).ping()
    await turns()
    call.controller?.abort()
    await call.settled
    expect(call.error).toMatchObject({ attempts: 1, streamId: 1 })
  })

  it('waits for a connection that is there, as any call does: its connectTimeout is over', async () => {
    const held: ConnectionScript = { settings: SINGLE, onComplete: (s) => s.path === '/serve' && s.respond() }
    const peer = await startPeer(held)
    const clock = new FakeClock()
    const options = { ...PATIENT, connections: 2, connect: dialOnce(peer.origin, 2).connect }
    const harness = startHarness(peer, options, clock)
    const other = ask(harness, 'GET /held')
    await peer.waitFor(() => peer.requests.length === 1)
    await peer.connection(0).ping()
    await ask(harness, 'GET /serve').settled
    await peer.connection(1).ping()
    const call = ask(harness, 'GET /elsewhere', { connectTimeout: 3_000 })
    await peer.waitFor(() => peer.requests.length === 3)
    peer.request('/elsewhere').head(421)
    peer.request('/elsewhere').end()
    await peer.connection(1).ping()
    await turns()
    // A fresh one is to replace the second, and isn't made; the first is still there, and full.
    clock.advance(10_000)
    expect(call.events).toEqual(['start'])
    peer.request('/held').respond()
    await other.settled
    await peer.waitFor(() => peer.requests.length === 4)
    peer.connection(0).streams[1]?.respond()
    await call.settled
    expect(call.events).toEqual(['start', 'response 200', 'data', 'end'])
  })

  it('goes to another connection, also when that must be verified first', async () => {
    const held: ConnectionScript = { settings: SINGLE, onComplete: (s) => s.path === '/serve' && s.respond() }
    const peer = await startPeer([held, held, SERVE])
    const clock = new FakeClock()
    const options = { ...PATIENT, connections: 2, pingInterval: 10_000, pingTimeout: 5_000 }
    const harness = startHarness(peer, options, clock)
    ask(harness, 'GET /elsewhere')
    await peer.waitFor(() => peer.requests.length === 1)
    await peer.connection(0).ping()
    const other = ask(harness, 'GET /serve')
    await other.settled
    // The second one is idle for so long that it isn't trusted any more; the first is kept busy.
    for (let i = 0; i < 12; i++) {
      clock.advance(2_500)
      await peer.connection(0).ping()
      await turns()
    }
    expect(harness.scheduler.toSessionStats().map(({ state }) => state)).toEqual(['ready', 'ready'])
    peer.request('/elsewhere').head(421)
    peer.request('/elsewhere').end('misdirected')
    await peer.connection(0).ping()
    await turns()
    expect(peer.connection(1).pings.length).toBeGreaterThan(0)
  })
})

describe('a call for the fallback', () => {
  it('does not wait behind one that waits for a session', async () => {
    const fallback = new FakeFallback((request) => respondTo(request))
    const peer = await startPeer({
      settings: [[Setting.MAX_CONCURRENT_STREAMS, 1]],
      onComplete: (s) => s.path === '/first' && s.respond(),
    })
    const harness = startHarness(peer, { ...PATIENT, fallback }, new FakeClock())
    await ask(harness, 'GET /first').settled
    await peer.connection(0).ping()
    ask(harness, 'GET /held')
    ask(harness, 'GET /waits')
    harness.dispatch({ upgrade: 'websocket', allowH2: false })
    await turns()
    expect(fallback.requests).toHaveLength(1)
  })
})

describe('a fallback attempt', () => {
  it('destroys the socket of a tunnel whose header is refused', async () => {
    const fallback = new FakeFallback()
    const harness = new Http1Harness(fallback, { maxHeadersCount: 2 })
    const call = harness.dispatch({ upgrade: 'websocket' })
    const { request } = fallback
    begin(request)
    const socket = new PassThrough()
    request.controller.rawHeaders = ['a', '1', 'b', '2', 'c', '3']
    request.handler.onRequestUpgrade?.(request.controller, 101, {}, socket)
    await call.settled
    expect(socket.destroyed).toBe(true)
  })

  it('releases the source of an upload whose response is complete', async () => {
    const fallback = new FakeFallback()
    const harness = new Http1Harness(fallback)
    const source = new Readable({ read() {} })
    source.push('some')
    const call = harness.dispatch({ method: 'POST', body: source })
    const { request } = fallback
    begin(request)
    const pieces = (request.options.body as AsyncIterable<Buffer>)[Symbol.asyncIterator]()
    await pieces.next()
    void pieces.next()
    request.controller.rawHeaders = []
    request.handler.onResponseStart?.(request.controller, 200, {}, 'OK')
    request.handler.onResponseEnd?.(request.controller, {})
    await call.settled
    await turns()
    expect(source.destroyed).toBe(true)
  })

  it('whose body was to wait for a 100 is bounded by uploadTimeout', async () => {
    const fallback = new FakeFallback()
    const harness = new Http1Harness(fallback, { uploadTimeout: 5_000, headersTimeout: 5_000 })
    const source = new Readable({ read() {} })
    const call = harness.dispatch({ method: 'POST', body: source, expectContinue: true })
    begin(fallback.request)
    for (let i = 0; i < 20; i++) harness.clock.advance(1_000)
    expect(call.events).toEqual(['start', 'error'])
  })
})
