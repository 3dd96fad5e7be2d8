/**
 * The most talkative of real servers are not taken for a flood. What engine `wire` charges for frames that bring nothing is looked at
 * as it is charged: docs/engines.md says how much of it is left.
 */

import { readFileSync } from 'node:fs'
import { fileURLToPath } from 'node:url'
import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, it } from 'vitest'
import { call } from '../../examples/grpc/request-client.mjs'
import { TokenBucket } from '../../src/core/token-bucket.ts'
import { Client } from '../../src/index.ts'
import { destroyWithTest } from '../support/clients/agents.ts'
import { ENGINES } from '../support/clients/engines.ts'
import { isFull } from '../support/clocks/sample.ts'
import { lacks } from '../support/servers/programs.ts'
import { lacksEnvoy } from '../support/servers/proxy-programs.ts'
import { Cleaner } from './fetch-servers.ts'
import { startGrpcServer } from './grpc-servers.ts'
import type { TalkativeServer } from './talkative-servers.ts'
import {
  LARGE,
  startApache,
  startEnvoy,
  startGo,
  startNghttpd,
  startNginx,
  startNode,
} from './talkative-servers.ts'

/** Tokens of a full budget: src/protocol/limits.ts, and docs/engines.md. */
const BURST = 5_000
/** How long building and starting the servers may take. Milliseconds. */
const START_LIMIT = 180_000
const PIECES = 3_000

/** What the budgets of frames have been charged, at the most at one time. Time gives nothing back here, though it does. */
class Ledger {
  readonly #spent = new Map<TokenBucket, number>()
  /** The budgets of our own resets earn nothing. */
  readonly #earning = new Set<TokenBucket>()
  readonly #most = new Map<TokenBucket, number>()
  readonly #original = { take: TokenBucket.prototype.take, earn: TokenBucket.prototype.earn }

  open(): void {
    const { take, earn } = this.#original
    const ledger = this
    TokenBucket.prototype.take = function (tokens = 1) {
      const isThere = take.call(this, tokens)
      if (isThere) ledger.#add(this, tokens)
      return isThere
    }
    TokenBucket.prototype.earn = function (tokens) {
      earn.call(this, tokens)
      ledger.#earning.add(this)
      if ((ledger.#spent.get(this) ?? 0) > 0) ledger.#add(this, -tokens)
    }
  }

  #add(bucket: TokenBucket, tokens: number): void {
    const spent = (this.#spent.get(bucket) ?? 0) + tokens
    this.#spent.set(bucket, spent)
    this.#most.set(bucket, Math.max(spent, this.#most.get(bucket) ?? 0))
  }

  close(): void {
    Object.assign(TokenBucket.prototype, this.#original)
  }

  /** What the emptiest budget had left. Throws where no budget of a peer was seen, as a full one would prove nothing. */
  get least(): number {
    const budgets = [...this.#most].filter(([bucket]) => this.#earning.has(bucket))
    if (budgets.length === 0)
      throw new Error('No budget of frames was charged and earned: nothing was measured')
    return BURST - Math.max(0, ...budgets.map(([, most]) => most))
  }
}

async function* toPieces(count: number, size: number): AsyncGenerator<Buffer> {
  const piece = Buffer.alloc(size, 'u')
  for (let index = 0; index < count; index++) {
    // Each in a frame of its own.
    await new Promise((resolve) => setImmediate(resolve))
    yield piece
  }
}

async function drip(client: Client): Promise<void> {
  const { body } = await client.request({ path: `/drip?${PIECES}`, method: 'GET' })
  expect(await body.text()).toBe('d'.repeat(PIECES))
}

async function sip(client: Client, count: number, size: number): Promise<void> {
  const { body } = await client.request({ path: '/sip', method: 'POST', body: toPieces(count, size) })
  expect(await body.text()).toBe(`${count * size}`)
}

async function abandonEach(client: Client, path: string): Promise<void> {
  for (let round = 0; round < 5; round++) {
    const calls = Array.from({ length: 20 }, async () => {
      const { body } = await client.request({ path, method: 'GET' })
      body.on('error', () => {}).destroy()
    })
    await Promise.all(calls)
  }
}

/** Abandons calls while their responses come in frames of a byte, and is served by the same connection afterwards. */
async function abandon(client: Client): Promise<void> {
  await abandonEach(client, `/drip?${PIECES}`)
  await drip(client)
}

/** nghttpd has files, and no pieces. */
async function abandonFiles(client: Client): Promise<void> {
  await abandonEach(client, '/large')
  const { body } = await client.request({ path: '/large', method: 'GET' })
  expect((await body.text()).length).toBe(LARGE)
}

/** To nghttpd, which sends back what it got. */
async function echo(client: Client): Promise<void> {
  const { body } = await client.request({ path: '/echo', method: 'POST', body: toPieces(2_000, 10) })
  expect(await body.text()).toBe('u'.repeat(20_000))
}

async function chat(client: Client): Promise<void> {
  let count = 0
  for await (const message of call(client, 'dodici.Test/Chat', toPieces(PIECES, 3))) {
    count++
    expect(`${message}`).toContain('uuu')
  }
  expect(count).toBe(PIECES)
}

interface Scene {
  readonly name: string
  readonly server: 'node' | 'go' | 'nginx' | 'apache' | 'nghttpd' | 'envoy' | 'grpc-go'
  readonly play: (client: Client) => Promise<void>
}

const atOnce = (count: number, play: (client: Client) => Promise<void>) => async (client: Client) => {
  await Promise.all(Array.from({ length: count }, () => play(client)))
}

const SCENES: readonly Scene[] = [
  {
    name: 'Node: bodies in frames of a byte, PINGs and SETTINGS all the time',
    server: 'node',
    play: atOnce(10, drip),
  },
  {
    name: 'Node: uploads that it reads byte by byte',
    server: 'node',
    play: atOnce(5, (client) => sip(client, 500, 100)),
  },
  { name: 'Node: 100 calls abandoned while bytes come', server: 'node', play: abandon },
  { name: 'Go: bodies in frames of a byte', server: 'go', play: atOnce(10, drip) },
  {
    name: 'Go: uploads that it reads byte by byte',
    server: 'go',
    play: atOnce(5, (client) => sip(client, 2_000, 10)),
  },
  { name: 'Go: 100 calls abandoned while bytes come', server: 'go', play: abandon },
  {
    name: 'Go: 100 informational responses to each of 10 calls',
    server: 'go',
    play: atOnce(10, async (client) => {
      const { body } = await client.request({ path: '/hints?100', method: 'GET' })
      expect(await body.text()).toBe('hinted')
    }),
  },
  ...(['nginx', 'apache'] as const).flatMap((server): Scene[] => {
    const name = server === 'apache' ? 'Apache' : server
    return [
      { name: `${name}: bodies in frames of a byte`, server, play: atOnce(10, drip) },
      {
        name: `${name}: uploads in pieces of 10 bytes`,
        server,
        play: atOnce(5, (client) => sip(client, 2_000, 10)),
      },
      { name: `${name}: 100 calls abandoned while bytes come`, server, play: abandon },
    ]
  }),
  {
    name: 'nghttpd: uploads in pieces of 10 bytes, into a window of 255 bytes',
    server: 'nghttpd',
    play: atOnce(5, echo),
  },
  { name: 'nghttpd: 100 calls abandoned while a file comes', server: 'nghttpd', play: abandonFiles },
  { name: 'Envoy: bodies in frames of a byte, a PING each 20 ms', server: 'envoy', play: atOnce(10, drip) },
  {
    name: 'Envoy: uploads in pieces of 10 bytes',
    server: 'envoy',
    play: atOnce(5, (client) => sip(client, 2_000, 10)),
  },
  { name: 'Envoy: 100 calls abandoned while bytes come', server: 'envoy', play: abandon },
  {
    name: 'grpc-go: messages of 3 bytes both ways, with its PINGs for BDP',
    server: 'grpc-go',
    play: atOnce(5, chat),
  },
]

/** What engine `wire` had left at least, by docs/engines.md. */
const documented = new Map(
  readFileSync(fileURLToPath(new URL('../../docs/engines.md', import.meta.url)), 'utf8')
    .split('\n')
    .flatMap((line) => {
      const [, name, least] =
        /^\| ((?:Node|Go|nginx|Apache|nghttpd|Envoy|grpc-go): [^|]+) \| ([\d,]+) \|$/.exec(line) ?? []
      return name === undefined || least === undefined
        ? []
        : [[name, Number(least.replace(',', ''))] as const]
    }),
)

it('docs/engines.md has each scene', () => {
  expect([...documented.keys()]).toEqual(SCENES.map(({ name }) => name))
})

const isLacking = (['go', 'nginx', 'apache2', 'nghttpd'] as const).map(lacks).includes(true) || lacksEnvoy()

describe.skipIf(isLacking)('the most talkative of real servers', () => {
  const cleaner = new Cleaner()
  const servers: Partial<Record<Scene['server'], TalkativeServer>> = {}
  let ledger: Ledger

  beforeAll(async () => {
    servers.node = await startNode(cleaner)
    servers.go = await startGo(cleaner)
    servers.nginx = await startNginx(cleaner)
    servers.apache = await startApache(cleaner)
    servers.nghttpd = await startNghttpd(cleaner)
    servers.envoy = await startEnvoy(cleaner)
    servers['grpc-go'] = await startGrpcServer('grpc-go', cleaner)
  }, START_LIMIT)
  afterAll(() => cleaner.clean())

  beforeEach(() => {
    ledger = new Ledger()
    ledger.open()
  })
  afterEach(() => ledger.close())

  describe.each(ENGINES)('on engine %s', (engine) => {
    // Engine node has no budget of ours: a scene of each server shows that it is kept there, too.
    const isOnce = engine === 'node' && !isFull
    const scenes = SCENES.filter(
      ({ server }, at) => !isOnce || SCENES.findIndex((one) => one.server === server) === at,
    )
    it.each(scenes)('keep their connection: $name', async ({ name, server, play }) => {
      const { origin, ca } = servers[server] as TalkativeServer
      const client = destroyWithTest(
        new Client(origin, { engine, h2c: true, connect: ca === '' ? {} : { ca } }),
      )
      const disconnects: unknown[] = []
      client.on('disconnect', (...event) => disconnects.push(event.at(-1)))
      await play(client)
      expect(disconnects).toEqual([])
      if (engine === 'wire') {
        expect(ledger.least).toBeGreaterThanOrEqual(documented.get(name) ?? BURST)
      }
    })
  })
})
