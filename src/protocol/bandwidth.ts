/**
 * A path's bandwidth-delay product: round trip × rate.
 *
 * @module
 */

/** How long, in milliseconds, the meter rests after a measurement that hasn't grown a window. */
const CALM = 1_000

const NEVER = Number.POSITIVE_INFINITY

/**
 * The shortest round trip that is assumed, in milliseconds: a clock may be coarser than a round trip within one
 * machine.
 */
const SHORTEST = 0.001

/**
 * Measures with PINGs while large responses arrive. The shortest round trip is the path's own: a longer one is due to a
 * queue, and a larger window would only make the queue longer. So a slow path with a long queue has a small product,
 * and its window stays small. A fast path over a long distance has a large product, and its windows grow until the path
 * is filled.
 */
export class BandwidthMeter {
  /** When the PING in flight was sent, in the owner's clock's milliseconds; NEVER without one. */
  #sentAt = NEVER
  /** The next PING is not sent before this time, in the owner's clock's milliseconds; -Infinity before the first. */
  #nextAt = Number.NEGATIVE_INFINITY
  #shortestTrip = NEVER
  /** The bytes received since `#since`. */
  #received = 0
  #since = NEVER
  /**
   * Whether a window has just grown: data that arrives within the next round trip was still sent under the old window.
   */
  #isSettling = false

  /** Counts received bytes of DATA. */
  add(bytes: number): void {
    this.#received += bytes
  }

  /**
   * Much data is arriving: a measurement may begin.
   *
   * @returns whether to send a PING
   */
  begin(now: number): boolean {
    if (this.#sentAt !== NEVER || now < this.#nextAt) return false
    this.#sentAt = now
    if (this.#since === NEVER) this.#restart(now)
    return true
  }

  /**
   * The ACK of the measurement's PING has arrived.
   *
   * @returns how many bytes are in flight at the current rate; 0 if this measurement says nothing
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

  /**
   * The measurement has been used.
   *
   * @param hasGrown whether a window has grown because of it
   */
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
