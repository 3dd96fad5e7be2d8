import { once } from 'node:events'
import { createServer } from 'node:http'
import type { ServerHttp2Stream } from 'node:http2'
import type { Duplex } from 'node:stream'
import { PassThrough, Readable } from 'node:stream'
import { setTimeout as pass } from 'node:timers/promises'
import * as undici7 from 'undici'
import * as undici6 from 'undici-6'
import { describe, expect, it, onTestFinished } from 'vitest'
import { errors, fetch, Pool, UpstreamPool } from '../../src/index.ts'
import type {
  AnyDispatchHandler,
  DispatchController,
  Dispatcher,
  DispatchOptions,
  UpstreamInit,
  UpstreamPoolOptions,
} from '../../types/index.ts'
import { destroyWithTest } from '../support/clients/agents.ts'
import { FakeDispatcher } from '../support/clients/fake-dispatcher.ts'
import { INERT } from '../support/clients/inert-controller.ts'
import { PausingRecorder, Recorder } from '../support/clients/recorder.ts'
import { CANCEL, REFUSED_STREAM } from '../support/peers/error-codes.ts'
import { findFreePort } from '../support/servers/free-port.ts'
import { listen } from '../support/servers/listen.ts'
import type { StreamListener } from '../support/servers/server.ts'
import { read, startServer } from '../support/servers/server.ts'

const GET = { path: '/', method: 'GET' } as const
const POST = { path: '/', method: 'POST', body: 'x' } as const

function toPool(upstreams: readonly (string | URL | UpstreamInit)[], options?: UpstreamPoolOptions) {
  return destroyWithTest(new UpstreamPool(upstreams, options))
}

/** A server that responds with its name, and counts its requests. */
async function startNamed(name: string, onStream?: StreamListener) {
  const paths: string[] = []
  const { origin, server, sessions } = await startServer((stream, headers) => {
    paths.push(`${headers[':method']} ${headers[':path']}`)
    if (onStream !== undefined) onStream(stream, headers)
    else respond(stream, 200, name)
  })
  return { origin, server, sessions, paths }
}

function respond(stream: ServerHttp2Stream, status: number, text: string): void {
  stream.respond({ ':status': status })
  stream.end(text)
}

async function ask(pool: UpstreamPool, options: Parameters<UpstreamPool['request']>[0] = GET) {
  const { statusCode, body } = await pool.request(options)
  return `${statusCode} ${await body.text()}`
}

async function toRefusing(): Promise<string> {
  return `http://127.0.0.1:${await findFreePort()}`
}

/** Resets each stream by CANCEL once it has come: the request may have been processed. */
const reset: StreamListener = (stream) => stream.close(CANCEL)

describe('UpstreamPool', () => {
  describe('with several upstreams', () => {
    it('sends requests to each, whatever origin they name, and shows what each has got', async () => {
      const [a, b] = [await startNamed('a'), await startNamed('b')]
      const pool = toPool([a.origin, { origin: new URL(b.origin), weight: 3 }])
      const options = { ...GET, origin: 'http://service.example' }
      const texts = await Promise.all(Array.from({ length: 20 }, () => ask(pool, options)))
      expect(new Set(texts)).toEqual(new Set(['200 a', '200 b']))
      expect(pool.upstreams).toEqual([a.origin, b.origin])
      const { [a.origin]: first, [b.origin]: second } = pool.stats
      expect(first).toMatchObject({ state: 'healthy', weight: 1, inFlight: 0, failures: 0, ejections: 0 })
      expect(second).toMatchObject({ weight: 3, latency: expect.any(Number), pool: { connected: 1 } })
      expect((first?.requests ?? 0) + (second?.requests ?? 0)).toBe(20)
      expect(pool.origin).toBeNull()
    })

    it('serves each API, and fetch', async () => {
      const { origin } = await startNamed('a')
      const pool = toPool([origin])
      expect(await ask(pool)).toBe('200 a')
      expect(await (await fetch('http://service.example/', { dispatcher: pool })).text()).toBe('a')
      let streamed = ''
      await pool.stream(GET, () => {
        const sink = new PassThrough()
        sink.on('data', (chunk: Buffer) => {
          streamed += chunk
        })
        return sink
      })
      expect(streamed).toBe('a')
      const piped = pool.pipeline({ path: '/', method: 'PUT' }, ({ body }) => body)
      piped.end('x')
      expect(await read(piped)).toBe('a')
    })

    it('opens tunnels, which count until they are closed', async () => {
      const { origin } = await startNamed('', (stream) => {
        stream.respond({ ':status': 200 })
        stream.pipe(stream)
      })
      const pool = toPool([origin])
      const { socket } = await pool.connect({ path: 'a.example:1' })
      expect(pool.stats[origin]).toMatchObject({ inFlight: 1, failures: 0 })
      socket.end('echo')
      expect(await read(socket as Duplex)).toBe('echo')
      await expect.poll(() => pool.stats[origin]?.inFlight).toBe(0)
    })

    it('emits the events of all, itself first among the targets', async () => {
      const { origin } = await startNamed('a')
      const pool = toPool([origin])
      const connected = once(pool, 'connect')
      await ask(pool)
      const [url, targets] = await connected
      expect([url.origin, targets[0]]).toEqual([origin, pool])
      expect(targets).toContain(pool.getUpstream(origin))
    })
  })

  describe('when an upstream refuses connections', () => {
    it('sends each request to another one, a POST too, and ejects it', async () => {
      const [refusing, a] = [await toRefusing(), await startNamed('a')]
      const times = { ejectionTime: 2 ** 31 - 1, maxEjectionTime: 2 ** 31 - 1 }
      const pool = toPool([refusing, a.origin], { ...times, maxFailures: 1 })
      const all = Array.from({ length: 20 }, (_, index) => ask(pool, index % 2 === 0 ? GET : POST))
      expect(new Set(await Promise.all(all))).toEqual(new Set(['200 a']))
      const { requests } = pool.stats[refusing] ?? {}
      for (let i = 0; i < 10; i++) await ask(pool)
      expect(pool.stats[refusing]).toMatchObject({ state: 'ejected', requests, ejections: 1 })
      expect(a.paths.length).toBe(pool.stats[a.origin]?.requests)
    })

    it('keeps a stream as body from another upstream, and says that nothing was processed', async () => {
      const [refusing, a] = [await toRefusing(), await startNamed('a')]
      const pool = toPool([refusing])
      const call = pool.request({ ...POST, body: Readable.from(['x']) })
      pool.addUpstream(a.origin)
      await expect(call).rejects.toMatchObject({ code: 'ECONNREFUSED', processed: 'no' })
      expect(a.paths).toEqual([])
    })

    it('sends header fields of an iterator, and the same body, to the next one', async () => {
      const heard: unknown[] = []
      const a = await startNamed('', (stream, headers) => {
        void read(stream).then((text) => {
          heard.push(headers['x-a'], text)
          respond(stream, 200, 'a')
        })
      })
      const pool = toPool([await toRefusing()])
      const headers = new Map([['x-a', '1']]).entries()
      const call = ask(pool, { ...POST, body: () => 'made', headers })
      pool.addUpstream(a.origin)
      expect(await call).toBe('200 a')
      expect(heard).toEqual(['1', 'made'])
    })
  })

  describe('when an upstream fails before a response', () => {
    it.each([
      { path: '/', method: 'GET' },
      { path: '/', method: 'PUT', idempotent: true },
    ])('sends %o to another one', async (options) => {
      const [bad, good] = [await startNamed('', reset), await startNamed('good')]
      const pool = toPool([bad.origin])
      const call = ask(pool, options)
      pool.addUpstream(good.origin)
      expect(await call).toBe('200 good')
      expect([bad.paths.length, good.paths.length]).toEqual([1, 1])
    })

    it.each([
      ['a POST', POST, {}],
      ['a PUT', { path: '/', method: 'PUT' }, {}],
      ['a DELETE', { path: '/', method: 'DELETE' }, {}],
      ['a GET with idempotent: false', { ...GET, idempotent: false }, {}],
      ['a GET with maxRetries: 0', GET, { maxRetries: 0 }],
      ['a GET with replaySafe: false', GET, { replaySafe: false }],
    ])('sends %s to no other one', async (_what, options, poolOptions) => {
      const [bad, good] = [await startNamed('', reset), await startNamed('good')]
      const pool = toPool([bad.origin], poolOptions)
      const call = ask(pool, options)
      pool.addUpstream(good.origin)
      await expect(call).rejects.toMatchObject({ code: 'DODICI_ERR_STREAM', processed: 'maybe' })
      expect([bad.paths.length, good.paths.length]).toEqual([1, 0])
    })

    it('tells the handler of one call, with one controller, and of the attempts of all upstreams', async () => {
      const bad = [await startNamed('', reset), await startNamed('', reset)]
      const pool = toPool([bad[0]?.origin ?? ''])
      const recorder = new Recorder()
      const controllers = new Set<DispatchController | null>()
      pool.dispatch(GET, recorder)
      controllers.add(recorder.controller)
      pool.addUpstream(bad[1]?.origin ?? '')
      await recorder.settled
      controllers.add(recorder.controller)
      expect(recorder.events).toEqual(['start', 'error'])
      expect(recorder.error).toMatchObject({ attempts: 2, processed: 'maybe' })
      expect([controllers.size, recorder.controller?.aborted]).toEqual([1, false])
      expect(bad.map(({ paths }) => paths.length)).toEqual([1, 1])
    })

    it('says that the request may be processed when a later upstream refuses connections', async () => {
      const [bad, refusing] = [await startNamed('', reset), await toRefusing()]
      const pool = toPool([bad.origin])
      const call = ask(pool)
      pool.addUpstream(refusing)
      await expect(call).rejects.toMatchObject({ code: 'ECONNREFUSED', processed: 'maybe', attempts: 1 })
    })

    it('leaves a paused body paused on the next one', async () => {
      const [bad, good] = [await startNamed('', reset), await startNamed('good')]
      const pool = toPool([bad.origin])
      const recorder = new PausingRecorder()
      pool.dispatch(GET, recorder)
      recorder.controller?.pause()
      pool.addUpstream(good.origin)
      await expect.poll(() => recorder.statuses).toEqual([200])
      expect(recorder.controller?.paused).toBe(true)
      recorder.controller?.resume()
      await recorder.settled
      expect(recorder.text).toBe('good')
    })
  })

  it('when an upstream refuses each stream, sends a POST to another one', async () => {
    const [bad, good] = [
      await startNamed('', (stream) => stream.close(REFUSED_STREAM)),
      await startNamed('good'),
    ]
    const pool = toPool([bad.origin])
    const call = ask(pool, POST)
    pool.addUpstream(good.origin)
    expect(await call).toBe('200 good')
  })

  it('when an upstream fails after an informational response, sends the request to no other one', async () => {
    const bad = await startNamed('', (stream) => {
      stream.additionalHeaders({ ':status': 103 })
      setImmediate(() => stream.close(CANCEL))
    })
    const good = await startNamed('good')
    const pool = toPool([bad.origin])
    const recorder = new Recorder()
    pool.dispatch(GET, recorder)
    pool.addUpstream(good.origin)
    await recorder.settled
    expect(recorder.events).toEqual(['start', 'response 103', 'error'])
    expect(good.paths).toEqual([])
  })

  it('when an upstream fails after the header of a response, sends the request to no other one', async () => {
    const bad = await startNamed('', (stream) => {
      stream.respond({ ':status': 200 })
      stream.write('half', () => stream.session?.destroy())
    })
    const good = await startNamed('good')
    const pool = toPool([bad.origin])
    const recorder = new Recorder()
    pool.dispatch(GET, recorder)
    pool.addUpstream(good.origin)
    await recorder.settled
    expect(recorder.error).toMatchObject({ processed: 'yes' })
    expect(good.paths).toEqual([])
    expect(pool.stats[bad.origin]).toMatchObject({ failures: 1 })
  })

  describe('when an upstream responds with 503', () => {
    it('passes the response on, and ejects the upstream after five of them', async () => {
      const [bad, good] = [
        await startNamed('', (stream) => respond(stream, 503, 'busy')),
        await startNamed('good'),
      ]
      const pool = toPool([bad.origin], { ejectionTime: 100_000_000, maxEjectionTime: 100_000_000 })
      for (let i = 0; i < 5; i++) expect(await ask(pool)).toBe('503 busy')
      pool.addUpstream(good.origin)
      for (let i = 0; i < 5; i++) expect(await ask(pool)).toBe('200 good')
      expect(pool.stats[bad.origin]).toMatchObject({ state: 'ejected', failures: 5, ejections: 1 })
    })

    it('and failureStatuses is empty, counts it as a success', async () => {
      const bad = await startNamed('', (stream) => respond(stream, 503, 'busy'))
      const pool = toPool([bad.origin], { failureStatuses: [] })
      for (let i = 0; i < 5; i++) expect(await ask(pool)).toBe('503 busy')
      expect(pool.stats[bad.origin]).toMatchObject({ state: 'healthy', failures: 0 })
    })
  })

  describe('when an upstream is ejected', () => {
    it('probes it by one request, and gives it requests again', async () => {
      let isBad = true
      const a = await startNamed('', (stream) => (isBad ? stream.close(CANCEL) : respond(stream, 200, 'a')))
      const pool = toPool([a.origin], { maxFailures: 1, ejectionTime: 1 })
      const good = await startNamed('good')
      await expect(ask(pool)).rejects.toThrow()
      pool.addUpstream(good.origin)
      isBad = false
      await expect.poll(() => ask(pool)).toBe('200 a')
      expect(pool.stats[a.origin]).toMatchObject({ state: 'healthy', ejections: 1 })
    })
  })

  describe('when the caller aborts', () => {
    it('ends the call, sends it to no other upstream, and counts no failure', async () => {
      const [held, good] = [await startNamed('', () => {}), await startNamed('good')]
      const pool = toPool([held.origin], { maxFailures: 1 })
      const abort = new AbortController()
      const call = ask(pool, { ...GET, signal: abort.signal })
      await expect.poll(() => held.paths.length).toBe(1)
      pool.addUpstream(good.origin)
      abort.abort(new Error('enough'))
      await expect(call).rejects.toThrow('enough')
      expect(good.paths).toEqual([])
      expect(pool.stats[held.origin]).toMatchObject({ state: 'healthy', failures: 0, inFlight: 0 })
    })

    it('in onRequestStart, sends nothing', async () => {
      const a = await startNamed('a')
      const pool = toPool([a.origin])
      const recorder = new Recorder()
      recorder.onRequestStart = (controller) => controller.abort(new Error('at once'))
      pool.dispatch(GET, recorder)
      await recorder.settled
      expect([recorder.error.message, a.paths.length]).toEqual(['at once', 0])
    })
  })

  it('when requestTimeout passes, sends the request to no other upstream', async () => {
    const [held, good] = [await startNamed('', () => {}), await startNamed('good')]
    const pool = toPool([held.origin], { requestTimeout: 50 })
    const call = ask(pool)
    pool.addUpstream(good.origin)
    await expect(call).rejects.toBeInstanceOf(errors.RequestTimeoutError)
    expect(good.paths).toEqual([])
    expect(pool.stats[held.origin]).toMatchObject({ failures: 1 })
  })

  describe('addUpstream() and removeUpstream()', () => {
    it('without any upstream, requests fail', async () => {
      const pool = toPool([])
      await expect(ask(pool)).rejects.toMatchObject({ code: 'UND_ERR_BPL_MISSING_UPSTREAM' })
      await pool.close()
    })

    it('of one that is there, or that is not there, change nothing', async () => {
      const pool = toPool(['http://a.example'])
      expect(pool.addUpstream('http://a.example/').removeUpstream('http://b.example')).toBe(pool)
      expect(pool.upstreams).toEqual(['http://a.example'])
      expect(pool.getUpstream('http://b.example')).toBeUndefined()
    })

    it('drains an upstream that is removed: its requests end, no new ones come, its sessions are closed', async () => {
      const streams: ServerHttp2Stream[] = []
      const a = await startNamed('', (stream) => streams.push(stream))
      const b = await startNamed('b')
      const pool = toPool([a.origin])
      const call = ask(pool)
      await expect.poll(() => streams.length).toBe(1)
      const [stream] = streams
      const [session] = a.sessions
      pool.addUpstream(b.origin).removeUpstream(a.origin)
      expect(pool.upstreams).toEqual([b.origin])
      for (let i = 0; i < 10; i++) expect(await ask(pool)).toBe('200 b')
      if (stream !== undefined) respond(stream, 200, 'a')
      expect(await call).toBe('200 a')
      await expect.poll(() => session?.closed).toBe(true)
      expect(a.paths).toHaveLength(1)
    })
  })

  describe('close() and destroy()', () => {
    it('close() waits for the requests, which may still be sent to another upstream, and refuses further ones', async () => {
      const held: ServerHttp2Stream[] = []
      const [bad, good] = [await startNamed('', (stream) => held.push(stream)), await startNamed('good')]
      const pool = toPool([bad.origin])
      const call = ask(pool)
      await expect.poll(() => held.length).toBe(1)
      pool.addUpstream(good.origin)
      const closing = pool.close()
      await expect(ask(pool)).rejects.toBeInstanceOf(errors.ClientClosedError)
      expect(() => pool.addUpstream('http://c.example')).toThrow(errors.ClientClosedError)
      held[0]?.close(8)
      expect(await call).toBe('200 good')
      await closing
      expect([pool.closed, pool.destroyed]).toEqual([true, true])
    })

    it('destroy() fails the requests, also of removed upstreams, and sends them nowhere else', async () => {
      const [held, other] = [await startNamed('', () => {}), await startNamed('', () => {})]
      const pool = toPool([held.origin])
      const calls = [ask(pool)]
      await expect.poll(() => held.paths.length).toBe(1)
      pool.addUpstream(other.origin).removeUpstream(held.origin)
      calls.push(ask(pool))
      await expect.poll(() => other.paths.length).toBe(1)
      const failed = Promise.allSettled(calls)
      await pool.destroy(new Error('enough'))
      expect((await failed).map((outcome) => 'reason' in outcome && outcome.reason.message)).toEqual([
        'enough',
        'enough',
      ])
      expect([held.paths.length, other.paths.length]).toEqual([1, 1])
      expect(() => pool.addUpstream('http://c.example')).toThrow(errors.ClientDestroyedError)
    })
  })

  describe('factory', () => {
    it('makes the dispatcher of each upstream, with the common options and those of the upstream', async () => {
      const heard: unknown[] = []
      const made = new FakeDispatcher()
      const factory: UpstreamPoolOptions['factory'] = (origin, options) => {
        heard.push(origin.href, options.connections, options.headersTimeout)
        return made
      }
      const upstreams = [{ origin: 'http://a.example', connections: 2, weight: 2 }]
      const pool = toPool(upstreams, { factory, connections: 1, headersTimeout: 5 })
      pool.dispatch(GET, new Recorder())
      expect(heard).toEqual(['http://a.example/', 2, 5])
      expect(made.requests).toEqual([{ ...GET, origin: 'http://a.example' }])
    })

    it.each([
      ['6', undici6.Pool],
      ['7', undici7.Pool],
    ])('may make a Pool of undici %s: what it refuses goes to another upstream', async (_version, TheirPool) => {
      const server = createServer((_request, response) => response.end('http/1.1'))
      const { port } = await listen(server)
      const factory = (origin: URL): Dispatcher => Reflect.construct(TheirPool, [origin])
      const pool = toPool([await toRefusing()], { factory, maxFailures: 1 })
      const call = ask(pool)
      pool.addUpstream(`http://127.0.0.1:${port}`)
      expect(await call).toBe('200 http/1.1')
      expect(await ask(pool, POST)).toBe('200 http/1.1')
      expect(Object.values(pool.stats).map(({ state }) => state)).toEqual(['ejected', 'healthy'])
      await pool.close()
    })

    it('whose dispatcher fails: the next one gets what is left of requestTimeout', async () => {
      const handlers: AnyDispatchHandler[] = []
      const heard: DispatchOptions[] = []
      const factory = (): Dispatcher => {
        const made = new FakeDispatcher()
        made.dispatch = (options, handler) => {
          heard.push(options)
          return handlers.push(handler) > 0
        }
        return made
      }
      const pool = toPool(['http://a.example', 'http://b.example'], { factory, requestTimeout: 60_000 })
      const recorder = new Recorder()
      pool.dispatch(GET, recorder)
      await pass(5)
      const [handler] = handlers
      if (handler === undefined || !('onResponseError' in handler)) throw new Error('There is no handler')
      handler.onResponseError?.(INERT, new errors.ConnectError('refused', { processed: 'no' }))
      expect(heard[0]?.requestTimeout).toBeUndefined()
      expect(heard[1]?.requestTimeout).toBeLessThan(60_000)
      expect(new Set(heard.map(({ origin }) => origin)).size).toBe(2)
      expect(recorder.events).toEqual([])
    })

    it('that destroys the pool, or adds the same upstream, leaves no dispatcher open', async () => {
      const made: Pool[] = []
      let onMake = (): void => {}
      const factory: UpstreamPoolOptions['factory'] = (origin, options) => {
        const dispatcher = new Pool(origin, options)
        made.push(dispatcher)
        onMake()
        return dispatcher
      }
      const pool = toPool(['http://a.example'], { factory })
      onMake = () => {
        onMake = () => {}
        pool.addUpstream('http://b.example')
      }
      pool.addUpstream('http://b.example')
      expect(pool.upstreams).toEqual(['http://a.example', 'http://b.example'])
      // The one that was made within is the upstream.
      expect(made.map(({ destroyed }) => destroyed)).toEqual([false, true, false])
      onMake = () => void pool.destroy()
      expect(() => pool.addUpstream('http://c.example')).toThrow(errors.ClientDestroyedError)
      expect(made.map(({ destroyed }) => destroyed)).toEqual(Array(4).fill(true))
      await pool.destroy()
    })

    it('that throws leaves nothing: no upstream by addUpstream(), and no dispatcher by the constructor', () => {
      const made: Pool[] = []
      const factory: UpstreamPoolOptions['factory'] = (origin, options) => {
        if (origin.hostname === 'b.example') throw new Error('not this one')
        made.push(new Pool(origin, options))
        return made.at(-1) as Pool
      }
      const pool = toPool(['http://a.example'], { factory })
      expect(() => pool.addUpstream('http://b.example')).toThrow('not this one')
      expect(pool.upstreams).toEqual(['http://a.example'])
      expect(() => new UpstreamPool(['http://a.example', 'http://b.example'], { factory })).toThrow(
        'not this one',
      )
      expect(made.map(({ destroyed }) => destroyed)).toEqual([false, true])
    })

    it('whose dispatchers fail to end causes no unhandled rejection', async () => {
      class Failing extends Pool {
        override destroy(): Promise<void>
        override destroy(error: Error | null): Promise<void>
        override destroy(callback: () => void): void
        override destroy(error: Error | null, callback: () => void): void
        override async destroy(): Promise<void> {
          throw new Error('of the factory')
        }
      }
      const unhandled: unknown[] = []
      const onUnhandled = (reason: unknown): void => void unhandled.push(reason)
      process.on('unhandledRejection', onUnhandled)
      onTestFinished(() => void process.off('unhandledRejection', onUnhandled))
      let onMake = (): void => {}
      const factory: UpstreamPoolOptions['factory'] = (origin, options) => {
        if (origin.hostname === 'c.example') throw new Error('not this one')
        const dispatcher = new Failing(origin, options)
        onMake()
        return dispatcher
      }
      expect(() => new UpstreamPool(['http://a.example', 'http://c.example'], { factory })).toThrow(
        'not this one',
      )
      const pool = new UpstreamPool(['http://a.example'], { factory })
      onMake = () => {
        onMake = () => {}
        pool.addUpstream('http://b.example')
      }
      pool.addUpstream('http://b.example')
      await expect(pool.destroy()).rejects.toThrow('of the factory')
      await new Promise((resolve) => setImmediate(resolve))
      expect(unhandled).toEqual([])
    })

    it('that makes something else throws', () => {
      const make = () => Reflect.construct(UpstreamPool, [['http://a.example'], { factory: () => ({}) }])
      expect(make).toThrow(errors.InvalidReturnValueError)
    })
  })

  it.each([
    [['ftp://a'], {}, 'Invalid origin: got "ftp://a/", expected an http: or https: URL without'],
    [[5], {}, 'Invalid upstream: got 5, expected an origin, or an object with an origin'],
    [
      [{ origin: 'http://a', weight: 0 }],
      {},
      'Invalid weight: got 0, expected a number above 0, up to 1000000',
    ],
    [[{ origin: 'http://a', connections: 0 }], {}, 'Invalid connections: got 0'],
    [
      [],
      { latencyWindow: 0 },
      'Invalid latencyWindow: got 0, expected a whole number of milliseconds from 1',
    ],
    [[], { failureStatuses: [99] }, 'Invalid failureStatuses: got 99, expected statuses from 200 to 599'],
    [[], { failureStatuses: 503 }, 'Invalid failureStatuses: got 503, expected a list of statuses, or null'],
    [[], { maxFailures: 0 }, 'Invalid maxFailures: got 0, expected a whole number of failures from 1'],
    [[], { ejectionTime: -1 }, 'Invalid ejectionTime: got -1'],
    [[], { maxEjectionTime: 'x' }, 'Invalid maxEjectionTime: got "x"'],
    [[], { maxRetries: -1 }, 'Invalid maxRetries: got -1, expected a whole number of upstreams from 0'],
    [
      [],
      { maxEjectionPercent: 101 },
      'Invalid maxEjectionPercent: got 101, expected a whole number of percent',
    ],
    [[], { slowStart: 0.5 }, 'Invalid slowStart: got 0.5, expected a whole number of milliseconds from 0'],
    [
      [],
      { retryBudget: 20 },
      'Invalid retryBudget: got 20, expected an object with percent and minPerSecond',
    ],
    [[], { retryBudget: [] }, 'Invalid retryBudget: got'],
    [[], { retryBudget: { percent: -1 } }, 'Invalid retryBudget.percent: got -1'],
    [[], { retryBudget: { minPerSecond: 'x' } }, 'Invalid retryBudget.minPerSecond: got "x"'],
    [[], { factory: 5 }, 'Invalid factory: got 5'],
    [[], { headersTimeout: -1 }, 'Invalid headersTimeout: got -1'],
  ])('with upstreams %o and options %o throws', (upstreams, options, message) => {
    expect(() => Reflect.construct(UpstreamPool, [upstreams, options])).toThrow(message)
  })
})
