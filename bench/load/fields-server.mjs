/**
 * Speaks just enough HTTP/2 to respond to each request with a header section of many fields, all but the first time as
 * references to the dynamic table (RFC 7541 §6.1): one octet each, which costs the server nothing to send, and the client its
 * time to decode. It writes its port, and ends with its input.
 */
import { createServer } from 'node:net'
import { portOf } from '../../scripts/processes.mjs'

const FIELDS = 60
const HEADERS = 1
const SETTINGS = 4
const PING = 6
const ACK = 1
const END_STREAM_AND_HEADERS = 0x05
const FRAME_HEADER = 9
const PREFACE = 24

/** @param {number} type @param {number} flags @param {number} streamId @param {Uint8Array} payload */
function toFrame(type, flags, streamId, payload) {
  const frame = Buffer.alloc(FRAME_HEADER + payload.length)
  frame.writeUIntBE(payload.length, 0, 3)
  frame[3] = type
  frame[4] = flags
  frame.writeUInt32BE(streamId, 5)
  frame.set(payload, FRAME_HEADER)
  return frame
}

/** `:status: 200`, of the static table. */
const STATUS = 0x88
/** Literals that go to the dynamic table (RFC 7541 §6.2.1). */
const FIRST = Buffer.concat([
  Buffer.from([STATUS]),
  ...Array.from({ length: FIELDS }, (_, index) => {
    const name = `x-field-${index}`
    const value = `value ${index}`
    return Buffer.from([0x40, name.length, ...Buffer.from(name), value.length, ...Buffer.from(value)])
  }),
])
/** The newest of the dynamic table is 62; an index from 127 on would need a second octet. */
const NEXT = Buffer.from([
  STATUS,
  ...Array.from({ length: FIELDS }, (_, index) => 0x80 | (61 + FIELDS - index)),
])

const server = createServer({ noDelay: true }, (socket) => {
  /** @type {Buffer} */
  let rest = Buffer.alloc(0)
  let skip = PREFACE
  let isFirst = true
  socket.on('error', () => {})
  socket.write(toFrame(SETTINGS, 0, 0, Buffer.alloc(0)))
  socket.on('data', (/** @type {Buffer} */ chunk) => {
    rest = rest.length === 0 ? chunk : Buffer.concat([rest, chunk])
    /** @type {Buffer[]} */
    const responses = []
    let at = skip
    while (at + FRAME_HEADER <= rest.length) {
      const end = at + FRAME_HEADER + rest.readUIntBE(at, 3)
      if (end > rest.length) break
      const [type, flags] = [rest[at + 3], rest[at + 4] ?? 0]
      if (type === HEADERS) {
        responses.push(
          toFrame(HEADERS, END_STREAM_AND_HEADERS, rest.readUInt32BE(at + 5), isFirst ? FIRST : NEXT),
        )
        isFirst = false
      } else if ((type === SETTINGS || type === PING) && (flags & ACK) === 0) {
        const payload = type === PING ? rest.subarray(at + FRAME_HEADER, end) : Buffer.alloc(0)
        responses.push(toFrame(type, ACK, 0, payload))
      }
      at = end
    }
    skip = Math.max(0, at - rest.length)
    rest = rest.subarray(Math.min(at, rest.length))
    if (responses.length > 0) socket.write(Buffer.concat(responses))
  })
})
server.listen(0, '127.0.0.1', () => {
  process.stdout.write(`listening ${portOf(server)}\n`)
})
process.stdin.resume()
process.stdin.on('end', () => process.exit())
