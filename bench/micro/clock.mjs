/** The deadlines of requests: one alarm for all of them, or a timer for each. */
import { loadSource } from './harness.mjs'

/** @type {typeof import('../../src/core/clock.ts')} */
const { Deadlines, systemClock } = await loadSource('core/clock.ts')

/** How long each phase of a request may take: undici's 5 minutes, in milliseconds. */
const DELAY = 300_000

/** What a request waits for. */
export class Wait {
  deadline = Number.POSITIVE_INFINITY
  listIndex = -1
  /** @type {NodeJS.Timeout | null} */
  timer = null
  isLate = false

  onDeadline() {
    this.isLate = true
  }
}

/** @typedef {{ begin(wait: Wait): void, move(wait: Wait): void, stop(wait: Wait): void }} Timing */

/** @implements {Timing} */
class OneAlarm {
  #deadlines

  /** @param {import('../../src/core/clock.ts').Clock} clock */
  constructor(clock = systemClock) {
    this.#deadlines = new Deadlines(clock)
  }

  /** @param {Wait} wait */
  begin(wait) {
    this.move(wait)
  }

  /** @param {Wait} wait */
  move(wait) {
    const now = this.#deadlines.now()
    this.#deadlines.set(wait, now + DELAY, now)
  }

  /** @param {Wait} wait */
  stop(wait) {
    this.#deadlines.delete(wait)
  }
}

/** @implements {Timing} */
class TimerEach {
  /** @param {Wait} wait */
  begin(wait) {
    wait.timer = setTimeout(() => wait.onDeadline(), DELAY).unref()
  }

  /** @param {Wait} wait */
  move(wait) {
    wait.timer?.refresh()
  }

  /** @param {Wait} wait */
  stop(wait) {
    clearTimeout(wait.timer ?? undefined)
    wait.timer = null
  }
}

/** @implements {Timing} */
class TimerEachPhase extends TimerEach {
  /** @override @param {Wait} wait */
  move(wait) {
    this.stop(wait)
    this.begin(wait)
  }
}

/** @type {readonly [string, new () => Timing][]} */
export const TIMINGS = [
  ['Deadlines: one alarm, a place in a list', OneAlarm],
  ['setTimeout(), refresh()', TimerEach],
  ['setTimeout() for each phase', TimerEachPhase],
]

/**
 * A request's life, while others wait: it is queued, opened, gets its response, and a piece of its body.
 *
 * @param {new () => Timing} Timing @param {number} others
 */
function live(Timing, others) {
  const timing = new Timing()
  for (let i = 0; i < others; i++) timing.begin(new Wait())
  return () => {
    const wait = new Wait()
    timing.begin(wait)
    for (let phase = 0; phase < 3; phase++) timing.move(wait)
    timing.stop(wait)
    return wait.isLate
  }
}

export const comparisons = [0, 100, 10_000].map((others) => ({
  title: `the deadlines of a request, beside ${others} others`,
  ways: Object.fromEntries(TIMINGS.map(([name, Timing]) => [name, live(Timing, others)])),
}))
