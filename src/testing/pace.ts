/**
 * So much per second, however coarse the timers are.
 *
 * @module
 */

/** In milliseconds: shorter timers are no more precise. */
const STEP = 1

/** Spreads what is taken from it evenly over time, starting when it is created. */
export class Pace {
  readonly #perSecond: number
  readonly #delay: (milliseconds: number) => Promise<boolean>
  readonly #startedAt = performance.now()
  #taken = 0

  /** @param delay waits; false if there is nothing to wait for any more */
  constructor(perSecond: number, delay: (milliseconds: number) => Promise<boolean>) {
    if (!(perSecond > 0)) throw new TypeError(`A rate must be above 0 per second, not ${perSecond}`)
    this.#perSecond = perSecond
    this.#delay = delay
  }

  /**
   * Waits until this much more may be taken.
   *
   * @returns false if there is nothing to wait for any more
   */
  async take(amount: number): Promise<boolean> {
    const dueAt = this.#startedAt + (this.#taken / this.#perSecond) * 1_000
    this.#taken += amount
    const wait = dueAt - performance.now()
    return wait < STEP || this.#delay(wait)
  }
}
