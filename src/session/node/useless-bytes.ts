/**
 * Counts the bytes of a peer that bring nothing, which node:http2 tells nobody of.
 *
 * @module
 */

/** How many a connection may have had, with {@link USELESS_RATE} of them more for each second. Bytes. */
const USELESS_BURST = 1_048_576
const USELESS_RATE = 65_536

/** The most that a frame with data has beside it: its header, and padding (RFC 9113 §6.1). Bytes. */
const FRAME_OVERHEAD = 9 + 256
/** The most that a header section takes: nghttp2 accepts nine frames of 16 KiB. Bytes. */
const HEADER_SECTION = 9 * 16_384
/**
 * What a byte of ours may bring back: two WINDOW_UPDATE frames, from a server that reads uploads byte by byte. Bytes.
 */
const CREDIT_PER_BYTE = 2 * 13

/**
 * The bytes that came, less those that are known to have brought something. What is left is frames of unknown types,
 * WINDOW_UPDATEs that nothing was sent for, and the like: each is legal, and a peer that sends nothing else only costs
 * time (RFC 9113 §10.5).
 *
 * Where the two can't be told apart, it counts for the peer: a false alarm would end a good connection.
 */
export class UselessBytes {
  /** When the connection began. Milliseconds. */
  readonly #begunAt: number
  /** Bytes that brought something, or may have. */
  #useful = 0
  /** Streams whose data node keeps for their readers: it has come, and wasn't given to us. */
  #held = 0

  /** @param now milliseconds of any clock */
  constructor(now: number) {
    this.#begunAt = now
  }

  /** A piece of a stream's data has come. @param length bytes */
  onData(length: number): void {
    this.#useful += length + FRAME_OVERHEAD
  }

  onHeaderSection(): void {
    this.#useful += HEADER_SECTION
  }

  /**
   * A stream has closed without END_STREAM of the peer, whoever has reset it: data for it may be under way, which node
   * drops. @param window the largest that it may have had, in bytes
   */
  onCutOff(window: number): void {
    this.#useful += window + HEADER_SECTION
  }

  /** A stream is held by its reader, or no longer. */
  hold(isHeld: boolean): void {
    this.#held += isHeld ? 1 : -1
  }

  /**
   * Whether too many have come.
   *
   * @param now milliseconds of the same clock
   * @param read bytes that came on this connection
   * @param written bytes that we have sent
   */
  areTooMany(now: number, read: number, written: number): boolean {
    if (this.#held > 0) return false
    const allowed = USELESS_BURST + (USELESS_RATE * (now - this.#begunAt)) / 1_000 + CREDIT_PER_BYTE * written
    return read - this.#useful > allowed
  }
}
