/**
 * The bytes in one direction, in chunks cut anywhere → the frames in them, valid or not.
 *
 * `protocol/` ends a connection at the first malformed frame. A scanner continues: it shows what arrived.
 *
 * @module
 */

import { checkFrame } from '../frame-rules.ts'
import { DEFAULT_FRAME_SIZE, Flag, FRAME_HEADER_SIZE, FrameType, PRIORITY_SIZE } from '../frames.ts'

/** A frame as it was on the wire. */
export interface Frame {
  readonly type: number
  readonly flags: number
  readonly streamId: number
  /** The payload's size in bytes. */
  readonly length: number
  /** The payload, or its beginning: one byte for DATA, nothing for unknown types. */
  readonly payload: Buffer
  /** The rule in RFC 9113 that it violates; null if none of the checked ones. */
  readonly fault: string | null
}

/** The most bytes of a payload that are kept. */
const MAX_KEPT = 65_536

const NOTHING = Buffer.alloc(0)

/** Finds frames. It never throws. */
export class FrameScanner {
  readonly #onFrame: (frame: Frame) => void
  readonly #isServer: boolean
  readonly #header = Buffer.alloc(FRAME_HEADER_SIZE)
  /** How many octets of the header have arrived so far. */
  #filled = 0
  #length = 0
  /** How many octets of the payload are missing. */
  #left = 0
  #kept: Buffer[] = []
  /** How many more octets `#kept` takes. */
  #room = 0
  #isFirst = true

  /** @param isServer whether the bytes are a server's, whose frame headers are checked */
  constructor(isServer: boolean, onFrame: (frame: Frame) => void) {
    this.#isServer = isServer
    this.#onFrame = onFrame
  }

  scan(chunk: Buffer): void {
    let at = 0
    while (at < chunk.length) {
      if (this.#filled < FRAME_HEADER_SIZE) at = this.#readHeader(chunk, at)
      else at = this.#readPayload(chunk, at)
      if (this.#filled === FRAME_HEADER_SIZE && this.#left === 0) this.#tell()
    }
  }

  #readHeader(chunk: Buffer, at: number): number {
    const end = Math.min(chunk.length, at + FRAME_HEADER_SIZE - this.#filled)
    this.#filled += chunk.copy(this.#header, this.#filled, at, end)
    if (this.#filled === FRAME_HEADER_SIZE) {
      this.#length = this.#header.readUIntBE(0, 3)
      this.#left = this.#length
      const type = this.#header.readUInt8(3)
      this.#room = type === FrameType.DATA ? 1 : toFrameName(type) === null ? 0 : MAX_KEPT
    }
    return end
  }

  #readPayload(chunk: Buffer, at: number): number {
    const end = Math.min(chunk.length, at + this.#left)
    this.#left -= end - at
    const kept = Math.min(end - at, this.#room)
    this.#room -= kept
    // A copy, because the chunk belongs to the engine.
    if (kept > 0) this.#kept.push(Buffer.from(chunk.subarray(at, at + kept)))
    return end
  }

  #tell(): void {
    const type = this.#header.readUInt8(3)
    const flags = this.#header.readUInt8(4)
    const streamId = this.#header.readUInt32BE(5) & 0x7fff_ffff
    const length = this.#length
    const payload = this.#kept.length === 0 ? NOTHING : Buffer.concat(this.#kept)
    const fault = this.#isServer ? this.#toFault(type, flags, streamId, payload) : null
    this.#filled = 0
    this.#kept = []
    this.#isFirst = false
    this.#onFrame({ type, flags, streamId, length, payload, fault })
  }

  #toFault(type: number, flags: number, streamId: number, payload: Buffer): string | null {
    const length = this.#length
    if (this.#isFirst && type !== FrameType.SETTINGS) return 'The peer began without SETTINGS (RFC 9113 §3.4)'
    // A client that is observed like this announces no larger size.
    if (length > DEFAULT_FRAME_SIZE) {
      return `A frame has ${length} bytes, more than the limit of ${DEFAULT_FRAME_SIZE} (RFC 9113 §4.2)`
    }
    const isPadded = (type === FrameType.DATA || type === FrameType.HEADERS) && (flags & Flag.PADDED) !== 0
    if (isPadded && (payload[0] ?? 0) >= length && length > 0) {
      return `${toFrameName(type)} has more padding than payload (RFC 9113 §6.1, §6.2)`
    }
    if (type === FrameType.PRIORITY && length !== PRIORITY_SIZE) {
      return `PRIORITY has ${length} bytes instead of ${PRIORITY_SIZE} (RFC 9113 §6.3)`
    }
    try {
      checkFrame(type, flags, streamId, length)
      return null
    } catch (error) {
      return error instanceof Error ? error.message : String(error)
    }
  }
}

const NAMES: ReadonlyMap<number, string> = new Map(
  Object.entries(FrameType).map(([name, type]) => [type, name]),
)

/** The name of a frame type, such as `HEADERS`; null for an unknown one. */
export function toFrameName(type: number): string | null {
  return NAMES.get(type) ?? null
}
