/**
 * How much a path holds: round trip × rate.
 *
 * @module
 */

/**
 * The window is what holds the sender up once so large a part of it came within one round trip, as a fraction. It can't be much more
 * than the half: the PING goes out with the credit for the first half, and what that lets the sender send comes after the ACK.
 */
const FULL = 0.4
/** By how much it grows then. */
const GROWTH = 2
/** A rate that wasn't reached again counts for less: it may have been a burst. */
const DECAY = 0.9
/** Milliseconds between two measurements that have changed nothing. */
const CALM = 1_000

/**
 * Measures by PINGs, while large answers come: what arrives between a PING and its ACK is what the path holds at the present
 * rate. Where that is about what the window allows for, it is the window that holds the sender up, and it should be larger.
 */
export class BandwidthMeter {
  /** Bytes since the PING that is under way; -1 without one. */
  #sampled = -1
  #sentAt = 0
  /** The next one goes out no sooner. */
  #nextAt = Number.NEGATIVE_INFINITY
  /** Bytes for each millisecond: the best so far. */
  #bestRate = 0

  /** A PING is under way. */
  get isSampling(): boolean {
    return this.#sampled !== -1
  }

  /** So much has come. */
  add(bytes: number): void {
    if (this.#sampled !== -1) this.#sampled += bytes
  }

  /** A large answer comes. @returns whether a PING is to be sent */
  begin(now: number): boolean {
    if (this.#sampled !== -1 || now < this.#nextAt) return false
    this.#sampled = 0
    this.#sentAt = now
    return true
  }

  /**
   * Its ACK has come.
   *
   * @param window what there is, in bytes
   * @returns how large it should be: `window` itself where that is enough
   */
  end(now: number, window: number): number {
    const sampled = this.#sampled
    this.#sampled = -1
    const rate = sampled / Math.max(now - this.#sentAt, 0.001)
    // A path whose queue only grows longer brings more for each round trip, and nothing for each second.
    if (sampled < window * FULL || rate <= this.#bestRate) {
      this.#nextAt = now + CALM
      this.#bestRate *= DECAY
      return window
    }
    this.#bestRate = rate
    return window * GROWTH
  }
}
