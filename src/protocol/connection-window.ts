/**
 * The connection's receive window (RFC 9113 §6.9), and how much of it unread data takes.
 *
 * @module
 */

/** WINDOW_UPDATE is due when the bytes to announce are one part of this many of the window without its unread bytes. */
const UPDATE_PART = 2

/**
 * Credit is scarce below one part of this many of the window: streams whose readers read would soon wait for streams
 * whose readers don't.
 */
const SCARCE_PART = 4

/**
 * Credit goes back to the peer as bytes are read, so that the buffered bytes stay below the window: a peer that sends
 * to readers who don't read gets no more credit. But the readers of other streams must not wait for those. While there
 * are such streams, and credit is scarce, the window gives credit for unread bytes in advance, up to a bound. When
 * these bytes are read later, that credit is settled first.
 */
export class ConnectionWindow {
  /** The window when everything is read: what the peer may send at once. Bytes. */
  #size: number
  /** What the peer may send now. Bytes. */
  #available: number
  /** Credit that is due to the peer and not announced yet. Bytes. */
  #returned = 0
  /** Bytes that were received and not read yet. */
  #held = 0
  /** Credit that was given in advance for unread bytes. Bytes. */
  #overcommitted = 0
  /** The most that may be unread in all. Bytes. */
  readonly #maxHeld: number
  /** The window has grown since the last `announce()`. */
  #hasGrown = false

  /**
   * @param size the window that the peer knows already, or that will be announced in any case; bytes
   * @param maxHeld the most that may be unread in all; bytes
   */
  constructor(size: number, maxHeld: number) {
    this.#size = size
    this.#available = size
    this.#maxHeld = maxHeld
  }

  get size(): number {
    return this.#size
  }

  /** Bytes that were received and not read yet. */
  get held(): number {
    return this.#held
  }

  /** Counts bytes that were received. @returns false when the peer has exceeded the window */
  receive(bytes: number): boolean {
    this.#available -= bytes
    return this.#available >= 0
  }

  /** Received bytes stay unread for now. */
  hold(bytes: number): void {
    this.#held += bytes
  }

  /** Held bytes were read, or thrown away. */
  release(bytes: number): void {
    this.#held -= bytes
    const paid = Math.min(this.#overcommitted, bytes)
    this.#overcommitted -= paid
    this.#returned += bytes - paid
  }

  /** Received bytes were read, or thrown away, at once. */
  consume(bytes: number): void {
    this.#returned += bytes
  }

  /**
   * Gives credit in advance for unread bytes when credit is scarce: a response whose reader reads may have to wait
   * otherwise. @returns whether there is credit to announce
   */
  overcommit(): boolean {
    if ((this.#available + this.#returned) * SCARCE_PART > this.#size) return false
    const amount = Math.min(this.#held, this.#maxHeld - this.#size) - this.#overcommitted
    if (amount <= 0) return false
    this.#overcommitted += amount
    this.#returned += amount
    return true
  }

  /** Grows the window. @param size bytes; no effect unless it is larger than before */
  grow(size: number): void {
    if (size <= this.#size) return
    this.#returned += size - this.#size
    this.#size = size
    this.#hasGrown = true
  }

  /** Whether the credit to announce is worth a WINDOW_UPDATE: growth always is. */
  get isUpdateDue(): boolean {
    if (this.#hasGrown) return true
    return this.#returned > 0 && this.#returned * UPDATE_PART >= this.#available + this.#returned
  }

  /** Takes the increment of a WINDOW_UPDATE: all the credit that is due. The peer may use it from now on. */
  announce(): number {
    const increment = this.#returned
    this.#returned = 0
    this.#hasGrown = false
    this.#available += increment
    return increment
  }
}
