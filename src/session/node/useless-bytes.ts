/**
 * Counts the peer's bytes that bring nothing: node:http2 emits no event for them.
 *
 * @module
 */

import type { Socket } from 'node:net'

/** How many a connection may have had, with {@link USELESS_RATE} of them more for each second. Bytes. */
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
  /** When the connection began. Milliseconds. */
  readonly #begunAt: number
  /** What the socket had read and written before that: a caller's connect function may have used it. Bytes. */
  readonly #readBefore: number
  readonly #writtenBefore: number
  /** The most that a header section takes. Bytes. */
  readonly #sectionSize: number
  /** Bytes that brought something, or may have. */
  #useful = 0

  /** @param now milliseconds of any clock @param maxFrameSize of what the peer may send, in bytes */
  constructor(socket: CountedSocket, now: () => number, maxFrameSize: number) {
    this.#socket = socket
    this.#now = now
    this.#begunAt = now()
    this.#readBefore = socket.bytesRead
    this.#writtenBefore = socket.bytesWritten
    this.#sectionSize = SECTION_FRAMES * maxFrameSize
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
  onCutOff(window: number): void {
    this.#useful += window + this.#sectionSize
  }

  /** Whether too many have come by now. */
  areTooMany(): boolean {
    const read = this.#socket.bytesRead - this.#readBefore
    const written = this.#socket.bytesWritten - this.#writtenBefore
    const seconds = (this.#now() - this.#begunAt) / 1_000
    return read - this.#useful > USELESS_BURST + USELESS_RATE * seconds + CREDIT_PER_BYTE * written
  }
}
