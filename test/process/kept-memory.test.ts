/**
 * What is kept of responses that aren't read: its memory is in proportion to its bytes, however small the frames are in
 * which they come, and whatever comes between them. With `KEPT_FIGURES=1` the figures are printed.
 */
import { execFileSync } from 'node:child_process'
import { fileURLToPath } from 'node:url'
import { describe, expect, it } from 'vitest'
import { inTurn } from '../support/clocks/sample.ts'
import { TIMEOUT, usePieceRig } from '../support/peers/piece-rig.ts'
import { MOST_TIMES, STREAM_SHARE } from './children/piece-plan.ts'

/** One response, or ten, of frames of one size: how many bytes had come, and the memory that they took. */
interface Cell {
  readonly size: number
  readonly junk: number
  readonly bytes: number
  readonly kept: number
}

interface Facts {
  readonly node: string
  readonly streams: number
  readonly cells: readonly Cell[]
}

const ENGINES = ['node', 'wire'] as const
const TRANSPORTS = ['plain', 'tls'] as const
const HOLDERS = [
  'a paused dispatch() handler',
  'an unread body',
  'ten unread bodies',
  'an unfinished text()',
  "a body whose 'readable' listener reads nothing",
  'stream() into a Writable that never calls back',
  'an unread pipeline()',
  'an unread fetch Response',
  'an unfinished text() of fetch',
  'an unread fetch Response in gzip',
  'a reader of fetch that has read once',
  'an unread tunnel',
  'a 421 for fetch',
] as const

/** Cells of a holder: four sizes of frames, with other frames between them and without. Each half has all of both. */
const CELLS = 8
const HALVES = ['0', '1'] as const
/** The fewest bytes that have come of each: a client that takes less would pass without having kept anything. */
const FEWEST_BYTES = 900

const rig = usePieceRig('kept-memory')

function toName(engine: string, { size, junk, bytes, kept }: Cell): string {
  const between = junk > 0 ? `, each with ${junk} bytes of an unknown type behind it` : ''
  return `engine ${engine}, DATA frames of ${size}${between}: ${kept} for ${bytes} bytes`
}

/** The cells of one holder on one engine that keep too much, or nothing that counts. */
async function toBreaches(
  [engine, holder, half]: readonly [engine: string, holder: string, half: string],
  origin: string,
  node?: string,
): Promise<string[]> {
  const { node: version, streams, cells } = (await rig.run([holder, engine, origin, half], node)) as Facts
  expect(cells).toHaveLength(CELLS / HALVES.length)
  if (process.env.KEPT_FIGURES !== undefined) {
    for (const cell of cells) console.log(`${version}, ${holder}, ${toName(engine, cell)}`)
  }
  return cells
    .filter(({ bytes, kept }) => bytes < FEWEST_BYTES || kept > bytes * MOST_TIMES + STREAM_SHARE * streams)
    .map((cell) => toName(engine, cell))
}

/** On each engine, one half of the cells: both engines play all of them together. */
async function toAllBreaches(holder: string, turn: number, origin: string, node?: string): Promise<string[]> {
  const breaches = await Promise.all(
    ENGINES.flatMap((engine, at) =>
      inTurn(HALVES, turn + at).map((half) => toBreaches([engine, holder, half], origin, node)),
    ),
  )
  return breaches.flat()
}

describe('the memory that is kept', { timeout: 2 * TIMEOUT }, () => {
  const cases = HOLDERS.flatMap((holder, at) =>
    inTurn(TRANSPORTS, at).map((transport) => ({ holder, transport, turn: at >> 1 })),
  )
  it.each(
    cases,
  )('by $holder, over $transport connections, is at most three times its bytes and 64 KiB for each stream', async ({
    holder,
    transport,
    turn,
  }) => {
    expect(await toAllBreaches(holder, turn, rig.origins[transport])).toEqual([])
  })

  // There each read of TLS is a view of 64 KiB of its own.
  describe('over TLS connections of Node 26', () => {
    it.each([
      'an unread body',
      'an unread fetch Response',
    ])('by %s is at most three times its bytes and 64 KiB for each stream', async (holder) => {
      const install = fileURLToPath(new URL('../../scripts/install-node.sh', import.meta.url))
      const node = execFileSync(install, ['26'], { encoding: 'utf8' }).trim()
      expect(await toAllBreaches(holder, 0, rig.origins.tls, node)).toEqual([])
    })
  })
})
