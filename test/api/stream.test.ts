import { EventEmitter, once } from 'node:events'
import { PassThrough, Writable } from 'node:stream'
import { describe, expect, it } from 'vitest'
import { Client, errors } from '../../src/index.ts'
import type { ClientOptions, DispatchController, DispatchHandler } from '../../types/index.ts'
import { destroyWithTest } from '../support/clients/agents.ts'
import type { TestServer } from '../support/servers/server.ts'
import { serveHello, startServer } from '../support/servers/server.ts'
import { writeAll } from '../support/servers/watched-server.ts'

const GET = { path: '/', method: 'GET' } as const

function connect(server: TestServer, options: ClientOptions = {}): Client {
  return destroyWithTest(new Client(server.origin, options))
}

/** Keeps what is written to it. */
class Sink extends Writable {
  readonly chunks: Buffer[] = []

  get text(): string {
    return Buffer.concat(this.chunks).toString()
  }

  override _write(chunk: Buffer, _encoding: BufferEncoding, callback: () => void): void {
    this.chunks.push(chunk)
    callback()
  }
}

/** A Writable that takes a chunk when the test says so. */
class SlowSink extends Writable {
  taken = 0
  #next: (() => void) | null = null

  get isHolding(): boolean {
    return this.#next !== null
  }

  override _write(chunk: Buffer, _encoding: BufferEncoding, callback: () => void): void {
    this.#next = () => {
      this.taken += chunk.length
      callback()
    }
  }

  take(): void {
    const next = this.#next
    this.#next = null
    next?.()
  }
}

/** A server that begins each response, reports when its stream was reset, and completes the response to `/hello`. */
async function startEndless() {
  const resets = new EventEmitter()
  const codes: number[] = []
  const server = await startServer((stream, headers) => {
    if (headers[':path'] === '/hello') return serveHello(stream, headers)
    stream.on('close', () => {
      codes.push(stream.rstCode)
      resets.emit('reset')
    })
    stream.respond({ ':status': 200 })
    stream.write('begun')
  })
  return { server, codes, reset: () => once(resets, 'reset') }
}

async function expectHello(client: Client): Promise<void> {
  expect(await (await client.request({ path: '/hello', method: 'GET' })).body.text()).toBe('hello')
}

describe('stream()', () => {
  it('writes the body to the Writable of the factory, and settles when that has finished', async () => {
    const client = connect(await startServer(serveHello))
    const sink = new Sink()
    let hasFinished = false
    sink.on('finish', () => {
      hasFinished = true
    })
    let calls = 0
    const data = await client.stream({ ...GET, opaque: sink }, ({ opaque, statusCode }) => {
      calls++
      expect(statusCode).toBe(200)
      return opaque
    })
    expect([sink.text, hasFinished, calls]).toEqual(['hello', true, 1])
    expect(data).toEqual({ opaque: sink, trailers: {} })
  })

  it('calls the factory for a response whose status is an error, too', async () => {
    const server = await startServer((stream) => {
      stream.respond({ ':status': 500 })
      stream.end('sorry')
    })
    const sink = new Sink()
    const statuses: number[] = []
    await connect(server).stream(GET, ({ statusCode }) => {
      statuses.push(statusCode)
      return sink
    })
    expect([statuses, sink.text]).toEqual([[500], 'sorry'])
  })

  it.each([
    { what: 'a response to HEAD', method: 'HEAD', status: 200 },
    { what: 'a 204', method: 'GET', status: 204 },
    { what: 'a 304', method: 'GET', status: 304 },
    { what: 'an empty 200', method: 'GET', status: 200 },
  ])('ends the Writable for $what', async ({ method, status }) => {
    const server = await startServer((stream) => {
      const length = method === 'HEAD' ? { 'content-length': '5' } : {}
      stream.respond({ ':status': status, ...length }, { endStream: true })
    })
    const sink = new Sink()
    await connect(server).stream({ path: '/', method }, () => sink)
    expect([sink.writableFinished, sink.text]).toEqual([true, ''])
  })

  it('refuses CONNECT, and a factory that is no function', async () => {
    const client = connect(await startServer(serveHello))
    await expect(client.stream({ path: '/', method: 'CONNECT' }, () => new Sink())).rejects.toThrow(
      'connect()',
    )
    await expect(client.stream(GET, 'no' as never)).rejects.toThrow('factory')
    const callback: unknown = 'no'
    expect(() => client.stream(GET, () => new Sink(), callback as never)).toThrow('callback')
  })

  describe('when the Writable is slow', () => {
    it('pauses the response, and the server is held back at the window', async () => {
      // Not a multiple of the window: Node's server resets with NO_ERROR where it ends a stream whose window is used
      // up.
      const total = 4 * 1024 * 1024 + 1
      let written = 0
      const server = await startServer((stream, headers) => {
        if (headers[':path'] === '/hello') return serveHello(stream, headers)
        writeAll(stream, total, (count) => {
          written = count
        })
      })
      const client = connect(server, { initialWindowSize: 131_072 })
      const sink = new SlowSink()
      const done = client.stream(GET, () => sink)
      await expect.poll(() => sink.isHolding).toBe(true)
      // There and back: what the server could send by then, it has sent.
      for (let i = 0; i < 30; i++) await expectHello(client)
      expect(written).toBeLessThan(1024 * 1024)
      expect(sink.writableLength).toBeLessThanOrEqual(131_072 + 65_536)
      expect(sink.taken).toBe(0)
      while (!sink.writableFinished) {
        sink.take()
        await new Promise((resolve) => setImmediate(resolve))
      }
      await done
      expect(sink.taken).toBe(total)
    })

    it('waits for one that is full from the start', async () => {
      const client = connect(await startServer(serveHello))
      const sink = new SlowSink({ highWaterMark: 1 })
      sink.write('full')
      const done = client.stream(GET, () => sink)
      await expectHello(client)
      expect(sink.writableLength).toBe(4)
      while (!sink.writableFinished) {
        sink.take()
        await new Promise((resolve) => setImmediate(resolve))
      }
      await done
      expect(sink.taken).toBe(9)
    })

    it('holds the peer back through an interceptor whose controller always calls itself paused', async () => {
      const total = 4 * 1024 * 1024 + 1
      let written = 0
      const server = await startServer((stream, headers) => {
        if (headers[':path'] === '/hello') return serveHello(stream, headers)
        writeAll(stream, total, (count) => {
          written = count
        })
      })
      const client = connect(server, { initialWindowSize: 65_536 })
      const composed = client.compose((dispatch) => (options, handler) => {
        const wrap = (inner: DispatchController): DispatchController => ({
          paused: true,
          aborted: false,
          reason: null,
          rawHeaders: null,
          rawTrailers: null,
          abort: (reason) => inner.abort(reason),
          pause: () => inner.pause(),
          resume: () => inner.resume(),
        })
        const own = handler as DispatchHandler
        return dispatch(options, {
          onRequestStart: (inner, context) => own.onRequestStart?.(wrap(inner), context),
          onResponseStart: (inner, status, given, text) =>
            own.onResponseStart?.(wrap(inner), status, given, text),
          onResponseData: (inner, chunk) => own.onResponseData?.(wrap(inner), chunk),
          onResponseEnd: (inner, trailers) => own.onResponseEnd?.(wrap(inner), trailers),
          onResponseError: (inner, error) => own.onResponseError?.(wrap(inner), error),
        })
      })
      const sink = new SlowSink()
      const done = composed.stream(GET, () => sink)
      await expect.poll(() => sink.isHolding).toBe(true)
      for (let i = 0; i < 30; i++) await expectHello(client)
      expect(written).toBeLessThan(1024 * 1024)
      while (!sink.writableFinished) {
        sink.take()
        await new Promise((resolve) => setImmediate(resolve))
      }
      await done
      expect(sink.taken).toBe(total)
    })
  })

  describe('when the factory', () => {
    it.each([
      { what: 'nothing', make: () => undefined },
      { what: 'null', make: () => null },
      { what: 'a string', make: () => 'stream' },
      { what: 'a Readable', make: () => ({ on() {}, pipe() {} }) },
      { what: 'a destroyed Writable', make: () => new Sink().destroy() },
      { what: 'an ended Writable', make: () => new Sink().end() },
    ])('returns $what, fails with InvalidReturnValueError and resets the stream', async ({ make }) => {
      const { server, codes, reset } = await startEndless()
      const client = connect(server)
      const wasReset = reset()
      const failed = client.stream(GET, make as never)
      await expect(failed).rejects.toBeInstanceOf(errors.InvalidReturnValueError)
      await expect(failed).rejects.toMatchObject({ processed: 'yes', streamId: 1, attempts: 1 })
      await wasReset
      expect(codes).toEqual([8])
      await expectHello(client)
    })
  })

  describe('when the Writable', () => {
    it.each([
      {
        what: 'errors',
        end: (sink: Writable) => void sink.destroy(new Error('disk full')),
        message: 'disk full',
      },
      {
        what: 'is destroyed',
        end: (sink: Writable) => void sink.destroy(),
        message: 'Premature close',
      },
    ])('$what midway, the call fails and the stream is reset', async ({ end, message }) => {
      const { server, codes, reset } = await startEndless()
      const client = connect(server)
      const sink = new PassThrough()
      const wasReset = reset()
      sink.once('data', () => end(sink))
      await expect(client.stream(GET, () => sink)).rejects.toThrow(message)
      await wasReset
      expect(codes).toEqual([8])
      await expectHello(client)
    })

    it('fails in its last write, the call fails although the response is complete', async () => {
      const client = connect(await startServer(serveHello))
      const sink = new Writable({ final: (callback) => callback(new Error('no room')) })
      sink._write = (_chunk, _encoding, callback) => callback()
      await expect(client.stream(GET, () => sink)).rejects.toThrow('no room')
    })
  })

  it('ignores a signal that fires after the end', async () => {
    const client = connect(await startServer(serveHello))
    const controller = new AbortController()
    const sink = new PassThrough()
    await client.stream({ ...GET, signal: controller.signal }, () => sink)
    controller.abort()
    expect(sink.destroyed).toBe(false)
    expect(sink.read().toString()).toBe('hello')
  })
})
