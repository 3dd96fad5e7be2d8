/**
 * How many requests may be sent beyond one a call.
 *
 * @module
 */

/** What retries may cost. */
export interface RetryBudgetRules {
  /** Of the calls of the last ten seconds. Percent. */
  readonly percent: number
  /** So many a second are allowed however few calls there are. */
  readonly minPerSecond: number
}

/** The budget counts the last ten seconds, in slots of a second. Milliseconds. */
const SLOT = 1_000
const SLOTS = 10

/**
 * One budget for retries of all kinds. A server that is slow, or fails, gets a bounded number of requests more, however
 * many calls fail.
 *
 * @see https://finagle.github.io/blog/2016/02/08/retry-budgets
 */
export class RetryBudget {
  readonly #rules: RetryBudgetRules
  /** Of each slot. */
  readonly #calls = new Uint32Array(SLOTS)
  readonly #spent = new Uint32Array(SLOTS)
  /** Over all slots. */
  #allCalls = 0
  #allSpent = 0
  /** The number of the present slot since the clock began. */
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

  /** A retry is wanted. @returns whether it is allowed: then it is spent */
  spend(now: number): boolean {
    const index = this.#moveTo(now)
    const { percent, minPerSecond } = this.#rules
    const limit = Math.max((this.#allCalls * percent) / 100, (minPerSecond * SLOT * SLOTS) / 1_000)
    if (this.#allSpent + 1 > limit) return false
    this.#spent[index] = (this.#spent[index] ?? 0) + 1
    this.#allSpent++
    return true
  }

  /** Empties the slots that have become too old. @returns the index of the present one */
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
