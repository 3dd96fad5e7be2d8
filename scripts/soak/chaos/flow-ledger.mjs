/**
 * Whether a server keeps to the windows that its client has given it (RFC 9113 §6.9), as the relay sees the frames of both.
 *
 * A client may end the connection of a server that doesn't: nginx 1.22 does so where the client's SETTINGS frame comes in pieces. It
 * acknowledges such a frame, and goes on with the windows of before.
 */
import { Flag, Setting, Type } from '../../../src/testing/frames.ts'

/** Bytes: before any SETTINGS. */
const FIRST_WINDOW = 65_535
/** An entry of SETTINGS. */
const ENTRY = 6
const CONNECTION = 0

/** @typedef {{ type: number, flags: number, streamId: number, payload: Buffer }} Frame */

/** @param {Buffer} payload @returns {number | null} null: SETTINGS_INITIAL_WINDOW_SIZE isn't there */
function toInitialWindow(payload) {
  let size = null
  for (let at = 0; at + ENTRY <= payload.length; at += ENTRY) {
    if (payload.readUInt16BE(at) === Setting.INITIAL_WINDOW_SIZE) size = payload.readUInt32BE(at + 2)
  }
  return size
}

/** Of one connection. */
export class FlowLedger {
  /** The window of streams that the server has acknowledged. Bytes. */
  #acknowledged = FIRST_WINDOW
  /** Those of SETTINGS that it hasn't. @type {(number | null)[]} */
  #pending = []
  /** Bytes that came, less those that WINDOW_UPDATE gave, by stream. @type {Map<number, number>} */
  #used = new Map()
  /** The first stream, 0 being the connection, whose window the server has exceeded; null: none. @type {number | null} */
  overrun = null

  /** @param {Frame} frame */
  onClientFrame({ type, flags, streamId, payload }) {
    if (type === Type.SETTINGS && (flags & Flag.ACK) === 0) this.#pending.push(toInitialWindow(payload))
    else if (type === Type.WINDOW_UPDATE) this.#use(streamId, -(payload.readUInt32BE(0) & 0x7fffffff))
  }

  /** @param {Frame} frame */
  onServerFrame({ type, flags, streamId, payload }) {
    if (type === Type.SETTINGS && (flags & Flag.ACK) !== 0) {
      this.#acknowledged = this.#pending.shift() ?? this.#acknowledged
    } else if (type === Type.DATA) {
      const window = Math.max(this.#acknowledged, ...this.#pending.map((size) => size ?? 0))
      if (this.#use(streamId, payload.length) > window) this.overrun ??= streamId
      if (this.#use(CONNECTION, payload.length) > FIRST_WINDOW) this.overrun ??= CONNECTION
      if ((flags & Flag.END_STREAM) !== 0) this.#used.delete(streamId)
    }
  }

  /** @param {number} streamId @param {number} bytes */
  #use(streamId, bytes) {
    const used = (this.#used.get(streamId) ?? 0) + bytes
    this.#used.set(streamId, used)
    return used
  }
}
