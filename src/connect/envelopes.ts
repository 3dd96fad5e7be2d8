/**
 * Messages with their prefix of five octets: flags, and the length. All three protocols use the same prefix.
 *
 * @see https://connectrpc.com/docs/protocol#streaming-rpcs
 * @module
 */

import { Code, ConnectError } from '@connectrpc/connect'
import type { Compression } from '@connectrpc/connect/protocol'

/** A prefix's size, in octets. */
const PREFIX = 5

/**
 * A prefix may announce 4 GiB that never arrive, so memory is allocated as the bytes arrive, starting with this much.
 */
const FIRST_SIZE = 65_536

/** The flag of a compressed message. */
const COMPRESSED = 1

/** A message as it arrived. */
export interface Envelope {
  readonly flags: number
  /** Only its bytes: they don't keep a much larger chunk from the connection alive. */
  readonly data: Uint8Array<ArrayBuffer>
}

/** A message with its prefix. */
export function toFrame(flags: number, data: Uint8Array): Uint8Array<ArrayBuffer> {
  const { length } = data
  const frame = new Uint8Array(PREFIX + length)
  frame[0] = flags
  frame[1] = length >>> 24
  frame[2] = length >>> 16
  frame[3] = length >>> 8
  frame[4] = length
  frame.set(data, PREFIX)
  return frame
}

/** The same, compressed if it is large enough. */
export async function toCompressedFrame(
  data: Uint8Array<ArrayBuffer>,
  compression: Compression,
  compressMinBytes: number,
): Promise<Uint8Array<ArrayBuffer>> {
  return data.length < compressMinBytes
    ? toFrame(0, data)
    : toFrame(COMPRESSED, await compression.compress(data))
}

/** Whether {@link decompress} has anything to do. */
export function isCompressed({ flags }: Envelope): boolean {
  return (flags & COMPRESSED) === COMPRESSED
}

/** @param compression - what the response's header section named; null: nothing */
export async function decompress(
  { data }: Envelope,
  compression: Compression | null,
  readMaxBytes: number,
): Promise<Uint8Array> {
  if (compression !== null) return await compression.decompress(data, readMaxBytes)
  throw new ConnectError('received compressed envelope, but do not know how to decompress', Code.Internal)
}

/** A message is larger than `readMaxBytes`. */
export function toOversized(length: number, readMaxBytes: number): ConnectError {
  const text = `message size ${length} is larger than configured readMaxBytes ${readMaxBytes}`
  return new ConnectError(text, Code.ResourceExhausted)
}

/** Finds the messages in a body's pieces. */
export class EnvelopeReader {
  readonly #readMaxBytes: number
  /** Collects a prefix that is split across pieces of the body. */
  readonly #prefix = new Uint8Array(PREFIX)
  #prefixLength = 0
  #flags = 0
  /**
   * What has arrived of a message that is split across pieces of the body; null between messages. It grows up to
   * `#length`.
   */
  #data: Uint8Array<ArrayBuffer> | null = null
  #dataLength = 0
  #length = 0

  constructor(readMaxBytes: number) {
    this.#readMaxBytes = readMaxBytes
  }

  /**
   * The body has ended.
   *
   * @throws ConnectError if that was within a message, or within its prefix
   */
  end(): void {
    if (this.#data === null && this.#prefixLength === 0) return
    // The caller has done nothing wrong: connect-node uses INVALID_ARGUMENT, Connect's own conformance suite INTERNAL.
    throw new ConnectError('protocol error: incomplete envelope', Code.Internal)
  }

  /**
   * Appends the messages that a piece completes.
   *
   * @throws ConnectError as soon as a prefix announces a message that is too large
   */
  read(piece: Uint8Array, messages: Envelope[]): void {
    let offset = 0
    while (offset < piece.length) {
      if (this.#data !== null) {
        offset = this.#fill(this.#data, piece, offset, messages)
        continue
      }
      let prefix = piece
      let at = offset
      if (this.#prefixLength > 0 || piece.length - offset < PREFIX) {
        offset = this.#fillPrefix(piece, offset)
        if (this.#prefixLength < PREFIX) return
        this.#prefixLength = 0
        prefix = this.#prefix
        at = 0
      } else {
        offset += PREFIX
      }
      const length = toLength(prefix, at + 1)
      if (length > this.#readMaxBytes) throw toOversized(length, this.#readMaxBytes)
      const flags = prefix[at] ?? 0
      if (piece.length - offset >= length) {
        messages.push({ flags, data: toOwn(piece, offset, length) })
        offset += length
      } else {
        this.#flags = flags
        this.#length = length
        this.#data = new Uint8Array(Math.min(length, FIRST_SIZE))
        this.#dataLength = 0
      }
    }
  }

  /** @returns the offset after what was taken */
  #fillPrefix(piece: Uint8Array, offset: number): number {
    const end = Math.min(piece.length, offset + PREFIX - this.#prefixLength)
    this.#prefix.set(piece.subarray(offset, end), this.#prefixLength)
    this.#prefixLength += end - offset
    return end
  }

  #fill(data: Uint8Array<ArrayBuffer>, piece: Uint8Array, offset: number, messages: Envelope[]): number {
    const end = Math.min(piece.length, offset + this.#length - this.#dataLength)
    const before = this.#dataLength
    this.#dataLength += end - offset
    const grown = data.length < this.#dataLength ? this.#grow(data) : data
    grown.set(piece.subarray(offset, end), before)
    const isWhole = this.#dataLength === this.#length
    if (isWhole) messages.push({ flags: this.#flags, data: grown })
    this.#data = isWhole ? null : grown
    return end
  }

  #grow(data: Uint8Array<ArrayBuffer>): Uint8Array<ArrayBuffer> {
    const grown = new Uint8Array(Math.min(this.#length, Math.max(data.length * 2, this.#dataLength)))
    grown.set(data)
    return grown
  }
}

function toLength(bytes: Uint8Array, at: number): number {
  return (
    (bytes[at] ?? 0) * 0x1000000 +
    (((bytes[at + 1] ?? 0) << 16) | ((bytes[at + 2] ?? 0) << 8) | (bytes[at + 3] ?? 0))
  )
}

/** A `bytes` field is a view of the message. If it is kept, it must not keep a chunk of twice its size. */
function toOwn(piece: Uint8Array, offset: number, length: number): Uint8Array<ArrayBuffer> {
  const { buffer, byteOffset } = piece
  return length * 2 >= buffer.byteLength && buffer instanceof ArrayBuffer
    ? new Uint8Array(buffer, byteOffset + offset, length)
    : new Uint8Array(piece.subarray(offset, offset + length))
}
