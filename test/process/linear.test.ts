/**
 * What a response costs its reader is in proportion to its pieces. One process plays the frames, another reads: the CPU
 * time of the latter is compared, for n pieces and for four times as many. With `LINEAR_FIGURES=1` it is printed.
 */
import { describe, expect, it } from 'vitest'
import { inTurn } from '../support/clocks/sample.ts'
import { TIMEOUT, usePieceRig } from '../support/peers/piece-rig.ts'

/** Of n pieces, and of 4n. Microseconds of CPU time, the least of some rounds. */
type Pair = readonly [few: number, many: number]

interface Facts {
  readonly cost: Pair
  /** Of the longest turn of the event loop. Null where one turn has to make one value of all that has come. */
  readonly longest: Pair | null
}

const ENGINES = ['node', 'wire'] as const
const READERS = [
  'dispatch(), resumed once',
  'dispatch(), paused at each piece',
  'text()',
  'text(), called at once',
  'iteration',
  "'readable' and read()",
  'the web stream of a body',
  'dump()',
  'stream() into a slow Writable',
  'a slow pipeline()',
  'text() of fetch',
  'a reader of fetch',
  'a BYOB reader of fetch',
  'text() of fetch, in gzip',
  'a reader of fetch, in gzip',
  'a tunnel',
  'a 421 for fetch',
] as const

/** Four times the pieces may cost as many times: 4 is linear, 16 is quadratic. */
const MOST_COST = 6
/** The longest turn doesn't grow with the pieces: the peer sends as many at once for n as for 4n. */
const MOST_TURN = 3
/** A turn shorter than this part of all of n is not looked at: a collection of garbage is as long. */
const SHORT_TURN = 1 / 4

const rig = usePieceRig('linear')

/** What hears an engine itself. The others read a body, which is the same on both engines: they read it on the engines in turn. */
const OF_AN_ENGINE: readonly string[] = [
  'dispatch(), resumed once',
  'dispatch(), paused at each piece',
  'dump()',
  'a tunnel',
  'a 421 for fetch',
]

async function toFacts(reader: (typeof READERS)[number]): Promise<[engine: string, facts: Facts][]> {
  const engines = OF_AN_ENGINE.includes(reader) ? ENGINES : inTurn(ENGINES, READERS.indexOf(reader))
  return Promise.all(
    engines.map(async (engine) => {
      const facts = (await rig.run([reader, engine, rig.origins.plain])) as Facts
      if (process.env.LINEAR_FIGURES !== undefined) {
        console.log(`${reader}, engine ${engine}: ${JSON.stringify(facts)}`)
      }
      return [engine, facts]
    }),
  )
}

describe('the CPU time of a response in pieces of one byte', { timeout: 2 * TIMEOUT }, () => {
  it.each(
    READERS,
  )('when read by %s, is linear, and no turn of the event loop grows with it', async (reader) => {
    const breaches: string[] = []
    for (const [engine, { cost, longest }] of await toFacts(reader)) {
      const [few, many] = cost
      if (many > few * MOST_COST) breaches.push(`engine ${engine}: ${few} µs for n, ${many} µs for 4n`)
      if (longest === null) continue
      const bound = Math.max(longest[0], few * SHORT_TURN) * MOST_TURN
      if (longest[1] > bound) breaches.push(`engine ${engine}: turns of ${longest.join(' and ')} µs`)
    }
    expect(breaches).toEqual([])
  })
})
