/**
 * Tells which streams have been open for a long time, without a timestamp for each.
 *
 * @module
 */

/** The minimum time between two samples, in milliseconds. */
const STEP = 250

/** Streams up to this id were open by then. */
interface Sample {
  /** In milliseconds of the owner's clock. */
  readonly at: number
  readonly id: number
}

/**
 * Stream ids grow in the order of opening (RFC 9113 §5.1.1). So noting the newest id from time to time dates all
 * streams before it.
 */
export class StreamAges {
  readonly #age: number
  /** The oldest first: the one that counts, and those from the last `#age`. */
  readonly #samples: Sample[] = []

  /** @param age how many milliseconds a stream has to have been open */
  constructor(age: number) {
    this.#age = age
  }

  /** Takes a sample, unless there was a recent one. @param toNewestId returns 0 if no stream is open */
  sample(now: number, toNewestId: () => number): void {
    const last = this.#samples.at(-1)
    if (last !== undefined && now - last.at < STEP) return
    this.#samples.push({ at: now, id: Math.max(toNewestId(), last?.id ?? 0) })
    const then = now - this.#age
    while ((this.#samples[1]?.at ?? now) <= then) this.#samples.shift()
  }

  /** Every stream up to this id is old enough; 0 if that is known of none. */
  toLastOfAge(now: number): number {
    const then = now - this.#age
    let id = 0
    for (const sample of this.#samples) if (sample.at <= then) id = sample.id
    return id
  }
}
