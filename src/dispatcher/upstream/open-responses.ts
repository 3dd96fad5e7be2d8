/**
 * Pure: how many responses of an upstream are open, and how many of them have begun lately.
 *
 * @module
 */

/** Ages are told apart by generations of this length. Milliseconds. */
export const GENERATION = 5_000

/** The number of the generation of a time. @param now milliseconds of the clock */
export function toGeneration(now: number): number {
  return Math.floor(now / GENERATION)
}

/**
 * Counts open responses by the generation in which they began, with two counters: the present one and the one before it
 * are recent. Whoever begins a response keeps its generation until its end, so that no end asks for the time.
 */
export class OpenResponses {
  /** Those that are open. */
  all = 0
  /** Of these, the ones that began in `#generation`, and in the one before it. */
  #present = 0
  #former = 0
  #generation = 0

  /** A response begins. @returns its generation */
  begin(now: number): number {
    this.#moveTo(toGeneration(now))
    this.all++
    this.#present++
    return this.#generation
  }

  /** A response ends. @param generation what {@link begin} returned */
  end(generation: number): void {
    this.all--
    if (generation === this.#generation) this.#present--
    else if (generation === this.#generation - 1) this.#former--
  }

  /** How many began within the last 5 seconds, or up to 10. */
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
