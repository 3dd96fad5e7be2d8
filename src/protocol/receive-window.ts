/**
 * The connection's own receive window (RFC 9113 §6.9), and who has used it up.
 *
 * @module
 */

/** New credit is announced once it is this part of all that isn't tied up by what lies unread. */
const UPDATE_PART = 2

/** Below this part of the window those that read would soon wait for those that don't. */
const SCARCE_PART = 4

/**
 * Credit comes back as bytes are read, so that what is buffered stays below the window: a peer that sends to readers
 * who don't read gets no more of it. But readers of other streams shall not wait for those: while there are such
 * streams, and credit has become scarce, some is lent for what is unread, up to a bound. What is read later pays that
 * back first.
 */
export class ReceiveWindow {
  /** What the peer may send at once, when everything is read. Bytes. */
  #size: number
  /** What it may send now. */
  #available: number
  /** What was given back, and not announced. */
  #returned = 0
  /** Bytes that nobody has read. */
  #held = 0
  /** Given back for bytes that nobody has read. */
  #overcommitted = 0
  /** How much may be unread at most, all in all. */
  readonly #maxHeld: number

  /**
   * @param size what the protocol, or an announcement that is made anyway, gives it; bytes
   * @param maxHeld how much may be unread at most; bytes
   */
  constructor(size: number, maxHeld: number) {
    this.#size = size
    this.#available = size
    this.#maxHeld = maxHeld
  }

  get size(): number {
    return this.#size
  }

  /** What is there, unread. */
  get held(): number {
    return this.#held
  }

  /** So much has come. @returns false when that was more than allowed */
  receive(bytes: number): boolean {
    this.#available -= bytes
    return this.#available >= 0
  }

  /** It stays unread for now. */
  hold(bytes: number): void {
    this.#held += bytes
  }

  /** What was held is read. */
  release(bytes: number): void {
    this.#held -= bytes
    const paid = Math.min(this.#overcommitted, bytes)
    this.#overcommitted -= paid
    this.#returned += bytes - paid
  }

  /** What has come was read, or thrown away, at once. */
  consume(bytes: number): void {
    this.#returned += bytes
  }

  /** Somebody else's response may have to wait. @returns whether there is something to announce */
  overcommit(): boolean {
    if ((this.#available + this.#returned) * SCARCE_PART > this.#size) return false
    const amount = Math.min(this.#held, this.#maxHeld - this.#size) - this.#overcommitted
    if (amount <= 0) return false
    this.#overcommitted += amount
    this.#returned += amount
    return true
  }

  /** @param size larger than before */
  grow(size: number): void {
    if (size <= this.#size) return
    this.#returned += size - this.#size
    this.#size = size
  }

  /** Whether there is so much to announce that it is worth a frame. */
  get isUpdateDue(): boolean {
    return this.#returned > 0 && this.#returned * UPDATE_PART >= this.#available + this.#returned
  }

  /** The increment to announce: all that has come back. It counts from now on. */
  announce(): number {
    const increment = this.#returned
    this.#returned = 0
    this.#available += increment
    return increment
  }
}
