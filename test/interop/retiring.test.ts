import { mkdtemp, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterAll, beforeAll, describe, expect, it, onTestFinished } from 'vitest'
import type { AgentOptions, Dispatcher } from '../../src/index.ts'
import { Agent, Client, errors, Pool } from '../../src/index.ts'
import { DEFAULT_ENGINE } from '../../src/options/options.ts'
import { findLosses, SteadyLoad, toProcessed } from '../support/clients/steady-load.ts'
import { inTurn } from '../support/clocks/sample.ts'
import type { AccessLine } from '../support/servers/access-log.ts'
import { countConnections, countRequests } from '../support/servers/access-log.ts'
import { lacksApache, startApache } from '../support/servers/apache.ts'
import { lacksNginx, startNginx } from '../support/servers/nginx.ts'
import { buildGoServer, GO_BUILD_LIMIT, lacksGo, toGoServers } from '../support/servers/restarting-server.ts'

const REQUESTS = 1_000
/** After how many requests a server retires a connection. */
const RETIRED_AFTER = 50

type MakeDispatcher = (origin: string, options: AgentOptions) => Dispatcher

interface Case {
  readonly what: string
  readonly make: MakeDispatcher
  readonly inFlight: number
}

function toCases(what: string, make: MakeDispatcher): Case[] {
  return [100, 20].map((inFlight) => ({ what, make, inFlight }))
}

const POOLS: readonly Case[] = [
  ...toCases(
    'Pool of one connection',
    (origin, { connect }) => new Pool(origin, { connect, connections: 1 }),
  ),
  ...toCases('Pool', (origin, { connect }) => new Pool(origin, { connect })),
]

const ALL: readonly Case[] = [
  ...toCases('Client', (origin, { connect }) => new Client(origin, { connect })),
  ...POOLS,
  ...toCases('Agent', (_, { connect }) => new Agent({ connect, h2c: true })),
]

function connect(make: MakeDispatcher, origin: string, ca = ''): Dispatcher {
  const dispatcher = make(origin, { connect: ca === '' ? {} : { ca } })
  onTestFinished(() => dispatcher.destroy())
  return dispatcher
}

const METHODS = ['GET', 'POST'] as const

/** Each case with its methods, in turn: with 100 requests, and with 20, each kind of dispatcher sends both, and the other ones on the other engine. */
function withMethods(cases: readonly Case[]): (Case & { readonly method: 'GET' | 'POST' })[] {
  const first = DEFAULT_ENGINE === 'node' ? 0 : 1
  return cases.flatMap((each, at) =>
    inTurn(METHODS, first + at + (at >> 1)).map((method) => ({ ...each, method })),
  )
}

/** Each request was processed once, on so many connections at least. */
function expectEachOnce(lines: readonly AccessLine[], connections: number): void {
  expect(lines).toHaveLength(REQUESTS)
  expect(countRequests(lines).size).toBe(REQUESTS)
  expect(countConnections(lines)).toBeGreaterThanOrEqual(connections)
}

describe.skipIf(lacksNginx).each([
  { protocol: 'h2c', tls: false, cases: ALL },
  { protocol: 'h2 over TLS', tls: true, cases: POOLS },
])('nginx with keepalive_requests 50, over $protocol', ({ tls, cases }) => {
  const server = `keepalive_requests ${RETIRED_AFTER}; location / { return 200 '$request_method $request_uri'; }`

  describe.each(withMethods(cases))('when a $what has $inFlight requests out', ({
    make,
    inFlight,
    method,
  }) => {
    it(`responds to each ${method}, and processes none twice`, async () => {
      const nginx = await startNginx({ tls, server })
      const dispatcher = connect(make, nginx.origin, nginx.ca)
      const load = new SteadyLoad(dispatcher, { origin: nginx.origin, inFlight, toMethod: () => method })
      await load.run(REQUESTS)
      expect(findLosses(load.outcomes)).toEqual([])
      await dispatcher.close()
      expectEachOnce(await nginx.stop(), REQUESTS / RETIRED_AFTER)
    })
  })
})

describe.skipIf(lacksGo)("Go's net/http that retires a connection after 50 requests", () => {
  let folder = ''
  let binary = ''

  beforeAll(async () => {
    folder = await mkdtemp(join(tmpdir(), 'dodici-go-'))
    binary = await buildGoServer(folder)
  }, GO_BUILD_LIMIT)

  afterAll(() => rm(folder, { recursive: true, force: true }))

  describe.each(withMethods(POOLS))('when a $what has $inFlight requests out', ({
    make,
    inFlight,
    method,
  }) => {
    it(`responds to each ${method}, and processes none twice`, async () => {
      const { ca, start } = await toGoServers(binary, RETIRED_AFTER)
      const server = await start()
      const origin = `https://localhost:${server.port}`
      const dispatcher = connect(make, origin, ca)
      const load = new SteadyLoad(dispatcher, { origin, inFlight, toMethod: () => method })
      await load.run(REQUESTS)
      expect(findLosses(load.outcomes)).toEqual([])
      await dispatcher.close()
      await server.end('SIGTERM')
      // What has come by the time of the GOAWAY is still taken up.
      expectEachOnce(server.lines, REQUESTS / (RETIRED_AFTER + 2 * inFlight))
    })
  })
})

describe.skipIf(lacksApache)('Apache that is restarted gracefully', () => {
  // MaxKeepAliveRequests is nothing to mod_http2 (2.4.71): a connection lasts until the process behind it is retired.
  const RESTARTS = 5
  const PAUSE = 100

  describe.each(POOLS)('when a $what has $inFlight requests out', ({ make, inFlight }) => {
    it('responds to each GET that one restart cuts off; a POST fails as maybe, and none is processed twice', async () => {
      const apache = await startApache()
      const dispatcher = connect(make, apache.origin)
      const toMethod = (index: number) => (index % 2 === 0 ? 'GET' : 'POST')
      const load = new SteadyLoad(dispatcher, { origin: apache.origin, inFlight, toMethod })
      await load.runDuring(async () => {
        for (let restart = 0; restart < RESTARTS; restart++) {
          await load.pass(PAUSE)
          await apache.restart()
        }
        await load.pass(PAUSE)
      })
      // A failed repeat isn't repeated (RFC 9110 §9.2.2): on a busy machine the next restart may cut that off as well.
      const wasCutTwice = (error: unknown) => error instanceof errors.SocketError && error.attempts === 2
      const gets = load.outcomes.filter(({ method }) => method === 'GET')
      expect(findLosses(gets.filter(({ error }) => !wasCutTwice(error)))).toEqual([])
      expect(gets.filter(({ error }) => wasCutTwice(error)).length).toBeLessThanOrEqual(inFlight)
      const lost = load.outcomes.filter(({ method, error }) => method === 'POST' && error !== null)
      expect(
        lost.map(({ error }) => toProcessed(error)).filter((processed) => processed !== 'maybe'),
      ).toEqual([])
      await dispatcher.close()
      const lines = await apache.stop()
      // Not one for each restart: a process that is told to go may get to it only after the next one was told.
      expect(countConnections(lines)).toBeGreaterThan(RESTARTS / 2)
      const counts = countRequests(lines.filter(({ method }) => method === 'POST'))
      expect([...counts].filter(([, count]) => count > 1)).toEqual([])
    })
  })
})
