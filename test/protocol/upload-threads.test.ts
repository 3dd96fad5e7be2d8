import { describe, expect, it } from 'vitest'
import { toRounds } from '../support/clocks/sample.ts'
import { Random } from './hpack/support.ts'
import type { HeardStream } from './support/rig.ts'
import { Rig } from './support/rig.ts'
import type { ThreadServerOptions } from './support/thread-server.ts'
import { ThreadServer } from './support/thread-server.ts'

const DEFAULT_WINDOW = 65_535
const SEEDS = toRounds(150, 40)

/** A body that is given to its stream piece by piece. */
interface Source {
  readonly stream: HeardStream
  readonly pieces: number[]
}

/** How the uploads of a client are. */
interface UploadsOptions {
  readonly count: number
  readonly largest: number
  /** A body comes in up to so many pieces, of which each comes at some time after the one before it; 0: at once. */
  readonly pieces: number
  readonly isUrgencyMixed: boolean
}

function open(rig: Rig, random: Random, options: UploadsOptions): Source {
  const { largest, pieces, isUrgencyMixed } = options
  const stream = rig.open({ hasBody: true })
  if (isUrgencyMixed) rig.http2.reprioritize(stream, `u=${random.below(8)}`)
  if (pieces === 0) {
    rig.http2.send(stream, Buffer.alloc(random.below(largest + 1)), true)
    return { stream, pieces: [] }
  }
  const count = 1 + random.below(pieces)
  const sizes = Array.from({ length: count }, () => random.below(Math.ceil(largest / count) + 1))
  return { stream, pieces: sizes }
}

/** Gives the next piece of one of the sources that can. @returns whether there was one */
function feed(rig: Rig, random: Random, sources: readonly Source[]): boolean {
  const able = sources.filter(({ stream, pieces }) => !stream.isSending && pieces.length > 0)
  const source = able[random.below(able.length)]
  const size = source?.pieces.shift()
  if (source === undefined || size === undefined) return false
  rig.http2.send(source.stream, Buffer.alloc(size), source.pieces.length === 0)
  return true
}

/** Plays a client and its server until both stand still. @returns the requests that were not served */
function play(seed: number, server: ThreadServerOptions, uploads: UploadsOptions): number {
  const random = new Random(seed)
  const rig = new Rig()
  const peer = new ThreadServer(rig, random, server)
  const sources: Source[] = []
  for (let idle = 0; idle < 20; ) {
    const choice = random.below(8)
    const isNew = choice === 0 && sources.length < uploads.count
    if (isNew) sources.push(open(rig, random, uploads))
    const hasMoved =
      isNew ||
      (choice === 1 && feed(rig, random, sources)) ||
      (choice === 2 && peer.hear(1 + random.below(100_000))) ||
      (choice < 5 && peer.deliver()) ||
      peer.work()
    if (hasMoved) idle = 0
    // Nothing has happened by chance: see whether anything can.
    else if (feed(rig, random, sources) || peer.hear(65_536) || peer.deliver() || peer.work()) idle = 0
    else if (sources.length < uploads.count) sources.push(open(rig, random, uploads))
    else idle++
  }
  expect(rig.faults.map(String)).toEqual([])
  return uploads.count - peer.served
}

/** The seeds that leave requests, with the number of them. */
function toStuck(
  seeds: number,
  toOptions: (random: Random) => [ThreadServerOptions, UploadsOptions],
): string[] {
  const stuck: string[] = []
  for (let seed = 1; seed <= seeds; seed++) {
    const left = play(seed, ...toOptions(new Random(seed + 1_000_000)))
    if (left > 0) stuck.push(`seed ${seed}: ${left} requests`)
  }
  return stuck
}

describe('uploads to a server whose threads read one body each', () => {
  it.each([
    1, 2, 3, 17,
  ])('with %i of them, whatever its windows and the bodies are › are all served', (threads) => {
    const stuck = toStuck(SEEDS, (random) => {
      const connectionWindow = DEFAULT_WINDOW + random.below(2) * random.below(200_000)
      const read = 1 + random.below(20_000)
      return [
        {
          ...{ threads, connectionWindow, read, streamCredit: 1, connectionCredit: 1 },
          streamWindow: random.pick([1_000, 16_384, 65_535, 1_000_000]),
        },
        {
          count: 1 + random.below(40),
          largest: random.pick([1_000, 10_000, 50_000, 200_000]),
          pieces: random.pick([1, 5]),
          isUrgencyMixed: false,
        },
      ]
    })
    expect(stuck).toEqual([])
  })

  it.each([1, 3])('with %i of them, and bodies of different urgency › are all served', (threads) => {
    const stuck = toStuck(SEEDS, (random) => [
      {
        ...{ threads, connectionWindow: DEFAULT_WINDOW, read: 8_000, streamCredit: 1, connectionCredit: 1 },
        streamWindow: random.pick([1_000, 65_535, 1_000_000]),
      },
      { count: 1 + random.below(40), largest: 100_000, pieces: random.pick([1, 5]), isUrgencyMixed: true },
    ])
    expect(stuck).toEqual([])
  })

  // Undertow returns credit for the connection when half of its window was read.
  it.each([1, 2, 17])('with %i of them, and credit for half a window at once › are all served', (threads) => {
    const half = Math.ceil(DEFAULT_WINDOW / 2) + 1
    const stuck = toStuck(SEEDS, (random) => [
      {
        ...{
          threads,
          connectionWindow: DEFAULT_WINDOW,
          read: 8_000,
          streamCredit: half,
          connectionCredit: half,
        },
        streamWindow: DEFAULT_WINDOW,
      },
      { count: 40, largest: random.pick([1_000, 10_000, 65_535]), pieces: 0, isUrgencyMixed: false },
    ])
    expect(stuck).toEqual([])
  })

  it.each([
    { count: 40, size: 50_000 },
    { count: 100, size: 10_000 },
  ])('when $count of $size bytes begin at once › are never more than one that has begun and is not whole', ({
    count,
    size,
  }) => {
    const random = new Random(1)
    const rig = new Rig()
    const half = Math.ceil(DEFAULT_WINDOW / 2) + 1
    const options = { connectionWindow: DEFAULT_WINDOW, streamWindow: DEFAULT_WINDOW, read: 8_000 }
    const peer = new ThreadServer(rig, random, {
      ...{ ...options, threads: 17, streamCredit: half, connectionCredit: half },
    })
    for (let opened = 0; opened < count; opened++) {
      rig.http2.send(rig.open({ hasBody: true }), Buffer.alloc(size), true)
    }
    for (let isMoving = true; isMoving; ) {
      isMoving = peer.hear(65_536)
      expect(peer.begun).toBeLessThanOrEqual(1)
      while (peer.work()) isMoving = true
      while (peer.deliver()) isMoving = true
    }
    expect(peer.served).toBe(count)
  })
})
