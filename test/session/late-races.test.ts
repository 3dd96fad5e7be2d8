import { once } from 'node:events'
import type { ServerHttp2Stream } from 'node:http2'
import { connect } from 'node:net'
import { Readable } from 'node:stream'
import { describe, expect, it, onTestFinished } from 'vitest'
import { errors } from '../../src/index.ts'
import { ENGINES, Harness } from '../support/clients/engines.ts'
import { FakeClock } from '../support/clocks/fake-clock.ts'
import { DEAF, startPeer } from '../support/peers/peer-rig.ts'
import { startServer } from '../support/servers/server.ts'

describe.each(ENGINES)('on engine %s', (engine) => {
  describe('bodyTimeout and the trailers of a response', () => {
    /** A call whose body has come, and whose trailers are the test's to send. */
    async function receive() {
      const clock = new FakeClock()
      const far: ServerHttp2Stream[] = []
      const server = await startServer((stream) => {
        far.push(stream)
        stream.respond({ ':status': 200 }, { waitForTrailers: true })
        stream.on('wantTrailers', () => stream.sendTrailers({ 'x-sum': '7' }))
        stream.write('body')
      })
      const harness = new Harness(server.origin, { engine, bodyTimeout: 1_000 }, clock)
      onTestFinished(() => harness.scheduler.destroy(null))
      const call = harness.dispatch()
      await expect.poll(() => call.text).toBe('body')
      const [stream] = far
      if (stream === undefined) throw new Error('There is no stream')
      return { clock, harness, call, stream }
    }

    it('when the trailers come first: the call is complete, and no timeout follows', async () => {
      const { clock, harness, call, stream } = await receive()
      stream.end()
      await call.settled
      clock.advance(2_000)
      expect(call.events).toEqual(['start', 'response 200', 'data', 'end'])
      expect(call.trailers).toEqual({ 'x-sum': '7' })
      expect(harness.scheduler.deadlines.size).toBe(0)
    })

    it('when the timeout comes first: the call fails, and its handler gets no trailers', async () => {
      const { clock, harness, call, stream } = await receive()
      const closed = once(stream, 'close')
      clock.advance(1_000)
      // Sent, or not any more: it is all the same to a call that is over.
      stream.end()
      await closed
      expect(call.error).toBeInstanceOf(errors.BodyTimeoutError)
      expect(call.events).toEqual(['start', 'response 200', 'data', 'error'])
      const sibling = harness.dispatch()
      await expect.poll(() => sibling.text).toBe('body')
      expect(harness.connections).toEqual(['connect'])
    })
  })

  it("a request's own connectTimeout of 0 outlives an attempt to connect, and the others' calls don't", async () => {
    const clock = new FakeClock()
    const server = await startServer((stream) => stream.respond({ ':status': 204 }, { endStream: true }))
    const { port } = new URL(server.origin)
    let attempts = 0
    const harness = new Harness(
      server.origin,
      {
        engine,
        connectTimeout: 1_000,
        connect: (_options, callback) => {
          attempts++
          if (attempts > 1) callback(null, connect(Number(port), '127.0.0.1'))
        },
      },
      clock,
    )
    onTestFinished(() => harness.scheduler.destroy(null))
    const patient = harness.dispatch({ connectTimeout: 0 })
    const usual = harness.dispatch()
    clock.advance(1_000)
    await Promise.all([patient.settled, usual.settled])
    expect(usual.error).toBeInstanceOf(errors.ConnectTimeoutError)
    expect(patient.statuses).toEqual([204])
    expect(attempts).toBe(2)
    expect(harness.connections).toEqual(['connectionError', 'connect'])
  })

  it("a request's own connectTimeout limits the wait for a connection, whatever it has waited for before", async () => {
    const clock = new FakeClock()
    const server = await startServer(() => {}, { settings: { maxConcurrentStreams: 1 } })
    const { port } = new URL(server.origin)
    let attempts = 0
    const harness = new Harness(
      server.origin,
      {
        ...{ engine, connectTimeout: 300, queueTimeout: 0, replaySafe: false },
        connect: (_options, callback) => {
          attempts++
          if (attempts === 1) callback(null, connect(Number(port), '127.0.0.1'))
        },
      },
      clock,
    )
    onTestFinished(() => harness.scheduler.destroy(null))
    const held = harness.dispatch()
    await expect.poll(() => harness.scheduler.toSessionStats()[0]?.peerLimit).toBe(1)
    const waiting = harness.dispatch({ connectTimeout: 1_000 })
    // It waits for room.
    clock.advance(3_500)
    server.sessions[0]?.destroy()
    await held.settled
    clock.advance(990)
    expect(waiting.events).toEqual(['start'])
    clock.advance(1_100)
    expect(waiting.error).toMatchObject({
      name: 'ConnectTimeoutError',
      message: 'No connection within connectTimeout (1000 ms)',
      processed: 'no',
    })
    expect(attempts).toBeGreaterThan(2)
  })

  it('a body whose own destroy() throws does not prevent its call from settling', async () => {
    const thrown = new Error('no way out')
    const uncaught: unknown[] = []
    process.setUncaughtExceptionCaptureCallback((error) => uncaught.push(error))
    onTestFinished(() => process.setUncaughtExceptionCaptureCallback(null))
    const body = new Readable({ read() {} })
    body.destroy = () => {
      throw thrown
    }
    const { origin } = await startPeer(DEAF)
    const harness = new Harness(origin, { engine })
    onTestFinished(() => harness.scheduler.destroy(null))
    const call = harness.dispatch({ method: 'POST', body })
    call.controller?.abort()
    expect(call.error).toBeInstanceOf(errors.RequestAbortedError)
    await expect.poll(() => uncaught).toEqual([thrown])
  })
})
