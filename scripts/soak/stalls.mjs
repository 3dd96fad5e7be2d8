/** Milliseconds between two looks at the clock. */
const LOOK = 20
/** As many stalls are kept: more than any time that is asked for has. */
const KEPT = 2_000

/**
 * When the event loop stood still, as it does on a machine that is busy with other things. Such times aren't counted: nothing that this
 * process does could shorten them.
 */
export class Stalls {
  /** In milliseconds. */
  total = 0
  /** @type {{ from: number, until: number }[]} */
  #all = []
  #seen = performance.now()
  #timer = setInterval(() => this.#look(), LOOK)

  /** @param {number} late how late a look may be without counting, in milliseconds */
  constructor(late) {
    this.late = late
  }

  /** In milliseconds. @param {number} from @param {number} [until] */
  between(from, until = performance.now()) {
    const overlap = (/** @type {{ from: number, until: number }} */ stall) =>
      Math.max(0, Math.min(until, stall.until) - Math.max(from, stall.from))
    // The stall that is over now may not have been seen yet.
    let sum = overlap({ from: this.#seen + LOOK + this.late, until })
    for (let i = this.#all.length - 1; i >= 0 && this.#all[i].until > from; i--) sum += overlap(this.#all[i])
    return sum
  }

  stop() {
    clearInterval(this.#timer)
  }

  #look() {
    const now = performance.now()
    const stall = { from: this.#seen + LOOK, until: now }
    if (now - stall.from > this.late) {
      this.#all.push(stall)
      this.total += now - stall.from
    }
    if (this.#all.length > KEPT) this.#all.shift()
    this.#seen = now
  }
}
