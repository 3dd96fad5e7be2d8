/**
 * Counts the peer's bytes that bring nothing: node:http2 emits no event for them.
 *
 * @module
 */

import type { Socket } from 'node:net'

/** How many a connection may have at once, and how many of them are forgotten in each second. Bytes. */
const USELESS_BURST = 1_048_576
const USELESS_RATE = 65_536

/** The most that a frame with data has beside it: its header, and padding (RFC 9113 §6.1). Bytes. */
const FRAME_OVERHEAD = 9 + 256
/** The frames that a header section may take: nghttp2 accepts no more. */
const SECTION_FRAMES = 9
/**
 * What a byte of ours may bring back: two WINDOW_UPDATE frames, from a server that reads uploads byte by byte. Bytes.
 */
const CREDIT_PER_BYTE = 2 * 13
/** The most that is expected of the peer at a time, and for how long after the last reason. Bytes, milliseconds. */
const MAX_EXPECTED = 67_108_864
const EXPECTED_FOR = 60_000

/** A socket that counts. */
type CountedSocket = Pick<Socket, 'bytesRead' | 'bytesWritten'>

/**
 * The bytes that came, less those that are known to have brought something. What is left is frames of unknown types,
 * WINDOW_UPDATEs that nothing was sent for, and the like: each is legal, and a peer that sends nothing else only costs
 * time (RFC 9113 §10.5).
 *
 * Where the two can't be told apart, it counts for the peer: a false alarm would end a good connection.
 */
export class UselessBytes {
  readonly #now: () => number
  readonly #socket: CountedSocket
  /** The most that a header section takes. Bytes. */
  readonly #sectionSize: number
  /** What the socket had read and written at the last look. Bytes. */
  #read: number
  #written: number
  /** When that was. Milliseconds. */
  #lookedAt: number
  /** Bytes since then that brought something, or may have. */
  #useful = 0
  /** The useless ones that aren't forgotten yet. */
  #level = 0
  /** Bytes that we have given a reason for, and that bring nothing. */
  #expected = 0
  #expectedUntil = 0

  /** @param now milliseconds of any clock @param maxFrameSize of what the peer may send, in bytes */
  constructor(socket: CountedSocket, now: () => number, maxFrameSize: number) {
    this.#now = now
    this.#socket = socket
    this.#sectionSize = SECTION_FRAMES * maxFrameSize
    // A caller's connect function may have used the socket before.
    this.#read = socket.bytesRead
    this.#written = socket.bytesWritten
    this.#lookedAt = now()
  }

  /** A piece of a stream's data has come. @param length bytes */
  onData(length: number): void {
    this.#useful += length + FRAME_OVERHEAD
  }

  onHeaderSection(): void {
    this.#useful += this.#sectionSize
  }

  /**
   * A stream has closed before the peer's END_STREAM, reset by either side: data for it may be under way, and node
   * drops that. @param window the largest that it may have had, in bytes
   */
  onMissingEnd(window: number): void {
    this.#expect(window + this.#sectionSize, this.#now())
  }

  /** Takes a look: whether too many have come by now. */
  lookForTooMany(): boolean {
    const now = this.#now()
    const { bytesRead, bytesWritten } = this.#socket
    if (now > this.#expectedUntil) this.#expected = 0
    if (bytesWritten > this.#written)
      this.#expect(Math.min(MAX_EXPECTED, CREDIT_PER_BYTE * (bytesWritten - this.#written)), now)
    const forgotten = (USELESS_RATE * (now - this.#lookedAt)) / 1_000
    const level = Math.max(0, this.#level + bytesRead - this.#read - this.#useful - forgotten)
    const taken = Math.min(level, this.#expected)
    this.#expected -= taken
    this.#level = level - taken
    this.#read = bytesRead
    this.#written = bytesWritten
    this.#lookedAt = now
    this.#useful = 0
    return this.#level > USELESS_BURST
  }

  /** @param size bytes */
  #expect(size: number, now: number): void {
    // A window that is larger than the limit is expected whole.
    this.#expected = Math.max(size, Math.min(MAX_EXPECTED, this.#expected + size))
    this.#expectedUntil = now + EXPECTED_FOR
  }
}
