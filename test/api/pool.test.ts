import { once } from 'node:events'
import { describe, expect, it } from 'vitest'
import { Dispatcher, errors, Pool } from '../../src/index.ts'
import type { PoolOptions } from '../../types/index.ts'
import { destroyWithTest } from '../support/clients/agents.ts'
import type { TestServer } from '../support/servers/server.ts'
import { startServer } from '../support/servers/server.ts'

const LIMIT = 5

/** A server that responds to `/warm`, and holds all other requests until they are released. */
async function startHolder(limit = LIMIT) {
  const held: (() => void)[] = []
  const server = await startServer(
    (stream, headers) => {
      const response = (): void => {
        stream.respond({ ':status': 200 })
        stream.end(String(headers[':path']))
      }
      if (headers[':path'] === '/warm') response()
      else held.push(response)
    },
    { settings: { maxConcurrentStreams: limit } },
  )
  const release = (): void => {
    for (const response of held.splice(0)) response()
  }
  return { server, held, release }
}

function toPool(origin: string, options: PoolOptions = {}): Pool {
  return destroyWithTest(new Pool(origin, options))
}

async function ask(pool: Dispatcher, path: string): Promise<string> {
  const { body } = await pool.request({ path, method: 'GET' })
  return body.text()
}

const askMany = (pool: Pool, count: number): Promise<string>[] =>
  Array.from({ length: count }, (_, i) => ask(pool, `/${i}`))

const toPaths = (count: number): string[] => Array.from({ length: count }, (_, i) => `/${i}`)

/** A Pool with one session, whose limit is known. */
async function begin(options: PoolOptions, limit = LIMIT) {
  const holder = await startHolder(limit)
  const pool = toPool(holder.server.origin, options)
  expect(await ask(pool, '/warm')).toBe('/warm')
  return { ...holder, pool }
}

/** Responds to all of them, however many may run at once. */
async function finish(calls: Promise<string>[], release: () => void): Promise<string[]> {
  let left = calls.length
  for (const call of calls) call.then(() => left--).catch(() => left--)
  while (left > 0) {
    release()
    await new Promise((resolve) => setImmediate(resolve))
  }
  return Promise.all(calls)
}

const streamsOf = (pool: Pool): number[] => pool.stats.sessions.map(({ streams }) => streams)

/** A round trip on each session of a server: nothing more is on its way to it. */
async function rest({ sessions }: TestServer): Promise<void> {
  const pings = sessions.map(
    (session) =>
      new Promise<void>((resolve) => void (session.destroyed ? resolve() : session.ping(() => resolve()))),
  )
  await Promise.all(pings)
}

describe('Pool', () => {
  it('is a Dispatcher for one origin, which may be a URL', async () => {
    const { server } = await startHolder()
    const pool = destroyWithTest(new Pool(new URL(server.origin)))
    expect(pool).toBeInstanceOf(Dispatcher)
    expect(await ask(pool, '/warm')).toBe('/warm')
    expect(
      await ask(
        pool.compose((dispatch) => (options, handler) => dispatch(options, handler)),
        '/warm',
      ),
    ).toBe('/warm')
  })

  it.each([
    [{ connections: 0 }, 'connections: got 0'],
    [{ connections: 1.5 }, 'connections: got 1.5'],
    [{ pingTimeout: -1 }, 'pingTimeout: got -1'],
    [5, 'options: got 5'],
  ])('refuses %j', (options, message) => {
    expect(() => Reflect.construct(Pool, ['http://localhost', options])).toThrow(errors.InvalidArgumentError)
    expect(() => Reflect.construct(Pool, ['http://localhost', options])).toThrow(message)
  })

  it('opens a second session when the first is full, no third one, and lets the rest wait', async () => {
    const { server, held, release, pool } = await begin({ connections: 2 })
    const calls = askMany(pool, 2 * LIMIT + 3)
    await expect.poll(() => held.length).toBe(2 * LIMIT)
    await rest(server)
    expect(streamsOf(pool)).toEqual([LIMIT, LIMIT])
    expect(pool.stats).toMatchObject({ connected: 2, pending: 3, running: 2 * LIMIT, size: 2 * LIMIT + 3 })
    expect(held).toHaveLength(2 * LIMIT)
    expect(await finish(calls, release)).toEqual(toPaths(calls.length))
    expect(server.sessions).toHaveLength(2)
  })

  it('opens no second session while the first has room', async () => {
    const { server, held, release, pool } = await begin({ connections: 2 })
    const calls = askMany(pool, LIMIT)
    await expect.poll(() => held.length).toBe(LIMIT)
    await rest(server)
    expect(streamsOf(pool)).toEqual([LIMIT])
    await finish(calls, release)
    expect(server.sessions).toHaveLength(1)
  })

  it('spreads calls over the sessions that it has, the least loaded first', async () => {
    const { server, held, release, pool } = await begin({ connections: 2 })
    await finish(askMany(pool, LIMIT + 1), release)
    expect(streamsOf(pool)).toEqual([0, 0])
    const calls = askMany(pool, 6)
    await expect.poll(() => held.length).toBe(6)
    expect(streamsOf(pool)).toEqual([3, 3])
    expect(await finish(calls, release)).toEqual(toPaths(6))
    expect(server.sessions).toHaveLength(2)
  })

  it.each([
    { connections: undefined, sessions: 4 },
    { connections: 1, sessions: 1 },
    { connections: null, sessions: 8 },
  ])('has up to $sessions sessions for 40 calls with connections: $connections', async ({
    connections,
    sessions,
  }) => {
    const { server, held, release, pool } = await begin({ connections })
    const calls = askMany(pool, 8 * LIMIT)
    await expect.poll(() => held.length).toBe(sessions * LIMIT)
    await rest(server)
    expect(streamsOf(pool)).toEqual(Array(sessions).fill(LIMIT))
    expect(await finish(calls, release)).toEqual(toPaths(calls.length))
    expect(server.sessions).toHaveLength(sessions)
  })

  it('closes each session that is idle for keepAliveTimeout, and opens one for the next call', async () => {
    const { server, release, pool } = await begin({ connections: 2, keepAliveTimeout: 20 })
    const origins: string[] = []
    let disconnects = 0
    pool.on('connect', (origin) => origins.push(origin.origin))
    pool.on('disconnect', () => disconnects++)
    await finish(askMany(pool, LIMIT + 1), release)
    const { length } = server.sessions
    await expect.poll(() => server.sessions.every((session) => session.closed)).toBe(true)
    await expect.poll(() => pool.stats.sessions).toEqual([])
    expect(disconnects).toBe(length)
    expect(pool.stats).toMatchObject({ connected: 0, free: 0 })
    expect(await ask(pool, '/warm')).toBe('/warm')
    expect(server.sessions).toHaveLength(length + 1)
    expect(origins.at(-1)).toBe(server.origin)
  })

  it('keeps a session that has a call, however short keepAliveTimeout is', async () => {
    const { server, held, release, pool } = await begin({ connections: 2, keepAliveTimeout: 20 })
    let disconnects = 0
    pool.on('disconnect', () => disconnects++)
    const calls = askMany(pool, 1)
    await expect.poll(() => held.length).toBe(1)
    const { length } = server.sessions
    // Another pool of the same kind has come and gone meanwhile.
    const other = toPool(server.origin, { keepAliveTimeout: 20 })
    const gone = once(other, 'disconnect')
    await ask(other, '/warm')
    await gone
    const [busy] = pool.stats.sessions
    expect(busy).toMatchObject({ state: 'ready', streams: 1 })
    expect(await finish(calls, release)).toEqual(['/0'])
    expect(server.sessions).toHaveLength(length + 1)
    expect(disconnects).toBeLessThanOrEqual(length)
  })

  it('fails every call when it is destroyed, those on each session and those that wait', async () => {
    const { held, pool } = await begin({ connections: 2 })
    const outcomes = Promise.allSettled(askMany(pool, 2 * LIMIT + 3))
    await expect.poll(() => held.length).toBe(2 * LIMIT)
    await pool.destroy()
    const processed = (await outcomes).map((outcome) =>
      outcome.status === 'rejected' ? outcome.reason.processed : null,
    )
    expect(processed.filter((value) => value === 'maybe')).toHaveLength(2 * LIMIT)
    expect(processed.filter((value) => value === 'no')).toHaveLength(3)
    expect(pool.stats).toMatchObject({ size: 0, sessions: [] })
  })
})
