/**
 * Tells which streams have been open for long, without a timestamp for each.
 *
 * @module
 */

/** The least time between two samples. Milliseconds. */
const STEP = 250

/** A stream with this id, or a lower one, was opened by then. */
interface Sample {
  /** Milliseconds of the owner's clock. */
  readonly at: number
  readonly id: number
}

/**
 * Ids of streams grow in the order of opening (RFC 9113 §5.1.1). So a note of the newest id, now and then, dates all
 * streams before it.
 */
export class StreamAges {
  readonly #age: number
  /** The oldest first; beside the one that counts, those of the last `#age`. */
  readonly #samples: Sample[] = []

  /** @param age how long a stream has to have been open. Milliseconds */
  constructor(age: number) {
    this.#age = age
  }

  /** Takes a sample, unless there was one just now. @param toNewestId 0 when no stream is open */
  sample(now: number, toNewestId: () => number): void {
    const last = this.#samples.at(-1)
    if (last !== undefined && now - last.at < STEP) return
    this.#samples.push({ at: now, id: Math.max(toNewestId(), last?.id ?? 0) })
    const then = now - this.#age
    while ((this.#samples[1]?.at ?? now) <= then) this.#samples.shift()
  }

  /** Every stream with this id, or a lower one, is of age; 0 when that is known of none. */
  toLastOfAge(now: number): number {
    const then = now - this.#age
    let id = 0
    for (const sample of this.#samples) if (sample.at <= then) id = sample.id
    return id
  }
}
