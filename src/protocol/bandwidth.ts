/**
 * How much a path holds: round trip × rate.
 *
 * @module
 */

/** Milliseconds between two measurements, when the first one has changed nothing. */
const CALM = 1_000

const NEVER = Number.POSITIVE_INFINITY

/** A clock may be coarser than a round trip within one machine. Milliseconds. */
const SHORTEST = 0.001

/**
 * Measures by PINGs, while large responses come. The shortest round trip is that of the path itself: what makes it
 * longer is a queue, and a larger window would only make that longer. So a slow path with a long queue has a small
 * product, and a fast one with a long way a large one: there the windows grow until the path is filled.
 */
export class BandwidthMeter {
  /** When the PING that is under way went out; NEVER without one. */
  #sentAt = NEVER
  /** The next one goes out no sooner. */
  #nextAt = Number.NEGATIVE_INFINITY
  #shortestTrip = NEVER
  /** Bytes since `#since`. */
  #received = 0
  #since = NEVER
  /** A window has just grown: what comes within the next round trip was sent by the old one. */
  #isSettling = false

  /** So much has come. */
  add(bytes: number): void {
    this.#received += bytes
  }

  /** Much is coming. @returns whether a PING is to be sent */
  begin(now: number): boolean {
    if (this.#sentAt !== NEVER || now < this.#nextAt) return false
    this.#sentAt = now
    if (this.#since === NEVER) this.#restart(now)
    return true
  }

  /**
   * Its ACK has come.
   *
   * @returns bytes that are on their way at the present rate; 0 for a measurement that tells nothing
   */
  end(now: number): number {
    this.#shortestTrip = Math.min(this.#shortestTrip, Math.max(now - this.#sentAt, SHORTEST))
    this.#sentAt = NEVER
    if (this.#isSettling) {
      this.#isSettling = false
      this.#restart(now)
      return 0
    }
    return (this.#received / Math.max(now - this.#since, SHORTEST)) * this.#shortestTrip
  }

  /** What it has brought was large enough for a larger window, or wasn't. */
  conclude(now: number, hasGrown: boolean): void {
    this.#isSettling = hasGrown
    if (hasGrown) return
    this.#nextAt = now + CALM
    this.#since = NEVER
  }

  #restart(now: number): void {
    this.#received = 0
    this.#since = now
  }
}
