/**
 * Counts the peer's useless bytes, for which node:http2 emits no event.
 *
 * @module
 */

import type { Socket } from 'node:net'

/** How many useless bytes a connection may have at once, and how many of them are forgotten per second. */
const USELESS_BURST = 1_048_576
const USELESS_RATE = 65_536

/** The most bytes that a frame with data has in addition: its header, and padding (RFC 9113 §6.1). */
const FRAME_OVERHEAD = 9 + 256
/** How many frames a header section may take: nghttp2 accepts no more. */
const SECTION_FRAMES = 9
/** How many bytes one of ours may cause: two WINDOW_UPDATE frames, from a server that reads uploads byte by byte. */
const CREDIT_PER_BYTE = 2 * 13
/** The most bytes that are expected from the peer at a time, and for how many milliseconds after the last reason. */
const MAX_EXPECTED = 67_108_864
const EXPECTED_FOR = 60_000

/** A socket that counts its bytes. */
type CountedSocket = Pick<Socket, 'bytesRead' | 'bytesWritten'>

/**
 * The bytes that arrived, except those that are known to be useful. The rest are frames of unknown types,
 * WINDOW_UPDATEs for which nothing was sent, and so on: each of them is legal, and a peer that sends nothing else only
 * costs time (RFC 9113 §10.5).
 *
 * When in doubt, it decides for the peer: a false alarm would end a good connection.
 */
export class UselessBytes {
  readonly #now: () => number
  readonly #socket: CountedSocket
  /** The most bytes that a header section takes. */
  readonly #sectionSize: number
  /** How many bytes the socket had read and written at the last look. */
  #read: number
  #written: number
  /** When that was, in milliseconds. */
  #lookedAt: number
  /** How many bytes since then were useful, or may have been. */
  #useful = 0
  /** How many useless bytes aren't forgotten yet. */
  #level = 0
  /** How many useless bytes are expected, because we have given the peer a reason for them. */
  #expected = 0
  #expectedUntil = 0

  /**
   * @param now milliseconds of any clock
   * @param maxFrameSize the largest frame that the peer may send, in bytes
   */
  constructor(socket: CountedSocket, now: () => number, maxFrameSize: number) {
    this.#now = now
    this.#socket = socket
    this.#sectionSize = SECTION_FRAMES * maxFrameSize
    // A caller's connect function may have used the socket before.
    this.#read = socket.bytesRead
    this.#written = socket.bytesWritten
    this.#lookedAt = now()
  }

  /**
   * A piece of a stream's data has arrived.
   *
   * @param length in bytes
   */
  onData(length: number): void {
    this.#useful += length + FRAME_OVERHEAD
  }

  onHeaderSection(): void {
    this.#useful += this.#sectionSize
  }

  /**
   * A stream has closed before the peer's END_STREAM, because either side reset it: data for it may be on its way, and
   * node drops that.
   *
   * @param window the largest that it may have had, in bytes
   */
  onMissingEnd(window: number): void {
    this.#expect(window + this.#sectionSize, this.#now())
  }

  /**
   * Takes a look.
   *
   * @returns whether too many have arrived by now
   */
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

  /** @param size in bytes */
  #expect(size: number, now: number): void {
    // A window above the limit is expected completely.
    this.#expected = Math.max(size, Math.min(MAX_EXPECTED, this.#expected + size))
    this.#expectedUntil = now + EXPECTED_FOR
  }
}
