import { describe, expect, it, vi } from 'vitest'
import type { ConnectionScript } from '../../src/testing/fault-connection.ts'
import type { FaultServer } from '../../src/testing/fault-server.ts'
import { frames } from '../../src/testing/frames.ts'
import type { CoalesceOptions } from '../../types/index.ts'
import { askAgent, toAgent } from '../support/clients/agents.ts'
import { ENGINES } from '../support/clients/engines.ts'
import { startPeer } from '../support/peers/peer-rig.ts'
import { toNamesCertificate, toNamesLookup } from '../support/servers/shared-names.ts'

/**
 * Ten times as slow: on a busy machine the first handshake may take a second, for which the other origins would wait no longer
 * (coalescing-life.test.ts has that limit).
 */
vi.mock('../../src/core/clock.ts', async (load) => {
  const original = await load<typeof import('../../src/core/clock.ts')>()
  const { PacedClock } = await import('../support/clocks/paced-clock.ts')
  return { ...original, systemClock: new PacedClock(original.systemClock, 0.1) }
})

const NAMES = ['a.origin.test', 'b.origin.test', 'c.origin.test']
const ORIGIN = 0xc
const certificate = toNamesCertificate(NAMES)
const SETTINGS = frames.settings([4, 1_048_576])
const CREDIT = frames.windowUpdate(0, 65_536)

/**
 * What is written in one turn after the other, each part in its own TLS record. A frame must lie in one turn: other frames
 * of the server come between two.
 */
type Pieces = readonly (Buffer | readonly Buffer[])[]

interface Rig {
  readonly peer: FaultServer
  ask(name: string): Promise<string>
  toOrigin(name: string): string
  readonly asked: readonly string[]
}

function toOriginFrame(...origins: readonly string[]): Buffer {
  const entries = origins.map((origin) => {
    const size = Buffer.alloc(2)
    size.writeUInt16BE(origin.length)
    return Buffer.concat([size, Buffer.from(origin, 'latin1')])
  })
  return frames.frame(ORIGIN, 0, 0, Buffer.concat(entries))
}

function nextTurn(): Promise<void> {
  return new Promise((resolve) => setImmediate(resolve))
}

/**
 * A server that begins each connection with these pieces, and responds to no request before they are out.
 *
 * @param toPieces `toOrigin` gives a name's origin at the server's port
 */
async function setUp(
  engine: 'node' | 'wire',
  toPieces: (toOrigin: Rig['toOrigin']) => Pieces,
  coalesce: CoalesceOptions = { origins: 'origin-frame' },
): Promise<Rig> {
  const toOrigin = (name: string): string => `https://${name}:${new URL(peer.origin).port}`
  let greeting = Promise.resolve()
  const script: ConnectionScript = {
    settings: null,
    onConnection: (connection) => {
      greeting = (async () => {
        for (const piece of toPieces(toOrigin)) {
          for (const part of [piece].flat()) connection.write(part)
          await nextTurn()
        }
      })()
    },
    onComplete: async (stream) => {
      await greeting
      stream.respond({ body: stream.field(':authority') ?? '' })
    },
  }
  const { key, cert } = await certificate
  const peer = await startPeer(script, { key, cert })
  const lookup = toNamesLookup({ '*': ['127.0.0.1'] })
  const agent = toAgent({ coalesce, engine, connect: { ca: cert, lookup } })
  const ask = (name: string): Promise<string> => askAgent(agent, toOrigin(name))
  return { peer, ask, toOrigin, asked: lookup.asked }
}

async function askAll({ ask, toOrigin }: Rig): Promise<void> {
  for (const name of NAMES) expect(await ask(name)).toBe(new URL(toOrigin(name)).host)
}

describe.each(ENGINES)('a server that sends ORIGIN, on engine %s', (engine) => {
  const toAll = (toOrigin: Rig['toOrigin']): Buffer => toOriginFrame(...NAMES.map(toOrigin))

  it.each<{ what: string; toPieces: (toOrigin: Rig['toOrigin']) => Pieces; connections: number }>([
    {
      // A server may write these three at once, before the first response.
      what: 'in one piece with SETTINGS and WINDOW_UPDATE',
      toPieces: (toOrigin) => [Buffer.concat([SETTINGS, CREDIT, toAll(toOrigin)])],
      connections: 1,
    },
    {
      what: 'in a piece behind them',
      toPieces: (toOrigin) => [SETTINGS, CREDIT, toAll(toOrigin)],
      connections: 1,
    },
    {
      what: 'in two frames, each with a part',
      toPieces: (toOrigin) => [
        Buffer.concat([SETTINGS, toOriginFrame(toOrigin('b.origin.test'))]),
        toOriginFrame(toOrigin('c.origin.test')),
      ],
      connections: 1,
    },
    {
      what: 'without any origin',
      toPieces: () => [Buffer.concat([SETTINGS, toOriginFrame()])],
      connections: 3,
    },
    {
      what: 'with entries that are none',
      toPieces: (toOrigin) => [
        Buffer.concat([SETTINGS, toOriginFrame('', 'null', ...NAMES.map((name) => `${toOrigin(name)}/`))]),
      ],
      connections: 3,
    },
    {
      what: 'on a stream, where it is ignored',
      toPieces: (toOrigin) => {
        const frame = toAll(toOrigin)
        frame.writeUInt32BE(1, 5)
        return [Buffer.concat([SETTINGS, frame])]
      },
      connections: 3,
    },
  ])('$what: three origins have $connections', async ({ toPieces, connections }) => {
    const rig = await setUp(engine, toPieces)
    await askAll(rig)
    expect(rig.peer.connections).toHaveLength(connections)
  })

  it('is understood wherever the bytes are cut, and asks for one name alone with skipDns', async () => {
    const toBytes = (toOrigin: Rig['toOrigin']): Buffer => Buffer.concat([SETTINGS, CREDIT, toAll(toOrigin)])
    const { length } = toBytes((name) => `https://${name}:12345`)
    for (let at = 1; at < length; at++) {
      const rig = await setUp(
        engine,
        (toOrigin) => {
          const bytes = toBytes(toOrigin)
          return [[bytes.subarray(0, at), bytes.subarray(at)]]
        },
        { origins: 'origin-frame', skipDns: true },
      )
      await askAll(rig)
      expect([at, rig.peer.connections.length, rig.asked]).toEqual([at, 1, [NAMES[0]]])
    }
  })

  it('serves origins that are asked at once by one connection, when it comes along with SETTINGS', async () => {
    const rig = await setUp(engine, (toOrigin) => [Buffer.concat([SETTINGS, CREDIT, toAll(toOrigin)])])
    await Promise.all(NAMES.map((name) => rig.ask(name)))
    expect(rig.peer.connections).toHaveLength(1)
  })
})
