import type { ServerHttp2Stream } from 'node:http2'
import { describe, expect, it } from 'vitest'
import type { Dispatcher } from '../../src/index.ts'
import { errors, Pool, UpstreamPool } from '../../src/index.ts'
import type { UpstreamPoolOptions } from '../../types/index.ts'
import { destroyWithTest } from '../support/clients/agents.ts'
import { CANCEL, REFUSED_STREAM } from '../support/peers/error-codes.ts'
import { findFreePort } from '../support/servers/free-port.ts'
import type { StreamListener } from '../support/servers/server.ts'
import { startServer } from '../support/servers/server.ts'

const GET = { path: '/', method: 'GET' } as const
const POST = { path: '/', method: 'POST', body: 'x' } as const
const FOREVER = 2 ** 31 - 1

/** A server that counts its requests. */
async function start(listener: StreamListener) {
  let requests = 0
  const { origin } = await startServer((stream, headers) => {
    requests++
    listener(stream, headers)
  })
  return {
    origin,
    get requests() {
      return requests
    },
  }
}

type Started = Awaited<ReturnType<typeof start>>

function toPool(servers: readonly (Started | string)[], options: UpstreamPoolOptions = {}) {
  const origins = servers.map((server) => (typeof server === 'string' ? server : server.origin))
  const pool = destroyWithTest(new UpstreamPool(origins, options))
  return pool
}

/** Responds at once. */
function respond(status: number, fields: Record<string, string> = {}): StreamListener {
  return (stream) => {
    stream.respond({ ':status': status, ...fields })
    stream.end('x')
  }
}

/** Responds with 200 after 20 milliseconds, which is far longer than what is done at once. */
const well: StreamListener = (stream) => {
  setTimeout(() => {
    if (!stream.destroyed) respond(200)(stream, {})
  }, 20)
}

/** Says nothing. */
const silent: StreamListener = () => {}
/** Ends the connection with the request on it. */
const kill: StreamListener = (stream) => stream.session?.destroy()
/** Resets the stream: the request may have been processed. */
const reset: StreamListener = (stream) => stream.close(CANCEL)

/** A gRPC status in the header section, or in the trailer section. */
function failGrpc(status: number, isTrailersOnly: boolean): StreamListener {
  const field = { 'grpc-status': `${status}` }
  return (stream: ServerHttp2Stream) => {
    const headers = { ':status': 200, 'content-type': 'application/grpc' }
    if (isTrailersOnly) {
      stream.respond({ ...headers, ...field }, { endStream: true })
      return
    }
    stream.respond(headers, { waitForTrailers: true })
    stream.on('wantTrailers', () => stream.sendTrailers(field))
    stream.end('x')
  }
}

async function ask(pool: UpstreamPool, options: Parameters<UpstreamPool['request']>[0] = GET) {
  const { statusCode, body } = await pool.request(options)
  await body.dump()
  return statusCode
}

async function toRefusing(): Promise<string> {
  return `http://127.0.0.1:${await findFreePort()}`
}

describe('an upstream that fails at once, beside one that takes its time', () => {
  describe.each([
    ['500', respond(500)],
    ['503', respond(503)],
    ['511', respond(511)],
    ['429', respond(429)],
    ['429 with retry-after', respond(429, { 'retry-after': '60' })],
    ['503 with retry-after', respond(503, { 'retry-after': '60' })],
    ['gRPC’s UNAVAILABLE in the header section', failGrpc(14, true)],
    ['gRPC’s UNAVAILABLE in the trailer section', failGrpc(14, false)],
    ['gRPC’s RESOURCE_EXHAUSTED', failGrpc(8, true)],
    ['a reset, of requests that must not be repeated', reset],
  ])('by %s', (_what, listener) => {
    it.each([1, 10])('gets few requests, with %d at a time', async (atATime) => {
      const [bad, good] = [await start(listener), await start(well)]
      const pool = toPool([bad, good], { maxRetries: 0 })
      const calls = atATime === 1 ? 40 : 200
      let left = calls
      const run = async (): Promise<void> => {
        while (left-- > 0) await ask(pool).catch((error) => expect(error).toBeInstanceOf(errors.StreamError))
      }
      await Promise.all(Array.from({ length: atATime }, run))
      expect(bad.requests / calls).toBeLessThan(0.25)
      expect(bad.requests + good.requests).toBe(calls)
    })
  })

  it('and asks for no requests by retry-after, gets none for that time', async () => {
    const bad = await start(respond(503, { 'retry-after': '3600' }))
    const good = await start(respond(200))
    const pool = toPool([bad], { maxEjectionTime: FOREVER })
    expect(await ask(pool)).toBe(503)
    pool.addUpstream(good.origin)
    for (let i = 0; i < 20; i++) expect(await ask(pool)).toBe(200)
    expect(bad.requests).toBe(1)
    expect(pool.stats[bad.origin]).toMatchObject({ state: 'overloaded', ejections: 0, failures: 1 })
  })

  it('and all others ask for none either, gets requests all the same', async () => {
    const servers = [await start(respond(429, { 'retry-after': '3600' }))]
    servers.push(await start(respond(429, { 'retry-after': '3600' })))
    const pool = toPool(servers)
    for (let i = 0; i < 10; i++) expect(await ask(pool)).toBe(429)
    expect(Object.values(pool.stats).map(({ state, failures }) => [state, failures])).toEqual([
      ['overloaded', 0],
      ['overloaded', 0],
    ])
    expect(servers.every(({ requests }) => requests > 1)).toBe(true)
  })
})

describe('when more than half of the upstreams fail', () => {
  const options = { ejectionTime: FOREVER, maxEjectionTime: FOREVER, maxFailures: 1 }
  const toEjected = (pool: UpstreamPool) =>
    Object.values(pool.stats).filter(({ state }) => state === 'ejected').length

  it.each([
    { bad: 1, of: 2, ejected: 1 },
    { bad: 2, of: 2, ejected: 1 },
    { bad: 2, of: 3, ejected: 1 },
    { bad: 2, of: 4, ejected: 2 },
    { bad: 4, of: 4, ejected: 2 },
  ])('$bad of $of, at most half are ejected, and the others get the requests', async ({
    bad,
    of,
    ejected,
  }) => {
    const servers = await Promise.all(
      Array.from({ length: of }, (_, index) => start(respond(index < bad ? 500 : 200))),
    )
    const pool = toPool(servers, options)
    for (let i = 0; i < 200; i++) await ask(pool)
    expect(toEjected(pool)).toBe(ejected)
    const before = Object.values(pool.stats).map(({ requests }) => requests)
    for (let i = 0; i < 50; i++) await ask(pool)
    const got = Object.values(pool.stats).filter(({ requests }, index) => requests > (before[index] ?? 0))
    expect(got.map(({ state }) => state)).toEqual(Array(got.length).fill('healthy'))
    // Those that are well get nearly all of them.
    const isWell = Object.values(pool.stats).slice(bad)
    const share =
      isWell.reduce((sum, { requests }, index) => sum + requests - (before[bad + index] ?? 0), 0) / 50
    if (bad < of) expect(share).toBeGreaterThan(0.8)
  })

  it('and more than half are left out, since some ask for no requests, requests go to all of them', async () => {
    const busy = (stream: ServerHttp2Stream) =>
      stream.respond({ ':status': 503, 'retry-after': '600' }, { endStream: true })
    const servers = [await start(busy), await start(busy), await start(respond(200))]
    const pool = toPool(servers, options)
    for (let i = 0; i < 20; i++) await ask(pool)
    const counts = () => Object.values(pool.stats).map(({ requests }) => requests)
    expect(counts().every((count) => count > 0)).toBe(true)
  })
})

describe('requests to servers that fail after they got them', () => {
  const factory: UpstreamPoolOptions['factory'] = (origin, options): Dispatcher => new Pool(origin, options)
  const none = { percent: 0, minPerSecond: 0 }

  it.each([
    ['GETs that get no response', silent, 3, GET, {}, 20],
    ['GETs without a budget', silent, 3, GET, { retryBudget: none }, 10],
    ['GETs with maxRetries: 2', silent, 3, GET, { maxRetries: 2 }, 30],
    ['PUTs', silent, 3, { path: '/', method: 'PUT' }, {}, 10],
    ['POSTs', silent, 3, POST, {}, 10],
    ['PUTs that may be repeated', silent, 3, { path: '/', method: 'PUT', idempotent: true }, {}, 20],
    ['GETs that are reset', reset, 4, GET, {}, 20],
    ['GETs that are refused', (stream: ServerHttp2Stream) => stream.close(REFUSED_STREAM), 1, GET, {}, null],
  ] as const)('%s: are so many', async (_what, listener, count, options, poolOptions, expected) => {
    const servers = await Promise.all(Array.from({ length: count }, () => start(listener)))
    const pool = toPool(servers, { ...poolOptions, headersTimeout: 100 })
    const calls = Array.from({ length: 10 }, () => ask(pool, options))
    expect((await Promise.allSettled(calls)).every(({ status }) => status === 'rejected')).toBe(true)
    const toRequests = (): number => servers.reduce((sum, server) => sum + server.requests, 0)
    // On a busy machine a call may be late before its server has heard of it.
    if (expected !== null) await expect.poll(toRequests).toBe(expected)
    await pool.close()
    // What a server refuses again and again is bounded by the rules of its Pool alone.
    if (expected === null) expect(toRequests()).toBeLessThanOrEqual(80)
    else expect(toRequests()).toBe(expected)
  })

  describe.each([
    ['a Pool', {}],
    ['a dispatcher of the caller’s', { factory }],
  ])('by %s: a GET that kills its connection', (_what, dispatchers) => {
    it.each([
      [1, {}, 2],
      [2, {}, 2],
      [3, {}, 2],
      [4, { maxRetries: 1 }, 2],
      [1, { replaySafe: false }, 1],
      [3, { replaySafe: false }, 1],
      [2, { maxRetries: 0 }, 2],
    ])('over %d upstreams with %o reaches %d', async (count, options, expected) => {
      const servers = await Promise.all(Array.from({ length: count }, () => start(kill)))
      const pool = toPool(servers, { ...options, ...dispatchers })
      await expect(ask(pool)).rejects.toMatchObject({ processed: 'maybe', attempts: expected })
      expect(servers.reduce((sum, server) => sum + server.requests, 0)).toBe(expected)
    })
  })

  it.each([1, 2])('without a budget, a GET that kills its connection reaches one of %d', async (count) => {
    const servers = await Promise.all(Array.from({ length: count }, () => start(kill)))
    const pool = toPool(servers, { retryBudget: none })
    await expect(ask(pool)).rejects.toMatchObject({ processed: 'maybe', attempts: 1 })
    expect(servers.reduce((sum, server) => sum + server.requests, 0)).toBe(1)
  })

  it('share one budget, whether the Pool or another upstream gets them again', async () => {
    const [first, second] = [await start(kill), await start(kill)]
    const pool = toPool([first], { retryBudget: { percent: 50, minPerSecond: 0 }, maxFailures: 100 })
    const attempts: number[] = []
    const fail = async (): Promise<void> => {
      const error: unknown = await ask(pool).catch((thrown: unknown) => thrown)
      if (!(error instanceof errors.DodiciError)) throw error
      attempts.push(error.attempts)
    }
    for (let i = 0; i < 3; i++) await fail()
    pool.addUpstream(second.origin)
    for (let i = 0; i < 3; i++) await fail()
    expect(attempts).toEqual([1, 2, 1, 2, 1, 2])
    expect(first.requests + second.requests).toBe(9)
  })
})

describe('upstreams that refuse connections', () => {
  it('cost no budget, and don’t count as retries: a POST goes on to one that is there', async () => {
    const good = await start(respond(200))
    const refusing = [await toRefusing(), await toRefusing(), await toRefusing()]
    const retryBudget = { percent: 0, minPerSecond: 0 }
    const pool = toPool([...refusing, good], { retryBudget, maxEjectionPercent: 0 })
    for (let i = 0; i < 20; i++) expect(await ask(pool, POST)).toBe(200)
    expect(good.requests).toBe(20)
  })

  it('with maxRetries: 0 fail the request', async () => {
    const good = await start(respond(200))
    const pool = toPool([await toRefusing()], { maxRetries: 0 })
    const call = ask(pool, POST)
    pool.addUpstream(good.origin)
    await expect(call).rejects.toMatchObject({ code: 'ECONNREFUSED', processed: 'no' })
    expect(good.requests).toBe(0)
  })
})

describe('an ejected upstream that says nothing', () => {
  it('is probed by another request once the first is late', async () => {
    const quiet = await start(silent)
    const good = await start(respond(200))
    const pool = toPool([quiet], { maxFailures: 1, ejectionTime: 1, headersTimeout: 50, maxRetries: 0 })
    await expect(ask(pool)).rejects.toBeInstanceOf(errors.HeadersTimeoutError)
    pool.addUpstream(good.origin)
    expect(pool.stats[quiet.origin]).toMatchObject({ state: 'ejected' })
    const probes: Promise<unknown>[] = []
    // Each probe has all the time of the test: none ends.
    await expect
      .poll(() => {
        probes.push(ask(pool, { ...GET, headersTimeout: 0 }).catch(() => {}))
        return quiet.requests
      })
      .toBe(3)
    expect(pool.stats[quiet.origin]).toMatchObject({ state: 'probing', ejections: 1, inFlight: 2 })
    await pool.destroy()
    await Promise.all(probes)
  })
})

describe('an ejected upstream', () => {
  it('is probed by a POST when no other requests come', async () => {
    let isBad = true
    const listener: StreamListener = (stream, headers) => respond(isBad ? 500 : 200)(stream, headers)
    const [bad, good] = [await start(listener), await start(respond(200))]
    const pool = toPool([bad, good], { maxFailures: 1, ejectionTime: 20 })
    const toStats = async () => {
      await ask(pool, POST)
      return pool.stats[bad.origin]
    }
    await expect.poll(toStats).toMatchObject({ ejections: 1 })
    isBad = false
    await expect.poll(toStats).toMatchObject({ state: 'healthy' })
  })
})
