import { mkdtemp, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterAll, beforeAll, describe, expect, it, onTestFinished } from 'vitest'
import type { Dispatcher, PoolOptions } from '../../src/index.ts'
import { Agent, Client, Pool } from '../../src/index.ts'
import { DEFAULT_ENGINE } from '../../src/options/options.ts'
import { destroyWithTest } from '../support/clients/agents.ts'
import { findLosses, SteadyLoad, toProcessed } from '../support/clients/steady-load.ts'
import { inTurn } from '../support/clocks/sample.ts'
import type { AccessLine } from '../support/servers/access-log.ts'
import { countRequests } from '../support/servers/access-log.ts'
import type { RestartingServer, ServerKind } from '../support/servers/restarting-server.ts'
import {
  buildGoServer,
  GO_BUILD_LIMIT,
  lacksGo,
  toGoServers,
  toNodeServers,
} from '../support/servers/restarting-server.ts'
import type { Relay } from '../support/servers/rolling-relay.ts'
import { startRelay } from '../support/servers/rolling-relay.ts'

/** Servers behind one address. */
const SERVERS = 3
/** How many requests are out at any time, and how many settle between one restart and the next. */
const IN_FLIGHT = 20
const PAUSE = 200

type MakeDispatcher = (origin: string, options: PoolOptions) => Dispatcher

interface Sender {
  readonly what: string
  readonly make: MakeDispatcher
  /** The requests are those of Node's own fetch. */
  readonly byFetch?: boolean
}

const DISPATCHERS: readonly Sender[] = [
  { what: 'Client', make: (origin, { connect }) => new Client(origin, { connect }) },
  { what: 'Pool', make: (origin, { connect }) => new Pool(origin, { connect }) },
  {
    what: 'Pool that needs a session to each server',
    make: (origin, { connect }) => new Pool(origin, { connect, maxConcurrentStreams: 8 }),
  },
  { what: 'Agent', make: (_, { connect }) => new Agent({ connect, h2c: true }) },
  {
    what: "Agent that Node's own fetch uses",
    make: (_, { connect }) => new Agent({ connect, h2c: true, maxConcurrentStreams: 8 }),
    byFetch: true,
  },
]

const ENDS = ['gracefully', 'killed'] as const

/** The ends of the servers, in turn; on the other engine each sender meets the other one. */
function toEnds(sender: Sender, turn: number) {
  return { ...sender, ends: inTurn(ENDS, turn + (DEFAULT_ENGINE === 'node' ? 0 : 1)) }
}

let folder = ''
let goServer = ''

beforeAll(async () => {
  folder = await mkdtemp(join(tmpdir(), 'dodici-go-'))
  if (!lacksGo) goServer = await buildGoServer(folder)
}, GO_BUILD_LIMIT)

afterAll(() => rm(folder, { recursive: true, force: true }))

/** Three servers behind one address, and a load of as many GETs as POSTs on it. */
class Deployment {
  readonly load: SteadyLoad
  readonly dispatcher: Dispatcher
  readonly origin: string
  readonly #kind: ServerKind
  readonly #relay: Relay
  readonly #servers: RestartingServer[]
  readonly #ended: RestartingServer[] = []

  private constructor(kind: ServerKind, relay: Relay, servers: RestartingServer[], sender: Sender) {
    const { make, byFetch = false } = sender
    this.#kind = kind
    this.#relay = relay
    this.#servers = servers
    relay.servers.push(...servers.map(({ port }) => port))
    this.origin = `${kind.protocol}//localhost:${relay.port}`
    this.dispatcher = make(this.origin, { connect: kind.ca === '' ? {} : { ca: kind.ca } })
    onTestFinished(() => this.dispatcher.destroy())
    this.load = new SteadyLoad(this.dispatcher, {
      origin: this.origin,
      inFlight: IN_FLIGHT,
      byFetch,
      toMethod: (index) => (index % 2 === 0 ? 'GET' : 'POST'),
    })
  }

  static async start(kind: ServerKind, sender: Sender): Promise<Deployment> {
    const relay = await startRelay()
    const servers = await Promise.all(Array.from({ length: SERVERS }, () => kind.start()))
    return new Deployment(kind, relay, servers, sender)
  }

  /** As in a deployment: out of rotation, finish, start anew, back into rotation. */
  async restart(index: number): Promise<void> {
    this.#relay.servers[index] = null
    await this.#replace(index, 'SIGTERM')
  }

  /** Kills the server that has the request with this path, without a GOAWAY, and starts another in its place. */
  async kill(path: string): Promise<void> {
    const index = await Promise.race(
      this.#servers.map(async (server, index) => {
        await server.takesUp(path)
        return index
      }),
    )
    await this.#replace(index, 'SIGKILL')
  }

  async #replace(index: number, signal: 'SIGTERM' | 'SIGKILL'): Promise<void> {
    const server = this.#servers[index]
    if (server === undefined) throw new Error(`There is no server ${index}`)
    await server.end(signal)
    this.#ended.push(server)
    const next = await this.#kind.start()
    this.#servers[index] = next
    this.#relay.servers[index] = next.port
  }

  /** Ends all, and gives what each server took up in its life; those that were restarted come first. */
  async end(): Promise<(readonly AccessLine[])[]> {
    await this.dispatcher.close()
    await Promise.all(this.#servers.map((server) => server.end('SIGTERM')))
    return [...this.#ended, ...this.#servers].map(({ lines }) => lines)
  }
}

describe.skipIf(lacksGo)(
  "when all of a Pool's sessions lead to one server of Go's net/http, and it is killed",
  () => {
    it('retries each GET on the next server, and none on a session that dies as well', async () => {
      const relay = await startRelay()
      const { ca, start } = await toGoServers(goServer)
      const [first, second] = [await start(), await start()]
      relay.servers.push(first.port)
      const origin = `https://localhost:${relay.port}`
      const pool = destroyWithTest(new Pool(origin, { connect: { ca }, maxConcurrentStreams: 8 }))
      const load = new SteadyLoad(pool, { origin, inFlight: IN_FLIGHT, toMethod: () => 'GET' })
      await load.runDuring(async () => {
        await load.pass(PAUSE)
        expect(pool.stats.connected).toBeGreaterThan(1)
        relay.servers[0] = second.port
        await first.end('SIGKILL')
        await load.pass(PAUSE)
      })
      expect(findLosses(load.outcomes)).toEqual([])
    })
  },
)

describe.each([
  {
    server: "Go's net/http",
    lacksIt: lacksGo,
    toKind: () => toGoServers(goServer),
    dispatchers: DISPATCHERS,
  },
  // Node takes its time to start: no more of that than tells something new.
  {
    server: 'node:http2',
    lacksIt: false,
    toKind: toNodeServers,
    dispatchers: [...DISPATCHERS.slice(1, 3), ...DISPATCHERS.slice(4)],
  },
])('three servers of $server behind one address', ({ lacksIt, toKind, dispatchers }) => {
  describe.skipIf(lacksIt).each(dispatchers.map(toEnds))(
    'under a steady load from a $what',
    ({ ends, ...sender }) => {
      if (ends.includes('gracefully'))
        it('that are restarted gracefully in turn respond to each request, and process none twice', async () => {
          const deployment = await Deployment.start(await toKind(), sender)
          const { load } = deployment
          await load.runDuring(async () => {
            for (let index = 0; index < SERVERS; index++) {
              await load.pass(PAUSE)
              await deployment.restart(index)
            }
            await load.pass(PAUSE)
          })
          expect(findLosses(load.outcomes)).toEqual([])
          const lives = await deployment.end()
          // All three had work when they were told to go.
          expect(lives.slice(0, SERVERS).map((lines) => lines.length > 0)).toEqual([true, true, true])
          const counts = countRequests(lives.flat())
          expect(load.outcomes.filter(({ name }) => counts.get(name) !== 1)).toEqual([])
        })

      if (ends.includes('killed'))
        it('that are killed in turn respond to each GET; a running POST fails as maybe, and none is processed twice', async () => {
          const deployment = await Deployment.start(await toKind(), sender)
          const { load, dispatcher, origin } = deployment
          await load.runDuring(async () => {
            for (let round = 0; round < SERVERS; round++) {
              await load.pass(PAUSE)
              const path = `/${round}/held`
              // With an end, so that a second attempt would fail: it would get no response.
              const limits = { requestTimeout: 10_000 }
              const held = dispatcher
                .request({ origin, path, method: 'POST', body: 'x', ...limits })
                .catch(toError)
              await deployment.kill(path)
              expect(await held).toMatchObject({ processed: 'maybe', attempts: 1 })
            }
            await load.pass(PAUSE)
          })
          const posts = load.outcomes.filter(({ method }) => method === 'POST')
          expect(findLosses(load.outcomes.filter(({ method }) => method === 'GET'))).toEqual([])
          const counts = countRequests((await deployment.end()).flat())
          for (const { name, response, error } of posts) {
            if (error === null) expect([response, counts.get(name)]).toEqual([`200 ${name}`, 1])
            else expect([toProcessed(error), (counts.get(name) ?? 0) < 2]).toEqual(['maybe', true])
          }
          expect([0, 1, 2].map((round) => counts.get(`POST /${round}/held`))).toEqual([1, 1, 1])
        })
    },
  )
})

function toError(error: unknown): unknown {
  return error
}
