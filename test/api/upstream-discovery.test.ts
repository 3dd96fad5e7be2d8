import { AsyncLocalStorage } from 'node:async_hooks'
import { once } from 'node:events'
import { PassThrough } from 'node:stream'
import { describe, expect, it, onTestFinished, vi } from 'vitest'
import { dns, errors, Pool, UpstreamPool } from '../../src/index.ts'
import type {
  DnsOptions,
  UpstreamChange,
  UpstreamInit,
  UpstreamPoolOptions,
  UpstreamSource,
} from '../../types/index.ts'
import { destroyWithTest } from '../support/clients/agents.ts'
import { Recorder } from '../support/clients/recorder.ts'
import { NO_ERROR } from '../support/peers/error-codes.ts'
import { DnsServer } from '../support/servers/dns-server.ts'
import type { Protocol, Replica, Replicas } from '../support/servers/replicas.ts'
import { startReplicas } from '../support/servers/replicas.ts'

// Pauses of seconds are what this is about.
vi.mock('../../src/core/clock.ts', async (load) => {
  const original = await load<typeof import('../../src/core/clock.ts')>()
  const { PacedClock } = await import('../support/clocks/paced-clock.ts')
  return { ...original, systemClock: new PacedClock(original.systemClock, 10) }
})

const GET = { path: '/', method: 'GET' } as const

function toPool(source: ConstructorParameters<typeof UpstreamPool>[0], options?: UpstreamPoolOptions) {
  return destroyWithTest(new UpstreamPool(source, { slowStart: 0, ...options }))
}

async function ask(pool: UpstreamPool, options: Partial<Parameters<UpstreamPool['request']>[0]> = {}) {
  const { statusCode, body } = await pool.request({ ...GET, ...options })
  return `${statusCode} ${await body.text()}`
}

async function askMany(pool: UpstreamPool, count: number): Promise<string[]> {
  return Promise.all(Array.from({ length: count }, () => ask(pool)))
}

/** A pool over `dns()`, the name server, and the servers. */
async function startByDns(count: number, protocol: Protocol = 'h2c', options: DnsOptions = {}) {
  const [server, replicas] = [await DnsServer.start(), await startReplicas(count, protocol)]
  server.set(
    'api.test',
    'A',
    replicas.all.map(({ address }) => address),
  )
  const source = dns(replicas.origin, { servers: [server.address], ...options })
  return { server, replicas, source, pool: toPool(source, { connect: { ca: replicas.ca } }) }
}

/** A source that gives what the test pushes. */
class Feed implements AsyncIterable<readonly UpstreamInit[]> {
  readonly #sets: (readonly UpstreamInit[])[] = []
  #wake: () => void = () => {}

  push(...set: UpstreamInit[]): void {
    this.#sets.push(set)
    this.#wake()
  }

  async *[Symbol.asyncIterator]() {
    for (;;) {
      const set = this.#sets.shift()
      if (set !== undefined) yield set
      else
        await new Promise<void>((resolve) => {
          this.#wake = resolve
        })
    }
  }
}

function toInits(
  { origin }: Replicas,
  replicas: readonly Replica[],
  more: Partial<UpstreamInit> = {},
): UpstreamInit[] {
  return replicas.map(({ address }) => ({ origin, address, ...more }))
}

/** Servers, and a pool that has none of them until the test pushes their entries. */
async function startFed(count: number, options?: UpstreamPoolOptions) {
  const [replicas, feed] = [await startReplicas(count), new Feed()]
  // Those past the count are for no test.
  const inits = toInits(replicas, replicas.all) as [UpstreamInit, UpstreamInit, UpstreamInit]
  return { replicas, feed, inits, pool: toPool(feed, options) }
}

/** Pushes a set, and waits until it counts. */
async function change(pool: UpstreamPool, feed: Feed, ...set: UpstreamInit[]): Promise<UpstreamChange> {
  const changed = once(pool, 'upstreams')
  feed.push(...set)
  const [event] = await changed
  return event
}

async function hold(pool: UpstreamPool) {
  const { body } = await pool.request({ path: '/hold', method: 'GET' })
  return body
}

function isHeld(replica: Replica | undefined): boolean {
  return replica?.held.every((stream) => !stream.destroyed) === true
}

describe('an UpstreamPool with dns()', () => {
  it.each([
    'h2',
    'h2c',
    'https',
    'http',
  ] as const)('over %s: each address is an upstream, TLS and :authority are by the name', async (protocol) => {
    const [server, replicas] = [await DnsServer.start(), await startReplicas(3, protocol)]
    server.set(
      'api.test',
      'A',
      replicas.all.map(({ address }) => address),
    )
    const source = dns(replicas.origin, { servers: [server.address] })
    const pool = toPool(source, { connect: { ca: replicas.ca }, h2c: protocol !== 'http' })
    await ask(pool)
    expect(new Set(await askMany(pool, 30))).toEqual(
      new Set(['200 127.0.0.1', '200 127.0.0.2', '200 127.0.0.3']),
    )
    const names = replicas.all.map(({ address }) => `${replicas.origin}#${address}`)
    expect(pool.upstreams).toEqual(names)
    expect(Object.keys(pool.stats)).toEqual(names)
    const isTls = protocol === 'h2' || protocol === 'https'
    for (const { seen } of replicas.all) {
      expect(seen[0]).toEqual({
        authority: `api.test:${replicas.port}`,
        servername: isTls ? 'api.test' : false,
        path: '/',
      })
    }
  })

  it('with a server of the wrong name, refuses it', async () => {
    const [server, replicas] = [await DnsServer.start(), await startReplicas(1, 'h2')]
    server.set('other.test', 'A', ['127.0.0.1'])
    const source = dns(`https://other.test:${replicas.port}`, { servers: [server.address] })
    const pool = toPool(source, { connect: { ca: replicas.ca } })
    await expect(ask(pool)).rejects.toMatchObject({ code: 'ERR_TLS_CERT_ALTNAME_INVALID' })
  })

  it('with a connect function, gives it the address, and the name for TLS', async () => {
    const server = await DnsServer.start()
    server.set('api.test', 'A', ['127.0.0.1'])
    const asked: unknown[] = []
    const pool = toPool(dns('https://api.test', { servers: [server.address] }), {
      connect: ({ hostname, host, port, servername }, callback) => {
        asked.push({ hostname, host, port, servername })
        callback(new Error('not now'))
      },
    })
    await expect(ask(pool)).rejects.toThrow('not now')
    expect(asked[0]).toEqual({ hostname: '127.0.0.1', host: 'api.test', port: '', servername: 'api.test' })
  })

  it.each([
    ['family', { connect: { family: 4 } }],
    ['localAddress', { localAddress: '127.0.0.9' }],
  ] as const)('asks for no address that %s rules out', async (_title, options) => {
    const [server, replicas] = [await DnsServer.start(), await startReplicas(1)]
    server.set('api.test', 'A', ['127.0.0.1'])
    server.set('api.test', 'AAAA', ['::1'])
    const pool = toPool(dns(replicas.origin, { servers: [server.address] }), options)
    expect(await ask(pool)).toBe('200 127.0.0.1')
    expect(server.questions).toEqual(['A api.test'])
  })

  it('takes ports and priorities from SRV records: the next priority only while all of the first is out', async () => {
    const [server, one, two] = [await DnsServer.start(), await startReplicas(2), await startReplicas(2)]
    const name = '_http._tcp.api.test'
    server.set(name, 'SRV', [
      { name: 'one.test', port: one.port, weight: 1, priority: 10 },
      { name: 'two.test', port: two.port, weight: 1, priority: 20 },
    ])
    server.set('one.test', 'A', ['127.0.0.1', '127.0.0.2'])
    server.set('two.test', 'A', ['127.0.0.1', '127.0.0.2'])
    const pool = toPool(dns('http://api.test', { srv: name, servers: [server.address] }))
    await askMany(pool, 20)
    const toCounts = (replicas: Replicas): number[] => replicas.all.map(({ seen }) => seen.length)
    expect(toCounts(one)).toEqual([10, 10])
    expect(toCounts(two)).toEqual([0, 0])
    expect(one.all[0]?.seen[0]?.authority).toBe('api.test')
    await one.all[0]?.stop()
    await askMany(pool, 20)
    expect(toCounts(two)).toEqual([0, 0])
    await one.all[1]?.stop()
    expect(new Set((await askMany(pool, 20)).map((text) => text.slice(0, 3)))).toEqual(new Set(['200']))
    expect(toCounts(two).reduce((sum, count) => sum + count)).toBe(20)
    await one.start('127.0.0.1')
    const askSome = async (): Promise<number> => {
      await askMany(pool, 5)
      return one.all[2]?.seen.length ?? 0
    }
    await expect.poll(askSome).toBeGreaterThan(5)
  })

  it('resolves again at the end of the TTL: new addresses are used, and streams of those that vanish go on', async () => {
    const { server, replicas, pool } = await startByDns(2)
    server.set('api.test', 'A', ['127.0.0.1'], 6)
    const body = await hold(pool)
    await replicas.start('127.0.0.3')
    server.set('api.test', 'A', ['127.0.0.2', '127.0.0.3'], 6)
    const [{ added, removed }] = await once(pool, 'upstreams')
    expect(added).toEqual([`${replicas.origin}#127.0.0.2`, `${replicas.origin}#127.0.0.3`])
    expect(removed).toEqual([`${replicas.origin}#127.0.0.1`])
    expect(new Set(await askMany(pool, 10))).toEqual(new Set(['200 127.0.0.2', '200 127.0.0.3']))
    const [first] = replicas.all
    expect(isHeld(first)).toBe(true)
    first?.held[0]?.end(' and done')
    expect(await body.text()).toBe('begun and done')
    await expect.poll(() => first?.sessions.size).toBe(0)
  })

  it.each([
    ['NXDOMAIN', 'ENOTFOUND'],
    ['SERVFAIL', 'ESERVFAIL'],
    [[], 'ENODATA'],
  ] as const)('keeps the addresses after the answer %j, and tells of %s', async (answer, code) => {
    const { server, replicas, pool } = await startByDns(2)
    server.set('api.test', 'A', ['127.0.0.1', '127.0.0.2'], 5)
    await ask(pool)
    server.set('api.test', 'A', answer)
    server.set('api.test', 'AAAA', answer)
    const [error] = await once(pool, 'discoveryError')
    expect(error).toMatchObject({ code, message: expect.stringContaining(`dns(${replicas.origin})`) })
    expect(await ask(pool)).toMatch(/^200/)
    expect(pool.upstreams).toHaveLength(2)
  })

  it('resolves again when a connection fails, when one is lost, and after a GOAWAY', async () => {
    const signs: Record<string, (replica: Replica) => unknown> = {
      refused: (replica) => replica.stop(),
      goaway: ({ sessions }) => {
        for (const session of sessions) session.goaway(NO_ERROR)
      },
      lost: ({ sessions }) => {
        for (const session of sessions) session.destroy()
      },
    }
    for (const [title, act] of Object.entries(signs)) {
      const replicas = await startReplicas(1)
      let asked = 0
      const source = () => {
        asked++
        return { upstreams: toInits(replicas, replicas.all), ttl: 2 ** 31 - 1 }
      }
      const pool = toPool(source)
      if (title === 'goaway') await hold(pool)
      else if (title === 'lost') await ask(pool)
      expect(asked, title).toBe(1)
      await act(replicas.all[0] as Replica)
      if (title === 'refused') await expect(ask(pool)).rejects.toThrow('Could not connect')
      await expect.poll(() => asked, { message: title }).toBe(2)
      if (title === 'goaway') expect(isHeld(replicas.all[0])).toBe(true)
      await pool.destroy()
    }
  })
})

describe('a request before the first answer', () => {
  it('waits for it, and keeps the async context of its caller', async () => {
    const { replicas, feed, pool } = await startFed(1)
    const storage = new AsyncLocalStorage<string>()
    const contexts: unknown[] = []
    const asked = storage.run('caller', () =>
      pool.stream({ ...GET, opaque: null }, () => {
        contexts.push(storage.getStore())
        return new PassThrough().resume()
      }),
    )
    const more = askMany(pool, 5)
    storage.run('source', () => feed.push(...toInits(replicas, replicas.all)))
    await asked
    expect(contexts).toEqual(['caller'])
    expect(await more).toEqual(Array(5).fill('200 127.0.0.1'))
  })

  it('fails with the name and the code when that fails; a later one asks again', async () => {
    const { server, replicas, pool } = await startByDns(1)
    server.set('api.test', 'A', 'NXDOMAIN')
    server.set('api.test', 'AAAA', 'NXDOMAIN')
    const failures: unknown[] = []
    pool.on('discoveryError', (error) => failures.push(error.code))
    const [one, two] = await Promise.allSettled([ask(pool), ask(pool)])
    for (const outcome of [one, two]) {
      expect(outcome).toMatchObject({
        reason: {
          name: 'ConnectError',
          code: 'ENOTFOUND',
          processed: 'no',
          attempts: 0,
          message: expect.stringContaining(`Could not get the upstreams from dns(${replicas.origin}): query`),
          cause: { code: 'ENOTFOUND', hostname: 'api.test' },
        },
      })
    }
    // An error of its own each.
    expect(Reflect.get(one, 'reason')).not.toBe(Reflect.get(two, 'reason'))
    expect(failures).toEqual(['ENOTFOUND'])
    server.set('api.test', 'A', ['127.0.0.1'])
    expect(await ask(pool)).toBe('200 127.0.0.1')
  })

  it.each([
    ['connectTimeout', { connectTimeout: 100 }, {}, 'UND_ERR_CONNECT_TIMEOUT'],
    ['connectTimeout of the request', {}, { connectTimeout: 100 }, 'UND_ERR_CONNECT_TIMEOUT'],
    ['queueTimeout', { queueTimeout: 100 }, {}, 'DODICI_ERR_QUEUE_TIMEOUT'],
    ['requestTimeout', { requestTimeout: 100 }, {}, 'DODICI_ERR_REQUEST_TIMEOUT'],
    [
      'requestTimeout of the request',
      { connectTimeout: 0 },
      { requestTimeout: 100 },
      'DODICI_ERR_REQUEST_TIMEOUT',
    ],
  ])('waits no longer than %s', async (title, options, own, code) => {
    const pool = toPool(new Feed(), options)
    const limit = title.split(' ')[0]
    await expect(ask(pool, own)).rejects.toMatchObject({
      code,
      processed: 'no',
      message: `No upstream was found with the async iterable of upstreams within ${limit} (100 ms)`,
    })
  })

  it.each(['before', 'while it waits'])('ends when its signal is aborted %s', async (when) => {
    const pool = toPool(new Feed())
    const abort = new AbortController()
    if (when === 'before') abort.abort()
    const asked = ask(pool, { signal: abort.signal })
    abort.abort()
    await expect(asked).rejects.toMatchObject({ name: 'AbortError' })
    await pool.close()
  })

  it('ends when the handler aborts it in onRequestStart, and when that throws', async () => {
    const feed = new Feed()
    const pool = toPool(feed)
    const [aborting, throwing] = [new Recorder(), new Recorder()]
    aborting.onRequestStart = (controller) => controller.abort(new Error('never mind'))
    pool.dispatch(GET, aborting)
    throwing.onRequestStart = () => {
      throw new Error('thrown')
    }
    pool.dispatch(GET, throwing)
    expect(aborting.error?.message).toBe('never mind')
    expect(throwing.error?.message).toBe('thrown')
    await pool.close()
  })

  it.each<[string, (pool: UpstreamPool, feed: Feed, abort: AbortController) => void]>([
    ['the answer fails', (_pool, feed) => feed.push({ origin: 'rubbish' })],
    ['it is late', () => {}],
    ['it is aborted', (_pool, _feed, abort) => abort.abort()],
    ['the pool is destroyed', (pool) => void pool.destroy()],
  ])('ends its body when %s', async (title, end) => {
    const feed = new Feed()
    const pool = toPool(feed)
    const abort = new AbortController()
    const body = new PassThrough()
    body.on('error', () => {})
    const limit = title === 'it is late' ? { queueTimeout: 100 } : {}
    const asked = ask(pool, { method: 'POST', body, signal: abort.signal, ...limit })
    end(pool, feed, abort)
    await expect(asked).rejects.toThrow()
    expect(body.destroyed).toBe(true)
  })

  it('ends by destroy(), with its error', async () => {
    const pool = toPool(new Feed())
    const [one, two] = [ask(pool), ask(pool)]
    const failures = Promise.allSettled([one, two])
    await pool.destroy(new Error('enough'))
    expect(await failures).toMatchObject([
      { reason: { message: 'enough' } },
      { reason: { message: 'enough' } },
    ])
    await expect(ask(pool)).rejects.toThrow(errors.ClientDestroyedError)
  })

  it('is waited for by close(), which begins no health checks of its upstream', async () => {
    const { replicas, feed, pool } = await startFed(1, { healthCheck: { path: '/health', interval: 10 } })
    const body = hold(pool)
    const closed = pool.close()
    feed.push(...toInits(replicas, replicas.all))
    await body
    const paths = () => replicas.all[0]?.seen.map(({ path }) => path)
    // Many intervals later.
    await replicas.all[0]?.roundTrips(20)
    expect(paths()).toEqual(['/hold'])
    replicas.all[0]?.held[0]?.end()
    await (await body).text()
    await closed
  })

  it('isn’t sent if another one’s handler aborts it when the answer comes', async () => {
    const { replicas, feed, pool, inits } = await startFed(1)
    const [failing, aborted] = [new Recorder(), new Recorder()]
    failing.onResponseError = () => aborted.controller?.abort(new Error('never mind'))
    pool.dispatch({ ...GET, headers: { 'not a name': '' } }, failing)
    pool.dispatch({ ...GET, path: '/aborted' }, aborted)
    await change(pool, feed, inits[0])
    expect(await ask(pool)).toBe('200 127.0.0.1')
    expect(aborted.error.message).toBe('never mind')
    expect(replicas.all[0]?.seen.map(({ path }) => path)).toEqual(['/'])
    expect(Object.values(pool.stats)).toMatchObject([{ inFlight: 0 }])
  })

  it('has a bad option: fails at once', async () => {
    const pool = toPool(new Feed())
    await expect(ask(pool, { requestTimeout: -1 })).rejects.toThrow('Invalid requestTimeout')
  })

  it('goes to an upstream that the caller adds meanwhile', async () => {
    const replicas = await startReplicas(1)
    const pool = toPool(new Feed())
    const asked = ask(pool)
    pool.addUpstream(toInits(replicas, replicas.all)[0] as UpstreamInit)
    expect(await asked).toBe('200 127.0.0.1')
  })

  it('fails at once when no answer can come any more', async () => {
    const pool = toPool((async function* () {})())
    await once(pool, 'discoveryError')
    await expect(ask(pool)).rejects.toMatchObject({
      name: 'ConnectError',
      message:
        'Could not get the upstreams from the async iterable of upstreams: The async iterable has ended',
    })
  })

  it('goes to the upstreams of one source when another one fails', async () => {
    const replicas = await startReplicas(1)
    const feed = new Feed()
    const failing: UpstreamSource = () => Promise.reject(new Error('no'))
    const pool = toPool([failing, feed])
    const asked = ask(pool)
    await once(pool, 'discoveryError')
    feed.push(...toInits(replicas, replicas.all))
    expect(await asked).toBe('200 127.0.0.1')
  })
})

describe('when the set of a source changes', () => {
  it('an upstream that stays keeps its connection, its health and what it has counted', async () => {
    const { replicas, feed, pool, inits } = await startFed(3, {
      maxFailures: 1,
      ejectionTime: 1_000_000,
      maxEjectionTime: 1_000_000,
    })
    const [one, two, three] = inits
    await change(pool, feed, one, two)
    const [first] = replicas.all
    if (first !== undefined) first.status = 500
    await askMany(pool, 10)
    const name = `${replicas.origin}#127.0.0.1`
    const before = pool.stats[name]
    expect(before).toMatchObject({ state: 'ejected', ejections: 1 })
    const { added, removed } = await change(pool, feed, { ...one, weight: 3, priority: 1 }, three)
    expect([added, removed]).toEqual([[`${replicas.origin}#127.0.0.3`], [`${replicas.origin}#127.0.0.2`]])
    const { requests } = before ?? {}
    expect(pool.stats[name]).toMatchObject({
      ...{ state: 'ejected', latency: expect.any(Number), requests, ejections: 1 },
      ...{ weight: 3, priority: 1 },
    })
    expect(first?.sessions.size).toBe(1)
  })

  it('the same set again changes nothing, and emits nothing', async () => {
    const { replicas, feed, pool } = await startFed(1)
    const changes: unknown[] = []
    pool.on('upstreams', (event) => changes.push(event))
    const [one] = toInits(replicas, replicas.all, { connections: 1 }) as [UpstreamInit]
    feed.push(one)
    await ask(pool)
    const dispatcher = pool.getUpstream(one)
    feed.push({ ...one })
    feed.push({ ...one }, { ...one, weight: 7 })
    await change(pool, feed, one, { origin: 'http://other.test' })
    expect(changes).toHaveLength(2)
    expect(pool.getUpstream(`${replicas.origin}#127.0.0.1`)).toBe(dispatcher)
  })

  it('one whose own options change is replaced, and its streams go on', async () => {
    const { replicas, feed, pool, inits } = await startFed(1)
    const [one] = inits
    feed.push(one)
    await hold(pool)
    const name = `${replicas.origin}#127.0.0.1`
    expect(await change(pool, feed, { ...one, connections: 1 })).toEqual({
      upstreams: [name],
      added: [name],
      removed: [name],
    })
    expect(await ask(pool)).toBe('200 127.0.0.1')
    expect(isHeld(replicas.all[0])).toBe(true)
  })

  it('one that comes back while it drains is another upstream, and the old streams go on', async () => {
    const { replicas, feed, pool, inits } = await startFed(2)
    const [one, two] = inits
    feed.push(one)
    const body = await hold(pool)
    await change(pool, feed, two)
    await change(pool, feed, one)
    expect(await askMany(pool, 3)).toEqual(Array(3).fill('200 127.0.0.1'))
    expect(replicas.all[0]?.sessions.size).toBe(2)
    replicas.all[0]?.held[0]?.end()
    expect(await body.text()).toBe('begun')
    await expect.poll(() => replicas.all[0]?.sessions.size).toBe(1)
  })

  it('named upstreams stay, and an upstream of two sources stays while one of them names it', async () => {
    const replicas = await startReplicas(3)
    const [named, shared, other] = toInits(replicas, replicas.all) as [
      UpstreamInit,
      UpstreamInit,
      UpstreamInit,
    ]
    const [one, two] = [new Feed(), new Feed()]
    const pool = toPool([named, one, two])
    await change(pool, one, shared)
    await change(pool, two, shared, other)
    one.push(other)
    await ask(pool)
    expect(pool.upstreams).toHaveLength(3)
    await change(pool, two, other)
    expect(pool.upstreams).toEqual([named, other].map(({ origin, address }) => `${origin}#${address}`))
  })

  it('one that the caller removes comes back when its source names it again', async () => {
    const { replicas, feed, pool, inits } = await startFed(2)
    const [one, two] = inits
    await change(pool, feed, one, two)
    pool.removeUpstream(`${replicas.origin}#127.0.0.1`)
    expect(pool.upstreams).toEqual([`${replicas.origin}#127.0.0.2`])
    expect((await change(pool, feed, one, two)).added).toEqual([`${replicas.origin}#127.0.0.1`])
  })

  it('a factory that throws for one leaves the others, and is asked again', async () => {
    let made = 0
    const { replicas, feed, pool } = await startFed(2, {
      factory: (origin, options) => {
        made++
        if (made === 1) throw new Error('not this one')
        return new Pool(origin, options)
      },
    })
    const failed = once(pool, 'discoveryError')
    feed.push(...toInits(replicas, replicas.all))
    expect((await failed)[0].message).toBe('not this one')
    expect(await ask(pool)).toBe('200 127.0.0.2')
    expect((await change(pool, feed, ...toInits(replicas, replicas.all))).added).toHaveLength(1)
  })

  it('one that the caller adds, too, stays when its source drops it', async () => {
    const { replicas, feed, pool, inits } = await startFed(2)
    const [one, two] = inits
    await change(pool, feed, one)
    pool.addUpstream(one)
    await change(pool, feed, two)
    expect(pool.upstreams).toEqual([`${replicas.origin}#127.0.0.1`, `${replicas.origin}#127.0.0.2`])
  })

  it('and a listener destroys the pool, no further upstream is made', async () => {
    const made: Pool[] = []
    const { replicas, feed, pool } = await startFed(2, {
      factory: (origin, options) => {
        if (made.length === 0) {
          made.push(new Pool(origin, options))
          throw new Error('not this one')
        }
        const other = new Pool(origin, options)
        made.push(other)
        return other
      },
    })
    pool.on('discoveryError', () => void pool.destroy())
    const failed = once(pool, 'discoveryError')
    feed.push(...toInits(replicas, replicas.all))
    await failed
    await pool.destroy()
    expect(made).toHaveLength(1)
    await made[0]?.destroy()
  })

  it('and a listener throws, calls are begun or failed all the same', async () => {
    const thrown: unknown[] = []
    const listeners = process.listeners('uncaughtException')
    process.removeAllListeners('uncaughtException')
    process.on('uncaughtException', (error) => thrown.push(error.message))
    onTestFinished(() => {
      process.removeAllListeners('uncaughtException')
      for (const listener of listeners) process.on('uncaughtException', listener)
    })
    const replicas = await startReplicas(2)
    const onError = (): never => {
      throw new Error('listener')
    }
    let made = 0
    const feed = new Feed()
    const pool = toPool(feed, {
      factory: (origin, options) => {
        made++
        if (made === 1) throw new Error('not this one')
        return new Pool(origin, options)
      },
    }).on('discoveryError', onError)
    const begun = ask(pool, { connectTimeout: 3_000 })
    feed.push(...toInits(replicas, replicas.all))
    expect(await begun).toBe('200 127.0.0.2')
    const failing = toPool(() => Promise.reject(new Error('down'))).on('discoveryError', onError)
    await expect(ask(failing, { connectTimeout: 3_000 })).rejects.toThrow('down')
    await expect.poll(() => thrown).toEqual(['listener', 'listener'])
  })

  it('rubbish is told, and changes nothing', async () => {
    const { replicas, feed, pool } = await startFed(1)
    await change(pool, feed, ...toInits(replicas, replicas.all))
    const failed = once(pool, 'discoveryError')
    feed.push({ origin: 'http://a.test', address: 'b.test' })
    expect((await failed)[0]).toMatchObject({
      message:
        'Could not get the upstreams from the async iterable of upstreams: upstreams[0]: Invalid address: got "b.test", expected an IP address, with or without a port, or null',
    })
    expect(await ask(pool)).toBe('200 127.0.0.1')
  })

  it('with one bad entry, the good ones are used, and the bad one is told', async () => {
    const { feed, pool, inits } = await startFed(2)
    const [one, two] = inits
    await change(pool, feed, one)
    const failed = once(pool, 'discoveryError')
    const { added, removed } = await change(pool, feed, { origin: 'http://a.test', address: 'b.test' }, two)
    expect([added, removed]).toEqual([[`${two.origin}#127.0.0.2`], [`${one.origin}#127.0.0.1`]])
    expect((await failed)[0]).toMatchObject({
      name: 'ConnectError',
      code: 'UND_ERR_INVALID_ARG',
      message:
        'Could not get all upstreams from the async iterable of upstreams: upstreams[0]: Invalid address: got "b.test", expected an IP address, with or without a port, or null',
    })
    expect(await ask(pool)).toBe('200 127.0.0.2')
  })

  it.each([
    1, 2, 3,
  ])('and the factory destroys the pool at upstream %d, no dispatcher is left open', async (at) => {
    const made: Pool[] = []
    const { replicas, feed, pool } = await startFed(3, {
      factory: (origin, options) => {
        made.push(new Pool(origin, options))
        if (made.length === at) void pool.destroy()
        return made.at(-1) as Pool
      },
    })
    const onChange = vi.fn()
    pool.on('upstreams', onChange)
    feed.push(...toInits(replicas, replicas.all))
    await expect.poll(() => made.map(({ destroyed }) => destroyed)).toEqual(Array(at).fill(true))
    expect(onChange).not.toHaveBeenCalled()
    await pool.destroy()
  })
})

describe('a service that grows from 4 to 16 addresses', () => {
  it.each([
    0, 50,
  ])('inside interval + 10 s each new one has its share of the requests, and %d long streams go on', async (streams) => {
    const { server, replicas, source } = await startByDns(4)
    const pool = toPool(source, { slowStart: 10_000 })
    await ask(pool)
    const bodies = await Promise.all(Array.from({ length: streams }, () => hold(pool)))
    for (let index = 5; index <= 16; index++) await replicas.start(`127.0.0.${index}`)
    const asked = (): number => server.questions.filter((question) => question === 'A api.test').length
    const askedBefore = asked()
    server.set(
      'api.test',
      'A',
      replicas.all.map(({ address }) => address),
    )
    await once(pool, 'upstreams')
    expect(asked()).toBe(askedBefore + 1)
    // The clock is ten times as fast: 10 s are 1 s.
    for (const end = performance.now() + 1_000; performance.now() < end; ) await askMany(pool, 16)
    /** What each new one gets of the next requests: 1 is its share. */
    async function measure(): Promise<number[]> {
      const before = replicas.all.map(({ seen }) => seen.length)
      for (let round = 0; round < 200; round++) await askMany(pool, 16)
      return replicas.all.map(({ seen }, index) => (seen.length - (before[index] ?? 0)) / 200).slice(4)
    }
    const share = (await measure()).reduce((sum, one) => sum + one) / 12
    expect(share).toBeGreaterThan(0.9)
    expect(share).toBeLessThan(1.1)
    // A moment in which a busy machine stood still is ten times as long by the pool's clock: its server is avoided until that is forgotten.
    await expect.poll(async () => Math.min(...(await measure()))).toBeGreaterThan(0.3)
    const open = replicas.all.flatMap(({ held }) => held.filter(({ destroyed }) => !destroyed))
    expect(open).toHaveLength(streams)
    for (const stream of open) stream.end()
    expect(await Promise.all(bodies.map((body) => body.text()))).toEqual(Array(streams).fill('begun'))
  })
})
