import { describe, expect, it } from 'vitest'
import { toSessionOptions } from '../../../src/options/session-options.ts'
import type { Windowed } from '../../../src/protocol/receive-windows.ts'
import { ReceiveWindows } from '../../../src/protocol/receive-windows.ts'
import type { ClientOptions } from '../../../types/client.ts'
import { toRounds } from '../../support/clocks/sample.ts'
import { Random } from '../../support/clocks/seeded-random.ts'

const KIB = 1_024
const MIB = 1_024 * KIB
/** The least window of any stream, unless the largest is smaller. */
const MIN_WINDOW = 16_385
/** The steps below the largest window by default. */
const LARGEST = 16_777_259
const FIRST = 1_048_579
const QUARTER = 262_145

/** With windows of about 16 MiB at most and a bound of 256 MiB, unless the options say more. */
function make(given: ClientOptions = {}, streams = 1) {
  const all = new Set<FakeStream>()
  const list = {
    get size() {
      return all.size
    },
    get items() {
      return [...all]
    },
  }
  const window = new ReceiveWindows(toSessionOptions(given), list, () => {})
  window.begin(streams)
  /** Opens so many streams, or as many as there is room for, with a change of the window when one is due. */
  const open = (count: number, isHeld = false): number => {
    let opened = 0
    for (; opened < count && window.canTake; opened++) {
      const stream = new FakeStream(isHeld)
      all.add(stream)
      window.open(stream)
      if (window.announce() !== null) window.acknowledge(window.streamWindow)
    }
    return opened
  }
  return { window, streams: all, open }
}

/** @returns whether it has grown, which the peer was told */
function grow(window: ReceiveWindows, enough?: number): boolean {
  return window.grow(enough) && window.announce() === window.streamWindow
}

class FakeStream implements Windowed {
  window = 0
  isHeld: boolean
  /** What the peer may have sent that isn't read, counted by the test itself. */
  most = 0

  constructor(isHeld = false) {
    this.isHeld = isHeld
  }
}

/** A size that the caller has set. */
const GIVEN = { initialWindowSize: 16 * MIB } as const

describe('the stream window', () => {
  describe('when it begins', () => {
    it('is as large as the caller has set it', () => {
      expect(make(GIVEN).window.streamWindow).toBe(16 * MIB)
      expect(make({ initialWindowSize: 1 }).window.streamWindow).toBe(1)
    })

    it('has a size that a hundred streams may have, by default', () => {
      expect(make().window.streamWindow).toBe(FIRST)
    })

    it('is smaller when more streams may be opened before it can be changed', () => {
      const sizes = [255, 256, 100_000].map((streams) => make({}, streams).window.streamWindow)
      expect(sizes).toEqual([FIRST, QUARTER, MIN_WINDOW])
    })

    it.each([
      { largest: 65_535, bound: 65_535, size: 65_535, maxStreams: 3 },
      { largest: 65_536, bound: 65_535, size: 16_385, maxStreams: 3 },
      { largest: 1_000, bound: 65_535, size: 1_000, maxStreams: 65 },
      { largest: 1, bound: 65_535, size: 1, maxStreams: 65_535 },
      {
        largest: 2 ** 31 - 1,
        bound: Number.MAX_SAFE_INTEGER,
        size: 2 ** 31 - 1,
        maxStreams: 549_722_261_503,
      },
    ])('is $size bytes with $largest and a bound of $bound', ({ largest, bound, size, maxStreams }) => {
      const { window } = make({ initialWindowSize: largest, maxSessionBuffer: bound })
      expect([window.streamWindow, window.maxStreams, window.canTake]).toEqual([size, maxStreams, true])
    })
  })

  describe('when there are more streams', () => {
    it('shrinks once half of the bound is used, and then leaves room for many more', () => {
      const { window, streams, open } = make(GIVEN)
      open(8)
      expect(window.streamWindow).toBe(16 * MIB)
      open(1)
      expect(window.streamWindow).toBeLessThanOrEqual(4 * MIB)
      let changes = 0
      for (let count = 10; count <= 1_000; count++) {
        const { streamWindow: size } = window
        expect(open(1)).toBe(1)
        expect(window.streamWindow).toBeLessThanOrEqual(size)
        if (window.streamWindow !== size) changes++
      }
      expect(streams.size).toBe(1_000)
      expect(changes).toBeGreaterThan(0)
      expect(changes).toBeLessThanOrEqual(4)
    })

    it('makes no more room before the peer has acknowledged the change', () => {
      const { window, streams } = make(GIVEN)
      while (window.canTake) {
        const stream = new FakeStream()
        streams.add(stream)
        window.open(stream)
        window.announce()
      }
      expect(streams.size).toBe(16)
      expect(window.streamWindow).toBeLessThan(16 * MIB)
      expect(window.announce()).toBeNull()
      window.acknowledge(window.streamWindow)
      expect(window.canTake).toBe(true)
    })

    it('does not count less for the data that a stream may hold already', () => {
      const { window, streams, open } = make(GIVEN)
      open(8, true)
      // The ninth shrinks it; nine of 16 MiB leave 112.
      expect(open(1, true)).toBe(1)
      expect(open(100_000)).toBeLessThanOrEqual((112 * MIB) / MIN_WINDOW)
      const total = [...streams].reduce((sum, stream) => sum + stream.window, 0)
      expect(total).toBeGreaterThan(9 * 16 * MIB)
      expect(total).toBeLessThanOrEqual(256 * MIB)
      expect(window.canTake).toBe(false)
    })

    it('has room again when one of the streams is closed, once', () => {
      const { window, streams, open } = make({ ...GIVEN, maxSessionBuffer: 4 * MIN_WINDOW })
      expect(open(100)).toBe(4)
      const [stream] = streams
      if (stream === undefined) throw new Error('There are four')
      for (let i = 0; i < 2; i++) window.close(stream)
      streams.delete(stream)
      expect(stream.window).toBe(0)
      expect(open(100)).toBe(1)
    })

    it('reports no change when it is the smallest already', () => {
      const { window, open } = make({ initialWindowSize: MIN_WINDOW })
      expect(open(100_000)).toBe(window.maxStreams)
      expect(window.announce()).toBeNull()
      expect(window.streamWindow).toBe(MIN_WINDOW)
    })
  })

  describe('when a stream would be faster with a larger window', () => {
    it('grows more with fewer streams, up to what all of them may have', () => {
      const sizes = [512, 64, 16, 4, 1].map((count) => {
        const { window, open } = make({}, 100_000)
        open(count)
        expect(grow(window)).toBe(true)
        expect(window.streamWindow * count).toBeLessThanOrEqual(256 * MIB)
        return window.streamWindow
      })
      expect(sizes).toEqual([...sizes].sort((a, b) => a - b))
      expect(new Set(sizes).size).toBeGreaterThan(3)
      expect(sizes.at(-1)).toBe(LARGEST)
    })

    it('leaves less room at once: the peer may use it from now on', () => {
      const { window, streams, open } = make({}, 100_000)
      open(4)
      const { streamWindow: size } = window
      expect(grow(window)).toBe(true)
      expect(window.streamWindow).toBeGreaterThan(size)
      expect([...streams].map((stream) => stream.window)).toEqual(Array(4).fill(window.streamWindow))
    })

    it('never shrinks by it, and reports no change when it is the largest', () => {
      const { window, open } = make(GIVEN)
      open(1)
      expect(grow(window)).toBe(false)
      expect(window.streamWindow).toBe(16 * MIB)
    })

    it('waits for the ACK of a change before the next one', () => {
      const { window, streams, open } = make({}, 100_000)
      open(64)
      expect(grow(window)).toBe(true)
      for (const stream of [...streams].slice(1)) {
        window.close(stream)
        streams.delete(stream)
      }
      expect(grow(window)).toBe(false)
      window.acknowledge(window.streamWindow)
      expect(grow(window)).toBe(true)
    })

    it('still counts what a stream holds from a larger window', () => {
      const { window, streams, open } = make(GIVEN)
      open(8, true)
      open(60)
      expect(window.streamWindow).toBeLessThan(4 * MIB)
      for (const stream of [...streams].slice(9)) {
        window.close(stream)
        streams.delete(stream)
      }
      expect(grow(window)).toBe(true)
      const [held] = streams
      expect([held?.isHeld, held?.window]).toEqual([true, 16 * MIB])
    })
  })

  describe('when the client chooses the size', () => {
    /** Every window on the way down to the smallest, and up again. */
    function toSteps(options: ClientOptions, enough: (size: number) => number): number[] {
      const { window, streams, open } = make(options)
      const sizes = [window.streamWindow]
      const note = (): void => {
        if (sizes.at(-1) !== window.streamWindow) sizes.push(window.streamWindow)
      }
      while (open(1) > 0 && streams.size < 10_000) note()
      for (const stream of [...streams].slice(1)) {
        window.close(stream)
        streams.delete(stream)
      }
      while (grow(window, enough(window.streamWindow))) {
        note()
        window.acknowledge(window.streamWindow)
      }
      return sizes
    }

    it.each([
      { what: 'by default', options: {}, largest: LARGEST },
      { what: 'below a round one', options: GIVEN, largest: 16 * MIB },
      { what: 'below a small one', options: { initialWindowSize: 64 * KIB }, largest: 64 * KIB },
    ])('is not a multiple of 1,024 at any step, $what', ({ options, largest }) => {
      for (const enough of [(): number => Number.POSITIVE_INFINITY, (size: number): number => size * 2]) {
        const sizes = toSteps(options, enough)
        expect(sizes.length).toBeGreaterThan(2)
        expect(sizes.at(-1)).toBe(largest)
        expect(sizes.filter((size) => size % KIB === 0 && (size !== largest || size === LARGEST))).toEqual([])
      }
    })

    it('is used as the caller has set it', () => {
      for (const size of [16_384, 65_536, MIB, 16 * MIB]) {
        expect(make({ initialWindowSize: size }).window.streamWindow).toBe(size)
      }
    })
  })

  it('never lets what the peer may have sent exceed the bound, after any opening, closing and reading', () => {
    let changes = 0
    for (let seed = 1; seed <= toRounds(400, 100); seed++) changes += play(seed)
    // Otherwise the test would show nothing.
    expect(changes).toBeGreaterThan(50)
  })
})

/** Plays a session with any options, and counts what its streams may hold. @returns how often the window has changed */
function play(seed: number): number {
  const generator = new Random(seed)
  const random = (): number => generator.next()
  const pick = (from: number, to: number): number => Math.round(from * (to / from) ** random())
  const [largest, bound] = [pick(1, 2 ** 31 - 1), pick(65_535, 2 ** 40)]
  const { window, streams } = make({ initialWindowSize: largest, maxSessionBuffer: bound }, pick(1, 200))
  /** What the peer has acknowledged, and what was announced since. */
  const sizes = [window.streamWindow]
  let changes = 0
  for (let step = 0; step < 400; step++) {
    const what = random()
    const [any] = [...streams].slice(Math.floor(random() * streams.size))
    let hasChanged = false
    if (what < 0.5 && window.canTake) {
      // As a session does it: it opens none without room.
      const stream = new FakeStream(random() < 0.3)
      streams.add(stream)
      window.open(stream)
      hasChanged = window.announce() !== null
    } else if (what < 0.6 && any !== undefined) {
      window.close(any)
      streams.delete(any)
    } else if (what < 0.7 && streams.size > 0) hasChanged = grow(window)
    else if (what < 0.8 && any !== undefined) any.isHeld = !any.isHeld
    else if (what < 0.95 && sizes.length > 1) {
      sizes.shift()
      window.acknowledge(window.streamWindow)
    }
    if (hasChanged) sizes.push(window.streamWindow)
    if (hasChanged) changes++
    let total = 0
    for (const stream of streams) {
      stream.most = Math.max(stream.isHeld ? stream.most : 0, ...sizes)
      total += stream.most
    }
    const [low, high] = [Math.min(largest, MIN_WINDOW), largest]
    // One expect() for each step would take longer than all the rest.
    if (total > bound)
      expect.fail(`${streams.size} streams hold ${total} of ${bound}, in step ${step} of ${seed}`)
    if (window.streamWindow < low || window.streamWindow > high)
      expect.fail(`${window.streamWindow} isn't from ${low} to ${high}`)
  }
  return changes
}
