/**
 * Finds gRPC messages in a body's pieces: a flag, four bytes of length, and the message.
 *
 * @module
 */

/** Accepts the messages. */
export interface MessageSink {
  onMessage(message: Buffer, isCompressed: boolean): void
}

const PREFIX = 5
/** The most memory, in bytes, that a message gets before its bytes have arrived: a length is only a promise. */
const FIRST_CAPACITY = 65_536
/** A message that is this many times smaller than the memory below it is copied. */
const MAX_PINNED = 4

/**
 * Delivers each message as soon as its last byte has arrived. The cost is linear in what arrives, wherever it was
 * split.
 */
export class MessageDecoder {
  readonly #sink: MessageSink
  readonly #maxSize: number
  /** The prefix of a message that hasn't arrived completely; null until the first one is split. */
  #prefix: Buffer | null = null
  #prefixSize = 0
  /** The part of the message that has arrived; null without one. */
  #partial: Buffer | null = null
  #partialSize = 0
  #length = 0

  /** @param maxSize in bytes; -1: any */
  constructor(sink: MessageSink, maxSize: number) {
    this.#sink = sink
    this.#maxSize = maxSize
  }

  /** Whether a message has begun, and hasn't arrived completely. */
  get isWithinMessage(): boolean {
    return this.#prefixSize > 0
  }

  /** @returns the length of a message that is too long; -1 for none */
  write(chunk: Buffer): number {
    let at = this.#prefixSize === 0 ? 0 : this.#continue(chunk, 0)
    if (at < 0) return this.#length
    while (chunk.length - at >= PREFIX) {
      const length = chunk.readUInt32BE(at + 1)
      if (this.#isTooLong(length)) return length
      const end = at + PREFIX + length
      if (end > chunk.length) break
      this.#sink.onMessage(toOwn(chunk, at + PREFIX, end), chunk[at] === 1)
      at = end
    }
    if (at < chunk.length) at = this.#continue(chunk, at)
    return at < 0 ? this.#length : -1
  }

  #isTooLong(length: number): boolean {
    return this.#maxSize !== -1 && length > this.#maxSize
  }

  /**
   * Continues to read a message that is split.
   *
   * @returns where it ends in the chunk; -1 if it is too long
   */
  #continue(chunk: Buffer, start: number): number {
    let at = start
    this.#prefix ??= Buffer.allocUnsafe(PREFIX)
    if (this.#prefixSize < PREFIX) {
      const taken = chunk.copy(this.#prefix, this.#prefixSize, at, at + PREFIX - this.#prefixSize)
      this.#prefixSize += taken
      at += taken
      if (this.#prefixSize < PREFIX) return at
      this.#length = this.#prefix.readUInt32BE(1)
      if (this.#isTooLong(this.#length)) return -1
      this.#partial = Buffer.allocUnsafe(Math.min(this.#length, FIRST_CAPACITY))
      this.#partialSize = 0
    }
    const taken = Math.min(chunk.length - at, this.#length - this.#partialSize)
    const partial = this.#grow(this.#partialSize + taken)
    chunk.copy(partial, this.#partialSize, at, at + taken)
    this.#partialSize += taken
    if (this.#partialSize < this.#length) return at + taken
    this.#partial = null
    this.#prefixSize = 0
    this.#sink.onMessage(partial.subarray(0, this.#length), this.#prefix[0] === 1)
    return at + taken
  }

  #grow(size: number): Buffer {
    const partial = this.#partial ?? Buffer.alloc(0)
    if (partial.length >= size) return partial
    const larger = Buffer.allocUnsafe(Math.min(this.#length, Math.max(size, partial.length * 2)))
    partial.copy(larger, 0, 0, this.#partialSize)
    this.#partial = larger
    return larger
  }
}

/** The caller may keep a part of a message, which must not keep whatever else was read with it. */
function toOwn(chunk: Buffer, start: number, end: number): Buffer {
  const message = chunk.subarray(start, end)
  return message.length * MAX_PINNED < chunk.buffer.byteLength ? Buffer.from(message) : message
}

/** A message with its prefix. */
export function toFrame(message: Uint8Array, isCompressed: boolean): Buffer {
  const frame = Buffer.allocUnsafe(PREFIX + message.length)
  frame[0] = isCompressed ? 1 : 0
  frame.writeUInt32BE(message.length, 1)
  frame.set(message, PREFIX)
  return frame
}
