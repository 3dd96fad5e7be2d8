/**
 * How many requests may be sent in addition to one per call.
 *
 * @module
 */

/** How much retries may cost. */
export interface RetryBudgetRules {
  /** As a percentage of the calls in the last ten seconds. */
  readonly percent: number
  /** How many per second are allowed, however few calls there are. */
  readonly minPerSecond: number
}

/** The budget counts the last ten seconds, in slots of one second. In milliseconds. */
const SLOT = 1_000
const SLOTS = 10

/**
 * One budget for retries of all kinds. A server that is slow or fails gets a bounded number of additional requests,
 * however many calls fail.
 *
 * @see https://finagle.github.io/blog/2016/02/08/retry-budgets
 */
export class RetryBudget {
  readonly #rules: RetryBudgetRules
  /** The counts for each slot. */
  readonly #calls = new Uint32Array(SLOTS)
  readonly #spent = new Uint32Array(SLOTS)
  /** The totals of all slots. */
  #allCalls = 0
  #allSpent = 0
  /** The number of the current slot since the clock began. */
  #slot = 0

  constructor(rules: RetryBudgetRules) {
    this.#rules = rules
  }

  /** A call begins. */
  deposit(now: number): void {
    const index = this.#moveTo(now)
    this.#calls[index] = (this.#calls[index] ?? 0) + 1
    this.#allCalls++
  }

  /**
   * A retry is wanted.
   *
   * @returns whether it is allowed: then it is spent
   */
  spend(now: number): boolean {
    const index = this.#moveTo(now)
    const { percent, minPerSecond } = this.#rules
    const limit = Math.max((this.#allCalls * percent) / 100, (minPerSecond * SLOT * SLOTS) / 1_000)
    if (this.#allSpent + 1 > limit) return false
    this.#spent[index] = (this.#spent[index] ?? 0) + 1
    this.#allSpent++
    return true
  }

  /**
   * Empties the slots that have become too old.
   *
   * @returns the index of the current one
   */
  #moveTo(now: number): number {
    const slot = Math.floor(now / SLOT)
    for (let i = Math.max(this.#slot + 1, slot - SLOTS + 1); i <= slot; i++) {
      const index = i % SLOTS
      this.#allCalls -= this.#calls[index] ?? 0
      this.#allSpent -= this.#spent[index] ?? 0
      this.#calls[index] = 0
      this.#spent[index] = 0
    }
    this.#slot = Math.max(this.#slot, slot)
    return this.#slot % SLOTS
  }
}
