/**
 * The connection's receive window (RFC 9113 §6.9), and how much of it is taken by unread data.
 *
 * @module
 */

/** WINDOW_UPDATE is due when one in this many bytes of the window, not counting its unread ones, can be announced. */
const UPDATE_PART = 2

/**
 * Credit is scarce when fewer than one in this many bytes of the window are left: streams with readers that read would
 * soon wait for streams with readers that don't.
 */
const SCARCE_PART = 4

/**
 * The peer gets credit back as bytes are read, so that the buffered bytes stay below the window: a peer that sends to
 * readers who don't read gets no more credit. But other streams' readers must not wait for them. While there are such
 * streams, and credit is scarce, the window gives credit for unread bytes in advance, up to a bound. When these bytes
 * are read later, that credit is settled first.
 */
export class ConnectionWindow {
  /** The window when everything has been read, which is what the peer may send at once, in bytes. */
  #size: number
  /** What the peer may send now, in bytes. */
  #available: number
  /** Credit that is due to the peer and not announced yet, in bytes. */
  #returned = 0
  /** How many received bytes haven't been read yet. */
  #held = 0
  /** Credit that was given in advance for unread bytes, in bytes. */
  #overcommitted = 0
  /** The most bytes that may be unread in total. */
  readonly #maxHeld: number
  /** Whether the window has grown since the last `announce()`. */
  #hasGrown = false

  /**
   * @param size the window that the peer already knows, or that will be announced in any case, in bytes
   * @param maxHeld the most bytes that may be unread in total
   */
  constructor(size: number, maxHeld: number) {
    this.#size = size
    this.#available = size
    this.#maxHeld = maxHeld
  }

  get size(): number {
    return this.#size
  }

  /** How many received bytes haven't been read yet. */
  get held(): number {
    return this.#held
  }

  /**
   * Counts received bytes.
   *
   * @returns false if the peer has exceeded the window
   */
  receive(bytes: number): boolean {
    this.#available -= bytes
    return this.#available >= 0
  }

  /** Received bytes stay unread for now. */
  hold(bytes: number): void {
    this.#held += bytes
  }

  /** Held bytes were read or discarded. */
  release(bytes: number): void {
    this.#held -= bytes
    const paid = Math.min(this.#overcommitted, bytes)
    this.#overcommitted -= paid
    this.#returned += bytes - paid
  }

  /** Received bytes were read or discarded at once. */
  consume(bytes: number): void {
    this.#returned += bytes
  }

  /**
   * Gives credit in advance for unread bytes when credit is scarce: otherwise a response whose reader reads may have to
   * wait.
   *
   * @returns whether there is credit to announce
   */
  overcommit(): boolean {
    if ((this.#available + this.#returned) * SCARCE_PART > this.#size) return false
    const amount = Math.min(this.#held, this.#maxHeld - this.#size) - this.#overcommitted
    if (amount <= 0) return false
    this.#overcommitted += amount
    this.#returned += amount
    return true
  }

  /**
   * Grows the window.
   *
   * @param size in bytes; no effect unless it is larger than before
   */
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

  /** Takes the increment for a WINDOW_UPDATE: all the credit that is due. The peer may use it from now on. */
  announce(): number {
    const increment = this.#returned
    this.#returned = 0
    this.#hasGrown = false
    this.#available += increment
    return increment
  }
}
