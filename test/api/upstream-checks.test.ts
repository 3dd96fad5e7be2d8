import { describe, expect, it } from 'vitest'
import { Pool, UpstreamPool } from '../../src/index.ts'
import type { UpstreamPoolOptions } from '../../types/index.ts'
import { destroyWithTest } from '../support/clients/agents.ts'
import { startServer } from '../support/servers/server.ts'

const GET = { path: '/', method: 'GET' } as const
const HEALTH = '/health'
const GRPC = '/grpc.health.v1.Health/Check'

/** A server that is as well as the test says. */
async function start(path: string) {
  const server = { origin: '', health: 200, calls: 0, checks: 0, bodies: [] as string[] }
  const { origin } = await startServer((stream, headers) => {
    if (headers[':path'] !== path) {
      server.calls++
      stream.respond({ ':status': 200 })
      stream.end('x')
      return
    }
    server.checks++
    stream.setEncoding('hex')
    stream.on('data', (chunk: string) => server.bodies.push(chunk))
    if (path === HEALTH) {
      stream.respond({ ':status': server.health })
      stream.end()
      return
    }
    stream.respond({ ':status': 200, 'content-type': headers['content-type'] }, { waitForTrailers: true })
    stream.on('wantTrailers', () => stream.sendTrailers({ 'grpc-status': '0' }))
    stream.end(Buffer.from(server.health === 200 ? '00000000020801' : '00000000020802', 'hex'))
  })
  server.origin = origin
  return server
}

function toPool(origins: string[], options: UpstreamPoolOptions) {
  const pool = destroyWithTest(new UpstreamPool(origins, { ejectionTime: 10, ...options }))
  return pool
}

async function ask(pool: UpstreamPool): Promise<number> {
  const { statusCode, body } = await pool.request(GET)
  await body.dump()
  return statusCode
}

describe('healthCheck', () => {
  it.each([
    ['of a path', HEALTH, { path: HEALTH }],
    ['with statuses', HEALTH, { path: HEALTH, expect: [200, 204] }],
    ['with a function', HEALTH, { path: HEALTH, expect: ({ statusCode = 0 }) => statusCode < 300 }],
    ['of gRPC', GRPC, { grpc: true }],
    ['of a gRPC service', GRPC, { grpc: 'a.B' }],
  ])('%s: ejects an upstream that is not well, and takes it back', async (_what, path, check) => {
    const [a, b] = [await start(path), await start(path)]
    const pool = toPool([a.origin, b.origin], { healthCheck: { ...check, interval: 5 } })
    await expect.poll(() => Math.min(a.checks, b.checks)).toBeGreaterThan(2)
    expect(pool.stats[a.origin]).toMatchObject({ state: 'healthy', requests: 0 })
    a.health = 503
    await expect.poll(() => pool.stats[a.origin]?.ejections).toBeGreaterThan(1)
    const { calls } = a
    // It is ejected, or probed by a check: no call probes it.
    for (let i = 0; i < 20; i++) expect(await ask(pool)).toBe(200)
    expect([a.calls - calls, b.calls]).toEqual([0, 20])
    a.health = 200
    await expect.poll(() => pool.stats[a.origin]?.state).toBe('healthy')
    expect(pool.stats[a.origin]).toMatchObject({ requests: 0, failures: 0 })
    if (path === GRPC) expect(new Set(a.bodies).size).toBe(1)
  })

  it('goes on while all upstreams fail their checks, and calls go to all of them', async () => {
    const [a, b] = [await start(HEALTH), await start(HEALTH)]
    a.health = 500
    b.health = 500
    const healthCheck = { path: HEALTH, interval: 5 }
    const pool = toPool([a.origin, b.origin], {
      healthCheck,
      ejectionTime: 100_000,
      maxEjectionTime: 100_000,
    })
    const toStates = () => Object.values(pool.stats).map(({ state }) => state)
    await expect.poll(toStates).toEqual(['ejected', 'ejected'])
    expect(await ask(pool)).toBe(200)
  })

  it('begins with an upstream that is added, and ends with one that is removed, and with close()', async () => {
    const [a, b] = [await start(HEALTH), await start(HEALTH)]
    const pool = toPool([], { healthCheck: { path: HEALTH, interval: 5 } })
    pool.addUpstream(a.origin).addUpstream(b.origin)
    await expect.poll(() => Math.min(a.checks, b.checks)).toBeGreaterThan(1)
    const removed = pool.getUpstream(a.origin)
    pool.removeUpstream(a.origin)
    await expect.poll(() => removed instanceof Pool && removed.destroyed).toBe(true)
    const { checks } = a
    const before = b.checks
    await expect.poll(() => b.checks).toBeGreaterThan(before + 2)
    expect(a.checks).toBe(checks)
    // The check that runs doesn't hold it.
    await pool.close()
  })

  it.each([
    [5, 'Invalid healthCheck: got 5, expected an object with path or grpc, or null'],
    [{}, 'Invalid healthCheck.path: got undefined, expected a path that begins with /'],
    [{ path: 'health' }, 'Invalid healthCheck.path: got "health"'],
    [{ path: '/', interval: 0 }, 'Invalid healthCheck.interval: got 0'],
    [{ path: '/', timeout: 'x' }, 'Invalid healthCheck.timeout: got "x"'],
    [
      { path: '/', expect: 200 },
      'Invalid healthCheck.expect: got 200, expected a list of statuses, a function',
    ],
    [{ path: '/', expect: [99] }, 'Invalid healthCheck.expect: got 99, expected statuses from 200 to 599'],
    [
      { path: '/', grpc: true },
      'Invalid healthCheck.path: got "/", expected none when healthCheck.grpc is set',
    ],
    [{ expect: [200], grpc: true }, 'Invalid healthCheck.expect: got'],
    [{ grpc: 'x'.repeat(128) }, 'Invalid healthCheck.grpc: got'],
  ])('%o is refused', (healthCheck, message) => {
    expect(() => Reflect.construct(UpstreamPool, [[], { healthCheck }])).toThrow(message)
  })
})
