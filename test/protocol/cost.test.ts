import { describe, expect, it } from 'vitest'
import type { ConnectionListener } from '../../src/protocol/connection.ts'
import { ClientConnection } from '../../src/protocol/connection.ts'
import type { StreamListener } from '../../src/protocol/stream.ts'
import { Http2Stream } from '../../src/protocol/stream.ts'
import { Flag, frames, Setting, Type } from '../../src/testing/frames.ts'
import { CANCEL } from '../support/peers/error-codes.ts'
import { toWindows } from './support/windows.ts'

/**
 * What the frames of a peer cost, for each type of frame and each state of its stream. The peer offers a number of
 * frames, and the connection reads them until its budget is used up. Only ratios are compared, of the best of several
 * rounds: a slow machine, or a busy one, makes all of them slower.
 */

/** Streams that are open besides the one that gets the frames: a pass over all of them has to be seen. */
const OTHERS = 1_000
const CHUNK = 65_536
const REQUEST = [':method', 'GET', ':scheme', 'http', ':authority', 'localhost', ':path', '/']

/** Four times as many frames may cost this many times as much. */
const MOST_FOR_FOUR = 6
/** A frame that is offered may cost this many times as much as a DATA frame of a byte on a live stream. */
const MOST_FOR_ONE = 12
/** Rounds until the best of them has to keep to these ratios. */
const ROUNDS = 60

const STATES = ['live', 'paused', 'abandoned', 'gone', 'waiting'] as const
/** `waiting` is a live stream without a response. */
type State = (typeof STATES)[number]

/** A reader that keeps nothing: what costs time here is the connection. */
class Reader implements StreamListener {
  readonly #http2: ClientConnection
  readonly #isPaused: boolean
  readonly stream = new Http2Stream(this)

  constructor(http2: ClientConnection, isPaused: boolean) {
    this.#http2 = http2
    this.#isPaused = isPaused
  }

  onBytes(_bytes: Buffer, start: number, end: number): void {
    if (this.#isPaused) this.#http2.flow.hold(this.stream, end - start)
    else this.#http2.flow.consume(this.stream, end - start)
  }

  onInformational(): void {}
  onResponse(): void {}
  onTrailers(): void {}
  onReset(): void {}
  onRefused(): void {}
  onStreamError(): void {}
  onOver(): void {}
  onSent(): void {}
  onPieceLost(): void {}
}

class Listener implements ConnectionListener {
  isOver = false

  onFault(): void {
    this.isOver = true
  }

  onOutput(): void {}
  onSettings(): void {}
  onGoaway(): void {}
  onCredit(): void {}
  onOrigins(): void {}
  now(): number {
    return 1_000
  }
}

const WINDOWS = {
  streamWindow: 1_048_576,
  maxStreamWindow: 1_048_576,
  connectionWindow: 16_777_216,
  maxConnectionWindow: 16_777_216,
  maxBuffer: 268_435_456,
}

/** The stream that gets the frames is opened first: its id is 1. */
function connect(state: State) {
  const listener = new Listener()
  const http2 = new ClientConnection({ settings: {}, windows: toWindows(WINDOWS) }, listener)
  http2.start()
  http2.receive(
    Buffer.concat([frames.settings([Setting.MAX_CONCURRENT_STREAMS, 2_000]), frames.settingsAck()]),
  )
  const { stream } = new Reader(http2, state === 'paused')
  http2.open(stream, REQUEST, false, null)
  for (let count = 0; count < OTHERS; count++) {
    http2.open(new Reader(http2, false).stream, REQUEST, false, null)
  }
  if (state !== 'waiting') http2.receive(frames.response(1))
  if (state === 'abandoned') http2.cancel(stream)
  if (state === 'gone') http2.reset(stream, CANCEL)
  return { http2, listener }
}

/** Frames that are offered, as the chunks in which a socket would give them. */
function toChunks(count: number, toFrame: (at: number) => Buffer): Buffer[] {
  const bytes = Buffer.concat(Array.from({ length: count }, (_none, at) => toFrame(at)))
  return Array.from({ length: Math.ceil(bytes.length / CHUNK) }, (_none, at) =>
    bytes.subarray(at * CHUNK, (at + 1) * CHUNK),
  )
}

/** @returns milliseconds of CPU: on a busy machine a round takes turns with other processes */
function play(state: State, chunks: readonly Buffer[]): number {
  const { http2, listener } = connect(state)
  const sink = { write: () => {} }
  http2.flush(sink)
  const before = process.cpuUsage()
  for (const chunk of chunks) {
    http2.receive(chunk)
    http2.frameUploads(CHUNK)
    http2.flush(sink)
    if (listener.isOver) break
  }
  const { user, system } = process.cpuUsage(before)
  return (user + system) / 1_000
}

interface Offer {
  readonly what: string
  readonly states: readonly State[]
  /** A frame, or several that belong together. */
  readonly toFrame: (at: number) => Buffer
  /** How many are offered; four times as many for comparison. */
  readonly count: number
}

const { data, frame, goAway, ping, reset, settings, windowUpdate } = frames
const { response } = frames
const always = (bytes: Buffer) => () => bytes

/** A header section of one field in each of its frames. */
const FRAGMENTS = Buffer.concat([
  frame(Type.HEADERS, 0, 1, Buffer.of(0x88)),
  ...Array.from({ length: 99 }, () => frame(Type.CONTINUATION, 0, 1, Buffer.of(0x89))),
  frame(Type.CONTINUATION, Flag.END_HEADERS, 1, Buffer.of(0x89)),
])
const EARLY = frames.headers(1, [[':status', '103']])
const GREASE = 0x0b + 0x1f * 3
const ANY = STATES
/** For frames that say nothing of a body: it doesn't matter who reads it. */
const OPEN_OR_GONE = ['live', 'abandoned', 'gone'] as const
const ONE = ['live'] as const

const OFFERS: readonly Offer[] = [
  { what: 'DATA of a byte', states: ANY, toFrame: always(data(1, 'x')), count: 20_000 },
  { what: 'DATA of 16 KiB', states: ANY, toFrame: always(data(1, Buffer.alloc(16_384))), count: 100 },
  { what: 'DATA of nothing', states: ANY, toFrame: always(data(1, '')), count: 20_000 },
  {
    what: 'DATA of padding',
    states: ANY,
    toFrame: always(frame(Type.DATA, Flag.PADDED, 1, Buffer.of(1, 65, 0))),
    count: 20_000,
  },
  { what: 'HEADERS', states: ANY, toFrame: always(response(1)), count: 20_000 },
  { what: 'HEADERS of a 103', states: ANY, toFrame: always(EARLY), count: 20_000 },
  { what: 'HEADERS in 101 fragments', states: ANY, toFrame: always(FRAGMENTS), count: 200 },
  {
    what: 'PRIORITY',
    states: OPEN_OR_GONE,
    toFrame: always(frame(Type.PRIORITY, 0, 1, Buffer.alloc(5))),
    count: 20_000,
  },
  { what: 'RST_STREAM', states: OPEN_OR_GONE, toFrame: always(reset(1, CANCEL)), count: 20_000 },
  {
    what: 'WINDOW_UPDATE of a byte',
    states: OPEN_OR_GONE,
    toFrame: always(windowUpdate(1, 1)),
    count: 20_000,
  },
  {
    what: 'WINDOW_UPDATE of 1 KiB',
    states: OPEN_OR_GONE,
    toFrame: always(windowUpdate(1, 1_024)),
    count: 20_000,
  },
  {
    what: 'frames of an unknown type',
    states: OPEN_OR_GONE,
    toFrame: always(frame(GREASE, 0, 1, Buffer.of(1))),
    count: 20_000,
  },
  {
    what: 'WINDOW_UPDATE of the connection',
    states: ONE,
    toFrame: always(windowUpdate(0, 1_024)),
    count: 20_000,
  },
  { what: 'SETTINGS', states: ONE, toFrame: always(settings()), count: 20_000 },
  {
    what: 'SETTINGS of other windows',
    states: ONE,
    toFrame: (at) => settings([Setting.INITIAL_WINDOW_SIZE, 65_536 + (at % 2)]),
    count: 4_000,
  },
  { what: 'PING', states: ONE, toFrame: always(ping()), count: 20_000 },
  {
    what: 'ACKs of no PING',
    states: ONE,
    toFrame: always(ping(Buffer.alloc(8, 1), Flag.ACK)),
    count: 20_000,
  },
  { what: 'GOAWAY', states: ONE, toFrame: always(goAway(5_000, 0)), count: 20_000 },
  {
    what: 'GOAWAY of ever fewer streams',
    states: ONE,
    toFrame: (at) => goAway(400_001 - 2 * at, 0),
    count: 4_000,
  },
  {
    what: 'DATA of a byte and SETTINGS of other windows',
    states: ['live', 'paused'],
    toFrame: (at) =>
      Buffer.concat([data(1, 'x'), settings([Setting.INITIAL_WINDOW_SIZE, 65_536 + (at % 2)])]),
    count: 4_000,
  },
]

/** Milliseconds: the best so far. */
class Best {
  least = Number.POSITIVE_INFINITY
  readonly #play: () => number

  constructor(run: () => number) {
    this.#play = run
  }

  run(): number {
    this.least = Math.min(this.least, this.#play())
    return this.least
  }
}

/** Plays rounds until `isGood()`, or `ROUNDS` of them. */
function playUntil(isGood: () => boolean, ...bests: readonly Best[]): void {
  for (let round = 0; round < ROUNDS; round++) {
    for (const best of bests) best.run()
    if (round > 1 && isGood()) return
  }
}

const CELLS = OFFERS.flatMap((offer) => offer.states.map((state) => ({ ...offer, state })))

const BASE_COUNT = 80_000
const baseChunks = toChunks(BASE_COUNT, always(data(1, 'x')))
const base = new Best(() => play('live', baseChunks))

describe('the cost of frames that a peer offers', () => {
  it.each(CELLS)('for $what, on a stream that is $state › is in proportion to them', (cell) => {
    const { state, toFrame, count } = cell
    const few = toChunks(count, toFrame)
    const many = toChunks(4 * count, toFrame)
    const size = many.reduce((sum, { length }) => sum + length, 0)
    const baseSize = baseChunks.reduce((sum, { length }) => sum + length, 0)
    const one = new Best(() => play(state, few))
    const four = new Best(() => play(state, many))
    // Less than a millisecond is too little to compare.
    const toGrowth = (): number => four.least / Math.max(one.least, 1)
    const toCost = (): number => four.least / size / (base.least / baseSize)
    playUntil(() => toGrowth() <= MOST_FOR_FOUR && toCost() <= MOST_FOR_ONE, one, four, base)
    expect(toGrowth(), 'four times as many').toBeLessThanOrEqual(MOST_FOR_FOUR)
    expect(toCost(), 'a byte of them').toBeLessThanOrEqual(MOST_FOR_ONE)
  })
})
