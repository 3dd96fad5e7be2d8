import { once } from 'node:events'
import type { Socket } from 'node:net'
import { createServer } from 'node:net'
import { Readable } from 'node:stream'
import { describe, expect, it, onTestFinished } from 'vitest'
import { errors } from '../../src/index.ts'
import type { ClientOptions } from '../../types/index.ts'
import { ENGINES, Harness } from '../support/clients/engines.ts'
import { Recorder } from '../support/clients/recorder.ts'
import { FakeClock } from '../support/clocks/fake-clock.ts'
import { ENHANCE_YOUR_CALM, NO_ERROR, REFUSED_STREAM } from '../support/peers/error-codes.ts'
import { DEAF, startPeer } from '../support/peers/peer-rig.ts'
import type { StreamListener, TestServer } from '../support/servers/server.ts'
import { serveHello, startServer } from '../support/servers/server.ts'

describe.each(ENGINES)('a call on engine %s', (engine) => {
  function start(server: TestServer, options: ClientOptions = {}, clock?: FakeClock): Harness {
    const harness = new Harness(server.origin, { engine, connect: { ca: server.ca }, ...options }, clock)
    onTestFinished(() => harness.scheduler.destroy(null))
    return harness
  }

  /** A server that plays the first stream, and responds to all others with `hello`. */
  function startFirst(first: StreamListener): Promise<TestServer> {
    let count = 0
    return startServer((stream, headers) => (count++ === 0 ? first : serveHello)(stream, headers))
  }

  it('reports start, response, data, end, in this order', async () => {
    const harness = start(await startServer(serveHello))
    const call = harness.dispatch()
    expect(call.events).toEqual(['start'])
    await call.settled
    expect(call.events).toEqual(['start', 'response 200', 'data', 'end'])
    expect(call.controller?.rawHeaders).toEqual(['date', call.headers?.date])
    expect(call.controller?.rawTrailers).toEqual([])
  })

  it.each([
    { method: 'HEAD', status: 200, headers: { 'content-length': '5' } },
    { method: 'GET', status: 204, headers: {} },
    { method: 'GET', status: 304, headers: { 'content-length': '5' } },
  ])('with a response to $method of status $status completes without data', async ({
    method,
    status,
    headers,
  }) => {
    const server = await startServer((stream) =>
      stream.respond({ ':status': status, ...headers }, { endStream: true }),
    )
    const call = start(server).dispatch({ method })
    await call.settled
    expect(call.events).toEqual(['start', `response ${status}`, 'end'])
  })

  describe('whose stream is reset', () => {
    it.each([
      { code: 1, name: 'PROTOCOL_ERROR' },
      { code: 8, name: 'CANCEL' },
      { code: 11, name: 'ENHANCE_YOUR_CALM' },
    ])('with $name before a response fails as maybe processed', async ({ code, name }) => {
      const harness = start(
        await startFirst((stream) => {
          // `close()` alone would end the stream properly first.
          Object.defineProperty(stream, 'end', { value: () => stream })
          stream.close(code)
        }),
      )
      const call = harness.dispatch()
      await call.settled
      expect(call.error).toBeInstanceOf(errors.StreamError)
      expect(call.error).toMatchObject({ processed: 'maybe', http2ErrorCode: code, attempts: 1, streamId: 1 })
      expect(call.error.message).toContain(name)
      const sibling = harness.dispatch()
      await sibling.settled
      expect(sibling.text).toBe('hello')
      expect(harness.connections).toEqual(['connect'])
    })

    it('with REFUSED_STREAM is sent again, whatever its method, and starts once', async () => {
      const methods: unknown[] = []
      const server = await startServer((stream, headers) => {
        methods.push(headers[':method'])
        if (methods.length > 2) serveHello(stream, headers)
        else stream.close(REFUSED_STREAM)
      })
      const harness = start(server)
      const call = harness.dispatch({ method: 'POST', body: 'once more' })
      await call.settled
      expect(methods).toEqual(['POST', 'POST', 'POST'])
      expect(call.events).toEqual(['start', 'response 200', 'data', 'end'])
    })

    it('with REFUSED_STREAM is not sent again when its body cannot be read again', async () => {
      const harness = start(await startServer((stream) => stream.close(REFUSED_STREAM)))
      const call = harness.dispatch({ method: 'POST', body: Readable.from(['gone']) })
      await call.settled
      expect(call.error).toMatchObject({ processed: 'no', http2ErrorCode: 7, attempts: 1 })
    })

    it('with REFUSED_STREAM for ever fails after a bounded number of attempts', async () => {
      let streams = 0
      const harness = start(
        await startServer((stream) => {
          streams++
          stream.close(REFUSED_STREAM)
        }),
      )
      const call = harness.dispatch()
      await call.settled
      expect(call.error).toMatchObject({ processed: 'no', http2ErrorCode: 7, attempts: 4 })
      expect(streams).toBe(4)
    })

    it('in the middle of the body fails as processed', async () => {
      const harness = start(
        await startFirst((stream) => {
          stream.respond({ ':status': 200 })
          stream.write('half', () => stream.destroy(new Error('broken')))
        }),
      )
      const call = harness.dispatch()
      await call.settled
      expect(call.events.at(-1)).toBe('error')
      expect(call.error).toMatchObject({ processed: 'yes', http2ErrorCode: 2 })
    })

    it('with NO_ERROR in the middle of a body of known length fails', async () => {
      const harness = start(
        await startFirst((stream) => {
          stream.respond({ ':status': 200, 'content-length': '10' })
          Object.defineProperty(stream, 'end', { value: () => stream })
          stream.write('half', () => stream.close(NO_ERROR))
        }),
      )
      const call = harness.dispatch()
      await call.settled
      expect(call.events.at(-1)).toBe('error')
      expect(call.error).toMatchObject({ processed: 'yes' })
    })
  })

  describe('whose session dies', () => {
    it('fails as maybe processed, and the next call opens another session', async () => {
      const server = await startFirst((stream) => stream.session?.destroy())
      const harness = start(server)
      const call = harness.dispatch({ method: 'POST' })
      await call.settled
      expect(call.error).toBeInstanceOf(errors.SocketError)
      expect(call.error).toMatchObject({ processed: 'maybe', attempts: 1, streamId: 1 })
      const next = harness.dispatch()
      await next.settled
      expect(next.text).toBe('hello')
      expect(server.sessions).toHaveLength(2)
      expect(harness.connections).toEqual(['connect', 'disconnect', 'connect'])
    })

    it('by GOAWAY with an error fails with its code and its debug data', async () => {
      const harness = start(
        await startFirst((stream) => {
          stream.session?.goaway(ENHANCE_YOUR_CALM, 0x7fffffff, Buffer.from('too much'))
          setImmediate(() => stream.session?.destroy())
        }),
      )
      const call = harness.dispatch({ method: 'POST' })
      await call.settled
      expect(call.error).toMatchObject({ processed: 'maybe', http2ErrorCode: 11 })
      expect(String((call.error as errors.DodiciError).goawayDebugData)).toBe('too much')
    })

    it('after GOAWAY with NO_ERROR finishes, while a new session takes the next call', async () => {
      const server = await startFirst((stream) => {
        stream.respond({ ':status': 200 })
        stream.session?.close()
        stream.write('first ')
        finish = () => stream.end('done')
      })
      let finish = () => {}
      const harness = start(server)
      const draining = new Recorder()
      const heard = new Promise<void>((resolve) => {
        draining.onResponseData = (_controller, chunk) => {
          draining.chunks.push(chunk)
          resolve()
        }
      })
      harness.dispatch({}, draining)
      await heard
      const next = harness.dispatch()
      await next.settled
      expect(next.text).toBe('hello')
      expect(server.sessions).toHaveLength(2)
      finish()
      await draining.settled
      expect(draining.text).toBe('first done')
    })

    it('again and again without a response: waiting calls fail after a bounded number of connections', async () => {
      let connections = 0
      const server = createServer((socket: Socket) => {
        connections++
        socket.on('error', () => {})
        socket.destroy()
      })
      server.listen(0, '127.0.0.1')
      await once(server, 'listening')
      onTestFinished(() => void server.close())
      const { port } = server.address() as { port: number }
      // One stream at a time: all but the first wait, unsent, through one connection after another.
      const harness = new Harness(`http://127.0.0.1:${port}`, { engine, maxConcurrentStreams: 1 })
      onTestFinished(() => harness.scheduler.destroy(null))
      const calls = Array.from({ length: 20 }, () => harness.dispatch())
      await Promise.all(calls.map((call) => call.settled))
      expect(connections).toBeLessThanOrEqual(4)
      for (const call of calls) expect(call.errors).toHaveLength(1)
    })
  })

  describe('whose handler throws', () => {
    it.each([
      'onRequestStart',
      'onResponseStart',
      'onResponseData',
      'onResponseEnd',
    ] as const)('in %s fails with its error, alone', async (method) => {
      const harness = start(await startServer(serveHello))
      const sibling = harness.dispatch()
      const broken = new Recorder()
      const error = new Error(`thrown by ${method}`)
      broken[method] = () => {
        throw error
      }
      harness.dispatch({}, broken)
      const after = harness.dispatch()
      await Promise.all([sibling.settled, broken.settled, after.settled])
      expect(broken.error).toBe(error)
      expect([sibling.text, after.text]).toEqual(['hello', 'hello'])
      expect(harness.connections).toEqual(['connect'])
    })
  })

  describe('with an upload', () => {
    it.each([
      { what: 'shorter', length: '9' },
      { what: 'longer', length: '3' },
    ])('that is $what than announced fails', async ({ length }) => {
      const harness = start(await startServer((stream) => stream.resume()))
      const body = Readable.from([Buffer.from('abc'), Buffer.from('def')])
      const call = harness.dispatch({ method: 'PUT', body, headers: { 'content-length': length } })
      await call.settled
      expect(call.error).toBeInstanceOf(errors.RequestContentLengthMismatchError)
      expect(body.destroyed).toBe(true)
    })

    it('whose source breaks fails with its error and resets the stream', async () => {
      let arrive = () => {}
      const arrival = new Promise<void>((resolve) => {
        arrive = resolve
      })
      const resets: Promise<number>[] = []
      const harness = start(
        await startServer((stream) => {
          resets.push(once(stream, 'close').then(() => stream.rstCode))
          stream.resume()
          arrive()
        }),
      )
      const broken = new Error('disk on fire')
      const body = Readable.from(
        (async function* () {
          yield 'some'
          await arrival
          throw broken
        })(),
      )
      const call = harness.dispatch({ method: 'PUT', body })
      await call.settled
      expect(call.error).toBe(broken)
      expect(await Promise.all(resets)).toEqual([8])
    })

    it('to which the server responds early is stopped, and the response delivered', async () => {
      const harness = start(
        await startServer((stream) => {
          stream.respond({ ':status': 413 })
          stream.end('too large')
        }),
      )
      let isDestroyed = false
      const body = new Readable({
        read() {
          this.push(Buffer.alloc(65_536))
        },
        destroy(error, callback) {
          isDestroyed = true
          callback(error)
        },
      })
      const call = harness.dispatch({ method: 'PUT', body })
      await call.settled
      expect(call.statuses).toEqual([413])
      expect(call.text).toBe('too large')
      expect(isDestroyed).toBe(true)
      const next = harness.dispatch()
      await next.settled
      expect(next.text).toBe('too large')
    })

    it('of 4 MiB obeys the window of a peer that reads slowly', async () => {
      const total = 4 * 1024 * 1024
      let produced = 0
      let received = 0
      let atPause = 0
      const server = await startServer((stream) => {
        stream.once('data', (chunk: Buffer) => {
          received += chunk.length
          stream.pause()
          // The source has had all the time that a round trip takes.
          stream.session?.ping(() => {
            stream.session?.ping(() => {
              atPause = produced
              stream.on('data', (more: Buffer) => {
                received += more.length
              })
              stream.on('end', () => serveHello(stream, {}))
              stream.resume()
            })
          })
        })
      })
      const body = new Readable({
        read() {
          produced += 65_536
          this.push(Buffer.alloc(65_536))
          if (produced === total) this.push(null)
        },
      })
      const call = start(server).dispatch({ method: 'POST', body })
      await call.settled
      expect(call.text).toBe('hello')
      expect(received).toBe(total)
      expect(atPause).toBeLessThan(1024 * 1024)
    })
  })

  describe('against a silent peer', () => {
    it('fails after headersTimeout, as maybe processed, and resets its stream', async () => {
      const clock = new FakeClock()
      const arrived: Promise<number>[] = []
      const server = await startServer((stream) =>
        arrived.push(once(stream, 'close').then(() => stream.rstCode)),
      )
      const harness = start(server, {}, clock)
      const call = harness.dispatch({ headersTimeout: 5_000 })
      await once(server.server, 'stream')
      clock.advance(4_999)
      expect(call.errors).toEqual([])
      clock.advance(1)
      expect(call.error).toBeInstanceOf(errors.HeadersTimeoutError)
      expect(call.error).toMatchObject({ processed: 'maybe', attempts: 1, streamId: 1 })
      expect(await arrived[0]).toBe(8)
    })

    it('fails after bodyTimeout without progress, but not while the reader holds the body back', async () => {
      const clock = new FakeClock()
      const server = await startServer((stream) => {
        stream.respond({ ':status': 200 })
        stream.write('begun')
      })
      const call = new Recorder()
      const begun = new Promise<void>((resolve) => {
        call.onResponseData = () => resolve()
      })
      start(server, {}, clock).dispatch({ bodyTimeout: 5_000 }, call)
      await begun
      call.controller?.pause()
      clock.advance(60_000)
      expect(call.errors).toEqual([])
      call.controller?.resume()
      clock.advance(4_999)
      expect(call.errors).toEqual([])
      clock.advance(51)
      expect(call.error).toBeInstanceOf(errors.BodyTimeoutError)
      expect(call.error).toMatchObject({ processed: 'yes' })
    })

    it('fails after connectTimeout when the TLS handshake never completes', async () => {
      const clock = new FakeClock()
      const server = createServer()
      server.listen(0, '127.0.0.1')
      await once(server, 'listening')
      onTestFinished(() => void server.close())
      const { port } = server.address() as { port: number }
      const harness = new Harness(`https://127.0.0.1:${port}`, { engine, connectTimeout: 3_000 }, clock)
      const calls = [harness.dispatch(), harness.dispatch()]
      const [socket] = (await once(server, 'connection')) as [Socket]
      clock.advance(3_000)
      await once(socket.on('error', () => {}).resume(), 'close')
      for (const call of calls) {
        expect(call.error).toBeInstanceOf(errors.ConnectTimeoutError)
        expect(call.error).toMatchObject({ processed: 'no', attempts: 0, streamId: null })
      }
      expect(harness.connections).toEqual(['connectionError'])
    })
  })

  it('leaves no open session, also when the peer never closes its side', async () => {
    const clock = new FakeClock()
    const peer = await startPeer(DEAF)
    const harness = new Harness(peer.origin, { engine }, clock)
    const call = harness.dispatch()
    await expect.poll(() => harness.connections).toEqual(['connect'])
    call.controller?.abort()
    const torn = harness.scheduler.destroy(null, true)
    await peer.waitFor(() => peer.connection(0).hasEnded)
    clock.advance(1_000)
    await torn
    expect(harness.connections).toEqual(['connect', 'disconnect'])
  })
})
