/**
 * Pure: how many of an upstream's responses are open, and how many of them have begun recently.
 *
 * @module
 */

/** The length of the generations that distinguish ages, in milliseconds. */
export const GENERATION = 5_000

/**
 * The number of a time's generation.
 *
 * @param now in the clock's milliseconds
 */
export function toGeneration(now: number): number {
  return Math.floor(now / GENERATION)
}

/**
 * Counts open responses by the generation in which they began, with two counters: the current one and the previous one
 * are recent. The caller that begins a response keeps its generation until its end, so that ending one doesn't need the
 * time.
 */
export class OpenResponses {
  /** How many are open. */
  all = 0
  /** How many of these began in `#generation`, and in the one before it. */
  #present = 0
  #former = 0
  #generation = 0

  /**
   * A response begins.
   *
   * @returns its generation
   */
  begin(now: number): number {
    this.#moveTo(toGeneration(now))
    this.all++
    this.#present++
    return this.#generation
  }

  /**
   * A response ends.
   *
   * @param generation the return value of {@link begin}
   */
  end(generation: number): void {
    this.all--
    if (generation === this.#generation) this.#present--
    else if (generation === this.#generation - 1) this.#former--
  }

  /** How many began within the last 5 to 10 seconds. */
  recent(now: number): number {
    this.#moveTo(toGeneration(now))
    return this.#present + this.#former
  }

  #moveTo(generation: number): void {
    if (generation <= this.#generation) return
    this.#former = generation === this.#generation + 1 ? this.#present : 0
    this.#present = 0
    this.#generation = generation
  }
}
