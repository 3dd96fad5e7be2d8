/**
 * The bandwidth-delay product of a path: round trip × rate.
 *
 * @module
 */

/** How long the meter rests after a measurement that has not grown a window. Milliseconds. */
const CALM = 1_000

const NEVER = Number.POSITIVE_INFINITY

/** The least round trip that is assumed: a clock may be coarser than a round trip within one machine. Milliseconds. */
const SHORTEST = 0.001

/**
 * Measures with PINGs while large responses come in. The shortest round trip is that of the path itself: a longer one
 * comes from a queue, and a larger window would only make the queue longer. So a slow path with a long queue has a
 * small product, and its window stays small. A fast path over a long distance has a large product, and its windows grow
 * until the path is filled.
 */
export class BandwidthMeter {
  /** When the PING in flight was sent; NEVER without one. Milliseconds of the owner's clock. */
  #sentAt = NEVER
  /** The next PING is not sent before this. Milliseconds of the owner's clock; -Infinity before the first. */
  #nextAt = Number.NEGATIVE_INFINITY
  #shortestTrip = NEVER
  /** Bytes since `#since`. */
  #received = 0
  #since = NEVER
  /** A window has just grown: data that comes within the next round trip was still sent under the old window. */
  #isSettling = false

  /** Counts bytes of DATA that were received. */
  add(bytes: number): void {
    this.#received += bytes
  }

  /** Much data is coming in: a measurement may begin. @returns whether a PING is to be sent */
  begin(now: number): boolean {
    if (this.#sentAt !== NEVER || now < this.#nextAt) return false
    this.#sentAt = now
    if (this.#since === NEVER) this.#restart(now)
    return true
  }

  /**
   * The ACK of the measurement's PING has come.
   *
   * @returns bytes that are in flight at the present rate; 0 when this measurement tells nothing
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

  /** The measurement is used. @param hasGrown whether a window was grown because of it */
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
