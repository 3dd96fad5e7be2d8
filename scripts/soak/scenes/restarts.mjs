/** How the calls of a scene get over the restarts of its servers. */

/** Milliseconds between two looks at the clock, and how late one may be without counting. */
const LOOK = 20
const LATE = 50

/**
 * When the event loop stood still, as it does on a machine that is busy with other things. Such times aren't counted: nothing that
 * this process does could shorten them.
 */
class Stalls {
  /** @type {{ from: number, until: number }[]} */
  #all = []
  #seen = performance.now()

  start() {
    this.#seen = performance.now()
    const timer = setInterval(() => {
      const now = performance.now()
      if (now - this.#seen - LOOK > LATE) this.#all.push({ from: this.#seen + LOOK, until: now })
      this.#seen = now
    }, LOOK)
    return () => clearInterval(timer)
  }

  /** In milliseconds. @param {number} from @param {number} until */
  between(from, until) {
    const overlap = (/** @type {{ from: number, until: number }} */ stall) =>
      Math.max(0, Math.min(until, stall.until) - Math.max(from, stall.from))
    // The stall that is over now may not have been seen yet.
    let sum = overlap({ from: this.#seen + LOOK + LATE, until })
    for (let i = this.#all.length - 1; i >= 0 && this.#all[i].until > from; i--) sum += overlap(this.#all[i])
    return sum
  }
}

/**
 * @typedef {'next' | 'settled' | 'firstByte'} Measure
 *
 * @typedef {object} Restart
 * @property {string} name of the new server
 * @property {number} endedAt when the server before it was killed, or stopped listening, by `performance.now()`
 * @property {number} at when it listens, by the same clock
 * @property {Map<Measure, { took: number, wall: number }>} times the longest of each, in milliseconds from `at` on: without stalls, and
 *   with them
 */

/** @type {Readonly<Record<Measure, string>>} */
const TEXTS = {
  next: 'until the new server had served a call',
  settled: 'until the last call had settled that was open when the server before it ended',
  firstByte: 'until the slowest response had begun, of the requests that were waiting for one',
}

const NONE = { took: 0, wall: 0 }

export class Restarts {
  /** @type {Restart[]} */
  all = []
  /** When a call began, of those that are open. @type {Map<number, number>} */
  open = new Map()
  /** @type {((value: unknown) => void) | null} */
  #onNext = null
  #stalls = new Stalls()
  #begun = performance.now()

  /** Sees when the event loop stands still, until it is stopped. */
  watch() {
    return this.#stalls.start()
  }

  /**
   * Restarts a server, and waits until it has served a call.
   *
   * @param {import('./origin.mjs').Origin} origin @param {() => Promise<void>} restart
   */
  async play(origin, restart) {
    await origin.prepare()
    const endedAt = performance.now()
    await restart()
    const { name } = origin
    /** @type {Restart} */
    const latest = { name, endedAt, at: performance.now(), times: new Map() }
    this.all.push(latest)
    while (!latest.times.has('next')) {
      await new Promise((resolve) => {
        this.#onNext = resolve
      })
    }
  }

  /** @param {number} call */
  begin(call) {
    this.open.set(call, performance.now())
  }

  /** @param {number} call */
  settle(call) {
    const now = performance.now()
    const begun = this.open.get(call) ?? now
    this.open.delete(call)
    this.#settle(begun, now)
  }

  /** A response has begun. @param {string} name of the server @param {number} begun when its request was first made */
  serve(name, begun) {
    const now = performance.now()
    for (const restart of this.all) {
      if (begun < restart.at) this.#time(restart, 'firstByte', now)
    }
    const served = this.all.findLast((restart) => restart.name === name)
    if (served === undefined || served.times.has('next')) return
    this.#time(served, 'next', now)
    this.#onNext?.(null)
  }

  /** Milliseconds without stalls. @param {number} from @param {number} until */
  between(from, until) {
    return until - from - this.#stalls.between(from, until)
  }

  /** @param {Restart} restart @param {Measure} what @param {number} now */
  #time({ at, times }, what, now) {
    const took = this.between(at, now)
    if (took >= (times.get(what) ?? NONE).took) times.set(what, { took, wall: now - at })
  }

  /** @param {number} begun @param {number} now */
  #settle(begun, now) {
    for (const restart of this.all) {
      if (begun < restart.endedAt) this.#time(restart, 'settled', now)
    }
  }

  /**
   * @param {import('../watch.mjs').Watch} watch @param {number} limit in milliseconds
   * @param {Measure[]} measures that it holds for
   */
  judge(watch, limit, measures) {
    const now = performance.now()
    for (const begun of this.open.values()) this.#settle(begun, now)
    for (const what of measures) {
      const times = this.all.map(({ name, times }) => {
        const { took, wall } = times.get(what) ?? NONE
        if (what === 'next' && !times.has(what)) watch.violate(`${name} has never served a call`)
        if (took > limit) watch.violate(`${name}: ${took.toFixed(0)} ms ${TEXTS[what]}, above ${limit}`)
        return wall - took < 1 ? took.toFixed(0) : `${took.toFixed(0)} (${wall.toFixed(0)})`
      })
      console.log(
        `After ${times.length} restarts, ${TEXTS[what]}, in ms (and with stalls): ${times.join(', ')}`,
      )
    }
    const stalled = (100 * this.#stalls.between(this.#begun, now)) / (now - this.#begun)
    console.log(`The event loop stood still for ${stalled.toFixed(0)} % of the time, which isn't counted`)
  }
}
