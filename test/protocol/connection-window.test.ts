import { describe, expect, it } from 'vitest'
import { ConnectionWindow } from '../../src/protocol/connection-window.ts'
import { toRounds } from '../support/clocks/sample.ts'
import { Random } from './hpack/support.ts'

/** A window, and what the other side knows of it. */
class Observed {
  readonly window: ConnectionWindow
  /** What the peer may still send. */
  credit: number
  /** Announced already, or due by `grow()`. */
  readonly overcommittable: number

  constructor(size: number, overcommittable: number) {
    this.window = new ConnectionWindow(size, size + overcommittable)
    this.credit = size
    this.overcommittable = overcommittable
  }

  announce(): number {
    const increment = this.window.announce()
    this.credit += increment
    return increment
  }

  /** Takes so much, and leaves it unread. */
  hold(bytes: number): void {
    this.credit -= bytes
    expect(this.window.receive(bytes)).toBe(true)
    this.window.hold(bytes)
  }

  consume(bytes: number): void {
    this.credit -= bytes
    expect(this.window.receive(bytes)).toBe(true)
    this.window.consume(bytes)
  }
}

describe('credit', () => {
  it('when all data is read › is returned in halves of the window', () => {
    const { window } = new Observed(1_000, 0)
    window.receive(499)
    window.consume(499)
    expect(window.isUpdateDue).toBe(false)
    window.receive(1)
    window.consume(1)
    expect([window.isUpdateDue, window.announce(), window.announce()]).toEqual([true, 500, 0])
    expect(window.isUpdateDue).toBe(false)
  })

  it('when it was not announced yet › cannot be used', () => {
    const { window } = new Observed(1_000, 0)
    window.receive(900)
    window.consume(900)
    expect([window.receive(100), window.receive(1)]).toEqual([true, false])
  })

  it('when bytes are unread › is not returned before they are read', () => {
    const observed = new Observed(1_000, 0)
    observed.hold(1_000)
    expect([observed.window.held, observed.window.isUpdateDue, observed.announce()]).toEqual([
      1_000,
      false,
      0,
    ])
    expect(observed.window.overcommit()).toBe(false)
    observed.window.release(1)
    // Better than nothing: all that circulates is this byte.
    expect([observed.window.isUpdateDue, observed.announce(), observed.window.held]).toEqual([true, 1, 999])
  })

  it('when the window grows › grows at once; a smaller size has no effect', () => {
    const observed = new Observed(1_000, 0)
    observed.window.grow(5_000)
    observed.window.grow(2_000)
    expect([observed.window.size, observed.announce()]).toEqual([5_000, 4_000])
    observed.consume(5_000)
    expect(observed.announce()).toBe(5_000)
  })
})

describe('credit in advance for unread data', () => {
  it('when a quarter of the window is left › is given, up to the bound, and is settled first', () => {
    const observed = new Observed(1_000, 600)
    observed.hold(749)
    expect(observed.window.overcommit()).toBe(false)
    observed.hold(1)
    expect([observed.window.overcommit(), observed.announce()]).toEqual([true, 600])
    expect(observed.credit).toBe(850)
    observed.hold(850)
    expect(observed.window.overcommit()).toBe(false)
    // The bound of all: the window and the credit in advance.
    expect(observed.window.held).toBe(1_600)
    observed.window.release(600)
    expect(observed.announce()).toBe(0)
    observed.window.release(1_000)
    expect([observed.announce(), observed.credit, observed.window.held]).toEqual([1_000, 1_000, 0])
  })
})

/** One random step. @returns what it was, for the message of a failure */
function step(observed: Observed, random: Random): string {
  const { window } = observed
  const size = Math.min(observed.credit, 1 + random.below(random.pick([10, 1_000, 40_000])))
  switch (random.below(7)) {
    case 0:
      observed.hold(size)
      return `hold ${size}`
    case 1:
      observed.consume(size)
      return `consume ${size}`
    case 2:
    case 3: {
      const released = Math.min(window.held, size)
      window.release(released)
      return `release ${released}`
    }
    case 4:
      return `lend ${window.overcommit()}`
    case 5:
      if (random.below(50) === 0) window.grow(window.size + random.below(10_000))
      return 'grow'
    default:
      if (window.isUpdateDue) observed.announce()
      return 'announce if due'
  }
}

describe('a window, in random order of events', () => {
  it.each([
    0, 1_000, 100_000,
  ])('with %i lendable bytes › loses no credit, and makes none', (overcommittable) => {
    const random = new Random(overcommittable + 3)
    for (let round = 0; round < toRounds(60, 15); round++) {
      const observed = new Observed(1 + random.below(70_000), overcommittable)
      const { window } = observed
      for (let count = 0; count < 300; count++) {
        const what = step(observed, random)
        expect(observed.credit, what).toBeGreaterThanOrEqual(0)
        // available + returned + held - lent = size, where only what is lent can't be seen from outside.
        if (random.below(10) === 0) {
          observed.announce()
          const overcommitted = observed.credit + window.held - window.size
          expect(overcommitted, what).toBeGreaterThanOrEqual(0)
          expect(overcommitted, what).toBeLessThanOrEqual(Math.min(window.held, overcommittable))
        }
        expect(window.held, what).toBeLessThanOrEqual(window.size + overcommittable)
      }
      // When everything is read, at least half of the window is open: the peer never waits for credit that doesn't
      // come.
      window.release(window.held)
      if (window.isUpdateDue) observed.announce()
      expect(observed.credit * 2).toBeGreaterThan(window.size)
      observed.announce()
      expect(observed.credit).toBe(window.size)
    }
  })
})
