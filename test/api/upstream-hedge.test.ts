/** Second attempts of an UpstreamPool with real servers; test/unit/dispatcher/upstream/hedged-call.test.ts has the rules. */

import { subscribe, unsubscribe } from 'node:diagnostics_channel'
import { createServer } from 'node:http'
import * as undici7 from 'undici'
import * as undici6 from 'undici-6'
import { describe, expect, it, onTestFinished } from 'vitest'
import { Pool, UpstreamPool } from '../../src/index.ts'
import type { Dispatcher, UpstreamPoolOptions } from '../../types/index.ts'
import { destroyWithTest } from '../support/clients/agents.ts'
import { ENGINES } from '../support/clients/engines.ts'
import { Recorder } from '../support/clients/recorder.ts'
import { CANCEL, NO_ERROR } from '../support/peers/error-codes.ts'
import { listen } from '../support/servers/listen.ts'
import type { StreamListener } from '../support/servers/server.ts'
import { startServer } from '../support/servers/server.ts'

const GET = { path: '/', method: 'GET' } as const
/** Milliseconds: a request is late after so long, while its first upstream doesn't respond at all. */
const AFTER = 20

interface Started {
  readonly origin: string
  readonly bodies: string[]
  /** With which codes its streams were closed. */
  readonly codes: number[]
}

/** Reads the request, then does what the listener says. */
async function start(listener: StreamListener): Promise<Started> {
  const bodies: string[] = []
  const codes: number[] = []
  const { origin } = await startServer((stream, headers) => {
    const chunks: Buffer[] = []
    stream.on('close', () => codes.push(stream.rstCode))
    stream.on('data', (chunk: Buffer) => chunks.push(chunk))
    stream.on('end', () => {
      bodies.push(Buffer.concat(chunks).toString())
      listener(stream, headers)
    })
  })
  return { origin, bodies, codes }
}

const silent: StreamListener = () => {}
const serve: StreamListener = (stream) => {
  stream.respond({ ':status': 200 })
  stream.end('served')
}

describe.each(ENGINES)('hedge, on engine %s', (engine) => {
  function toPool(servers: readonly Started[], options: UpstreamPoolOptions = {}): UpstreamPool {
    const origins = servers.map(({ origin }) => origin)
    const pool = destroyWithTest(
      new UpstreamPool(origins, { engine, slowStart: 0, hedge: { after: AFTER }, ...options }),
    )
    return pool
  }

  const askFor = async (pool: UpstreamPool, options: object = {}): Promise<string> => {
    const { body } = await pool.request({ ...GET, ...options })
    return body.text()
  }

  it.each([
    { what: 'a GET', options: {}, body: '' },
    { what: 'a string', options: { method: 'POST', idempotent: true, body: 'text' }, body: 'text' },
    {
      what: 'bytes',
      options: { method: 'POST', idempotent: true, body: Buffer.from('bytes') },
      body: 'bytes',
    },
    { what: 'a Blob', options: { method: 'POST', idempotent: true, body: new Blob(['blob']) }, body: 'blob' },
    { what: 'a function', options: { method: 'POST', idempotent: true, body: () => ['a', 'b'] }, body: 'ab' },
  ])('sends $what to a second upstream, whose response counts, and resets the first stream with CANCEL', async ({
    options,
    body,
  }) => {
    const [hung, well] = [await start(silent), await start(serve)]
    const pool = toPool([hung, well])
    // The first request goes to the first upstream.
    expect(await askFor(pool, options)).toBe('served')
    await expect.poll(() => hung.codes).toEqual([CANCEL])
    expect([hung.bodies, well.bodies]).toEqual([[body], [body]])
    expect(well.codes).toEqual([NO_ERROR])
    expect(pool.stats).toMatchObject({
      [hung.origin]: { requests: 1, failures: 0, hedges: 0, hedgeWins: 0, inFlight: 0, state: 'healthy' },
      [well.origin]: { requests: 1, failures: 0, hedges: 1, hedgeWins: 1, inFlight: 0 },
    })
  })

  it.each([
    { what: 'a POST', options: { method: 'POST', body: 'x' } },
    { what: 'a GET with idempotent: false', options: { idempotent: false } },
    {
      what: 'a body that can be read once',
      options: {
        method: 'POST',
        idempotent: true,
        headers: { 'content-length': '1' },
        body: (function* () {
          yield 'x'
        })(),
      },
    },
  ])('never sends $what twice', async ({ options }) => {
    const [hung, well] = [await start(silent), await start(serve)]
    const pool = toPool([hung, well])
    const call = pool.request({ ...GET, headersTimeout: 5 * AFTER, ...options, maxReplayBuffer: 0 })
    if ('idempotent' in options && options.idempotent === true)
      await expect(call.catch((error) => error.processed)).resolves.toBe('maybe')
    else await expect(call).rejects.toThrow('headersTimeout')
    // By the client's own numbers: a busy machine may learn of the limit before its server hears of the request.
    expect(Object.values(pool.stats).map(({ requests }) => requests)).toEqual([1, 0])
    expect(well.bodies).toEqual([])
  })

  it('with one upstream sends nothing twice', async () => {
    const hung = await start(silent)
    const pool = toPool([hung])
    await expect(pool.request({ ...GET, headersTimeout: 5 * AFTER })).rejects.toThrow('headersTimeout')
    expect(pool.stats[hung.origin]).toMatchObject({ requests: 1, hedges: 0 })
  })

  it("with after: 'p95' begins when 20 responses have come", async () => {
    let hangs = 0
    /** The next request hangs, wherever it comes. */
    const listener: StreamListener = (stream, headers) => {
      if (hangs > 0) hangs--
      else if (!stream.destroyed) serve(stream, headers)
    }
    const servers = [await start(listener), await start(listener)]
    const pool = toPool(servers, { hedge: { after: 'p95' }, latencyWindow: 1_000_000, maxRetries: 0 })
    hangs = 1
    await expect(pool.request({ ...GET, headersTimeout: 5 * AFTER })).rejects.toThrow('headersTimeout')
    // On a busy machine the server may not have heard of it.
    hangs = 0
    for (let i = 0; i < 20; i++) expect(await askFor(pool)).toBe('served')
    hangs = 1
    expect(await askFor(pool)).toBe('served')
    const wins = servers.map(({ origin }) => pool.stats[origin]?.hedgeWins ?? 0)
    expect(wins.toSorted()).toEqual([0, 1])
  })

  it('fails no request when one of the two attempts loses its connection', async () => {
    const [dead, slow] = [
      await start((stream) => setTimeout(() => stream.session?.destroy(), 4 * AFTER)),
      await start((stream, headers) => setTimeout(serve, 8 * AFTER, stream, headers)),
    ]
    const pool = toPool([dead, slow])
    expect(await askFor(pool)).toBe('served')
    expect([dead.bodies.length, slow.bodies.length]).toEqual([1, 1])
  })

  it('makes two attempts at most when both are lost, whatever maxRetries and the Pools would allow', async () => {
    const kill: StreamListener = (stream) => setTimeout(() => stream.session?.destroy(), 4 * AFTER)
    const servers = [await start(kill), await start(kill), await start(kill)]
    for (const maxRetries of [0, 1, 5]) {
      const pool = toPool(servers, { maxRetries })
      const before = servers.reduce((sum, { bodies }) => sum + bodies.length, 0)
      await expect(pool.request(GET)).rejects.toMatchObject({
        name: 'SocketError',
        processed: 'maybe',
        attempts: 2,
      })
      expect(servers.reduce((sum, { bodies }) => sum + bodies.length, 0) - before).toBe(2)
    }
  })

  it('tells that a server may have processed the request when the first attempt still connects', async () => {
    const hung = await start(silent)
    const stuck = { origin: 'http://stuck.example', connect: () => {} }
    const pool = destroyWithTest(
      new UpstreamPool([stuck, hung.origin], { engine, slowStart: 0, hedge: { after: AFTER } }),
    )
    let error: unknown = null
    // On a busy machine the second attempt needs longer to reach its server.
    for (let requestTimeout = 20 * AFTER; hung.bodies.length === 0; requestTimeout *= 2) {
      error = await pool.request({ ...GET, requestTimeout }).catch((thrown) => thrown)
    }
    expect(error).toMatchObject({ name: 'RequestTimeoutError', processed: 'maybe', attempts: 1 })
  })

  it('fails when its handler throws as the second attempt is made', async () => {
    const [hung, well] = [await start(silent), await start(silent)]
    const pool = toPool([hung, well])
    const thrown = new Error('thrown')
    let release: () => void = () => {}
    const released = new Promise<void>((resolve) => {
      release = resolve
    })
    class Throwing extends Recorder {
      onRequestSent(): void {
        throw thrown
      }
    }
    const recorder = new Throwing()
    const body = async function* () {
      yield 'x'
      await released
    }
    pool.dispatch({ path: '/', method: 'POST', idempotent: true, body: () => body() }, recorder)
    await expect.poll(() => Object.values(pool.stats).map(({ requests }) => requests)).toEqual([1, 1])
    release()
    await recorder.settled
    expect(recorder.events).toEqual(['start', 'error'])
    expect(recorder.error).toBe(thrown)
  })

  it('aborts both attempts with the call', async () => {
    const servers = [await start(silent), await start(silent)]
    const pool = toPool(servers)
    const controller = new AbortController()
    const call = pool.request({ ...GET, signal: controller.signal })
    call.catch(() => {})
    await expect.poll(() => servers.map(({ bodies }) => bodies.length)).toEqual([1, 1])
    controller.abort()
    await expect(call).rejects.toMatchObject({ name: 'AbortError' })
    await expect.poll(() => servers.flatMap(({ codes }) => codes)).toEqual([CANCEL, CANCEL])
  })

  it('sends no more than the budget allows', async () => {
    const [hung, well] = [await start(silent), await start(serve)]
    const pool = toPool([hung, well], { retryBudget: { percent: 0, minPerSecond: 0 } })
    await expect(pool.request({ ...GET, headersTimeout: 5 * AFTER })).rejects.toThrow('headersTimeout')
    expect(well.bodies).toHaveLength(0)
  })

  it('close() waits for the call', async () => {
    const [hung, well] = [await start(silent), await start(serve)]
    const pool = toPool([hung, well])
    const call = askFor(pool)
    const closed = pool.close()
    expect(await call).toBe('served')
    await closed
  })

  it('is published', async () => {
    const [hung, well] = [await start(silent), await start(serve)]
    const messages: unknown[] = []
    const onMessage = (message: unknown): void => {
      if ((message as { first: string }).first === hung.origin) messages.push(message)
    }
    subscribe('dodici:upstream:hedge', onMessage)
    onTestFinished(() => void unsubscribe('dodici:upstream:hedge', onMessage))
    expect(await askFor(toPool([hung, well]))).toBe('served')
    expect(messages).toEqual([{ first: hung.origin, second: well.origin, after: expect.any(Number) }])
    expect((messages[0] as { after: number }).after).toBeGreaterThanOrEqual(AFTER)
  })

  it('is told by `attempts` of the connection', async () => {
    const pool = toPool([await start(silent), await start(serve)])
    const recorder = new Recorder()
    pool.dispatch(GET, recorder)
    await recorder.settled
    expect(recorder.events).toEqual(['start', 'response 200', 'data', 'end'])
    expect(recorder.controller?.connection?.attempts).toBe(2)
  })

  it('serves fetch', async () => {
    const [hung, well] = [await start(silent), await start(serve)]
    const pool = toPool([hung, well])
    const { fetch } = await import('../../src/index.ts')
    const response = await fetch(hung.origin, { dispatcher: pool })
    expect(await response.text()).toBe('served')
  })
})

describe.each([
  ['6', undici6.Pool],
  ['7', undici7.Pool],
])('hedge over Pools of undici %s, which tell of a request when they have a connection', (_version, TheirPool) => {
  /** The first upstream never gets a connection, the second one responds to `/`. */
  async function toPool(): Promise<UpstreamPool> {
    const { port } = await listen(
      createServer(({ url }, response) => {
        if (url !== '/') return
        response.write('served')
        setTimeout(() => response.end(), AFTER)
      }),
    )
    const factory = (origin: URL): Dispatcher =>
      Reflect.construct(TheirPool, [origin, origin.hostname === 'stuck.example' ? { connect: () => {} } : {}])
    const origins = ['http://stuck.example', `http://127.0.0.1:${port}`]
    const pool = new UpstreamPool(origins, { factory, slowStart: 0, hedge: { after: AFTER } })
    onTestFinished(() => void pool.destroy())
    return pool
  }

  it('begins the call before the response', async () => {
    const pool = await toPool()
    const recorder = new Recorder()
    pool.dispatch(GET, recorder)
    await recorder.settled
    expect(recorder.events.filter((event) => event !== 'data')).toEqual(['start', 'response 200', 'end'])
    expect(recorder.text).toBe('served')
  })

  it('aborts it before the response', async () => {
    const pool = await toPool()
    const controller = new AbortController()
    const call = pool.request({ ...GET, path: '/silent', signal: controller.signal })
    call.catch(() => {})
    await expect.poll(() => Object.values(pool.stats).map(({ requests }) => requests)).toEqual([1, 1])
    controller.abort()
    await expect(call).rejects.toMatchObject({ name: 'AbortError' })
  })

  it('aborts it after the headers', async () => {
    const pool = await toPool()
    const controller = new AbortController()
    const { body } = await pool.request({ ...GET, signal: controller.signal })
    controller.abort()
    await expect(body.text()).rejects.toMatchObject({ name: 'AbortError' })
  })
})

describe('the option hedge', () => {
  it.each([
    [{ hedge: true }, 'Invalid hedge: got true, expected an object with after, or null'],
    [{ hedge: {} }, "Invalid hedge.after: got undefined, expected 'p95', or milliseconds"],
    [{ hedge: { after: 'p99' } }, 'Invalid hedge.after: got "p99", expected \'p95\', or milliseconds'],
    [
      { hedge: { after: 0 } },
      'Invalid hedge.after: got 0, expected a whole number of milliseconds from 1 to 2147483647',
    ],
    [{ hedge: { after: 10 }, replaySafe: false }, 'expected null when replaySafe is false'],
  ])('%j is refused', (options, message) => {
    expect(() => new UpstreamPool([], options as UpstreamPoolOptions)).toThrow(message)
  })

  it.each([null, undefined, { after: 'p95' }, { after: 1 }])('%j is accepted', (hedge) => {
    const pool = new UpstreamPool([], { hedge } as UpstreamPoolOptions)
    expect(pool.upstreams).toEqual([])
  })

  it('has no effect on a Pool, as other options of an UpstreamPool', () => {
    expect(() => new Pool('http://localhost:1', { hedge: { after: 1 } } as object)).not.toThrow()
  })
})
