import { fileURLToPath } from 'node:url'
import { describe, expect, it } from 'vitest'
import { Client } from '../../src/index.ts'
import { destroyWithTest } from '../support/clients/agents.ts'
import { ENGINES } from '../support/clients/engines.ts'
import { inTurn } from '../support/clocks/sample.ts'
import { makeFolder, startProcess } from '../support/servers/server-process.ts'

/**
 * Binaries of Node whose servers are asked for all of the table, some minutes each:
 * `ROUND_BODIES="$(scripts/install-node.sh 20),$(scripts/install-node.sh 26)"`. Without it this very Node's is asked
 * for a part.
 */
const BINARIES = process.env.ROUND_BODIES?.split(',') ?? []

const KIB = 1_024
const MIB = KIB * KIB
const SMALL = [64 * KIB, 128 * KIB, 256 * KIB, 512 * KIB, 768 * KIB, MIB, 1.25 * MIB, 1.5 * MIB, 1.75 * MIB]
const MIDDLE = [2, 2.5, 3, 4, 5, 6, 7, 8].map((size) => size * MIB)
const LARGE = [10, 12, 16, 20, 32, 48, 64].map((size) => size * MIB)
/** That many calls on one session make its windows smaller. */
const MANY = 90

interface Table {
  readonly binary: string
  /** Asked for one after the other, each by a client of its own: its windows are the first ones. */
  readonly alone: readonly number[]
  readonly times: number
  readonly atOnce: readonly number[]
}

const TABLES: readonly Table[] =
  BINARIES.length === 0
    ? [
        {
          binary: process.execPath,
          alone: [...SMALL, ...MIDDLE.slice(0, 4), 16 * MIB],
          times: 1,
          atOnce: [256 * KIB, 1.25 * MIB],
        },
      ]
    : BINARIES.map((binary) => ({
        binary,
        alone: [...SMALL, ...MIDDLE, ...LARGE],
        times: 3,
        atOnce: [...SMALL, ...MIDDLE],
      }))

const DELAYS = [0, 5]
/** How the server writes. */
const WRITERS = [
  ['drain', 'pipe'],
  ['once', 'pipeline'],
]

/** All of them, for a table that was asked for; otherwise they take turns. */
function toWays(engine: (typeof ENGINES)[number], delay: number): string[] {
  if (BINARIES.length > 0) return WRITERS.flat()
  return inTurn(WRITERS, ENGINES.indexOf(engine) + DELAYS.indexOf(delay)).flat()
}

const toScript = (name: string): string => fileURLToPath(new URL(`children/${name}.mjs`, import.meta.url))

/** @returns the port of a server in a process of its own, or of a link to it that takes so many milliseconds */
async function start(binary: string, delay: number): Promise<number> {
  const folder = await makeFolder('round-bodies')
  const { port } = await startProcess(async (own) => ({
    command: binary,
    args: [toScript('core-server'), String(own), folder],
    ready: 'listening',
  }))
  if (delay === 0) return port
  const link = await startProcess(async (own) => ({
    command: process.execPath,
    args: [toScript('slow-link'), String(own), String(port), String(delay)],
    ready: 'listening',
  }))
  return link.port
}

/** Null for a body that has come whole. */
async function findFailure(client: Client, way: string, size: number): Promise<string | null> {
  try {
    const { body } = await client.request({ path: `/${way}/${size}`, method: 'GET' })
    let received = 0
    for await (const chunk of body) received += chunk.length
    return received === size ? null : `${received} of ${size} bytes`
  } catch (error) {
    return `${size} bytes: ${String(error)}`
  }
}

describe.each(TABLES)("a server of $binary by node:http2's stream API, without content-length", ({
  binary,
  alone,
  times,
  atOnce,
}) => {
  describe.each(ENGINES)('engine %s', (engine) => {
    describe.each(DELAYS)('with %i ms of delay', (delay) => {
      it.each(toWays(engine, delay))(
        'when it sends bodies of round lengths by %s › each comes whole, alone and many at once',
        {
          timeout: 600_000,
        },
        async (way) => {
          const port = await start(binary, delay)
          const failures: string[] = []
          const ask = async (size: number, calls: number): Promise<void> => {
            const client = destroyWithTest(new Client(`http://localhost:${port}`, { engine }))
            const all = Array.from({ length: calls }, () => findFailure(client, way, size))
            for (const failure of await Promise.all(all)) if (failure !== null) failures.push(failure)
            await client.destroy()
          }
          for (let time = 0; time < times; time++) for (const size of alone) await ask(size, 1)
          for (const size of atOnce) await ask(size, MANY)
          expect(failures).toEqual([])
        },
      )
    })
  })
})
