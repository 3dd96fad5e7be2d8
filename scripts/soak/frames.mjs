/**
 * HTTP/2 frames (RFC 9113 §4, §6), as far as a peer needs them that looks at no header.
 */

export const DATA = 0
export const HEADERS = 1
export const RST_STREAM = 3
export const SETTINGS = 4
export const PING = 6
export const GOAWAY = 7
export const WINDOW_UPDATE = 8

/** END_STREAM of a DATA or HEADERS frame is the ACK of the others. */
export const END_STREAM = 1
export const ACK = 1
const END_HEADERS = 4

export const PREFACE_LENGTH = 24
export const HEAD_LENGTH = 9

export const MAX_CONCURRENT_STREAMS = 3
export const INITIAL_WINDOW_SIZE = 4
export const MAX_FRAME_SIZE = 5

const EMPTY = Buffer.alloc(0)

/** @param {number} value */
function toUint32(value) {
  const bytes = Buffer.alloc(4)
  bytes.writeUInt32BE(value)
  return bytes
}

/**
 * @param {number} type
 * @param {number} flags
 * @param {number} streamId
 * @param {Buffer} payload
 */
export function toFrame(type, flags, streamId, payload = EMPTY) {
  const frame = Buffer.allocUnsafe(HEAD_LENGTH + payload.length)
  frame.writeUIntBE(payload.length, 0, 3)
  frame[3] = type
  frame[4] = flags
  frame.writeUInt32BE(streamId, 5)
  payload.copy(frame, HEAD_LENGTH)
  return frame
}

/** @param {(readonly [id: number, value: number])[]} entries */
export function toSettings(entries) {
  const payload = entries.map(([id, value]) => Buffer.concat([Buffer.from([0, id]), toUint32(value)]))
  return toFrame(SETTINGS, 0, 0, Buffer.concat(payload))
}

export const settingsAck = toFrame(SETTINGS, ACK, 0)

/** A field whose value isn't indexed, by the index of its name in HPACK's static table (RFC 7541 §6.2.2). */
function toField(/** @type {number} */ index, /** @type {string} */ value) {
  const head = index < 15 ? [index] : [0x0f, index - 15]
  return Buffer.concat([Buffer.from([...head, value.length]), Buffer.from(value)])
}

const STATUS = 8
const CONTENT_LENGTH = 28
/** `:status: 200`, as HPACK's static table has it. */
const STATUS_200 = Buffer.from([0x88])
const TRAILERS = Buffer.from([0, 4, ...Buffer.from('soak'), 3, ...Buffer.from('yes')])

/** @param {number} streamId @param {number | null} length what `content-length` says; null: there is none */
export function toAnswer(streamId, length, flags = 0) {
  const fields = length === null ? [STATUS_200] : [STATUS_200, toField(CONTENT_LENGTH, String(length))]
  return toFrame(HEADERS, END_HEADERS | flags, streamId, Buffer.concat(fields))
}

/** @param {number} streamId @param {number} status */
export function toInformation(streamId, status) {
  return toFrame(HEADERS, END_HEADERS, streamId, toField(STATUS, String(status)))
}

/** @param {number} streamId */
export function toTrailers(streamId) {
  return toFrame(HEADERS, END_HEADERS | END_STREAM, streamId, TRAILERS)
}

/** @param {number} streamId @param {number} code */
export function toReset(streamId, code) {
  return toFrame(RST_STREAM, 0, streamId, toUint32(code))
}

/** @param {number} lastStreamId @param {number} code */
export function toGoaway(lastStreamId, code, debugData = '') {
  const payload = [toUint32(lastStreamId), toUint32(code), Buffer.from(debugData)]
  return toFrame(GOAWAY, 0, 0, Buffer.concat(payload))
}

/** @param {number} streamId @param {number} increment */
export function toWindowUpdate(streamId, increment) {
  return toFrame(WINDOW_UPDATE, 0, streamId, toUint32(increment))
}
