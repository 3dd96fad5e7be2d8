/**
 * gRPC's messages in the pieces of a body: a flag, four bytes of length, and the message.
 *
 * @module
 */

/** What takes the messages. */
export interface MessageSink {
  onMessage(message: Buffer, isCompressed: boolean): void
}

const PREFIX = 5
/** What a message gets before its bytes have come, at most: a length is only a promise. Bytes. */
const FIRST_CAPACITY = 65_536
/** A message that is so much smaller than the memory below it is copied out of it. */
const MAX_PINNED = 4

/**
 * Each message is told as soon as its last byte has come. What it costs is linear in what comes, wherever it was cut.
 */
export class MessageDecoder {
  readonly #sink: MessageSink
  readonly #maxSize: number
  /** The prefix of a message that hasn't wholly come; null before the first that was cut. */
  #prefix: Buffer | null = null
  #prefixSize = 0
  /** The message itself, as far as it has come; null without one. */
  #partial: Buffer | null = null
  #partialSize = 0
  #length = 0

  /** @param maxSize bytes; -1: any */
  constructor(sink: MessageSink, maxSize: number) {
    this.#sink = sink
    this.#maxSize = maxSize
  }

  /** Whether a message has begun, and hasn't wholly come. */
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

  /** Reads on in the message that was cut, or is. @returns where it ends in the chunk; -1 when it is too long */
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

/** The caller may keep a part of a message: it must not keep what else was read with it. */
function toOwn(chunk: Buffer, start: number, end: number): Buffer {
  const message = chunk.subarray(start, end)
  return message.length * MAX_PINNED < chunk.buffer.byteLength ? Buffer.from(message) : message
}

/** A message behind its prefix. */
export function toFrame(message: Uint8Array, isCompressed: boolean): Buffer {
  const frame = Buffer.allocUnsafe(PREFIX + message.length)
  frame[0] = isCompressed ? 1 : 0
  frame.writeUInt32BE(message.length, 1)
  frame.set(message, PREFIX)
  return frame
}
