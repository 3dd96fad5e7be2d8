/**
 * Speaks just enough HTTP/2 to respond to each request with a header section of many fields, all but the first time as
 * references to the dynamic table (RFC 7541 §6.1): one octet each, which costs the server nothing to send, and the client its
 * time to decode. It writes its port, and ends with its input.
 */
import { createServer } from 'node:net'
import { portOf } from '../../scripts/processes.mjs'
import { loadModules } from '../../scripts/support.mjs'

/** @type {typeof import('../../src/testing/frames.ts')} */
const { Flag, FrameParser, frames, Type } = await loadModules(`export * from '../src/testing/frames.ts'`)
const FIELDS = 60

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
  let isFirst = true
  /** What one read brings is answered by one write. @type {Buffer[]} */
  let responses = []
  const parser = new FrameParser(({ type, flags, streamId, payload }) => {
    if (type === Type.HEADERS) {
      const section = isFirst ? FIRST : NEXT
      responses.push(frames.frame(type, Flag.END_STREAM | Flag.END_HEADERS, streamId, section))
      isFirst = false
    } else if ((flags & Flag.ACK) === 0) {
      if (type === Type.SETTINGS) responses.push(frames.settingsAck())
      if (type === Type.PING) responses.push(frames.ping(payload, Flag.ACK))
    }
  })
  socket.on('error', () => {})
  socket.write(frames.settings())
  socket.on('data', (/** @type {Buffer} */ chunk) => {
    parser.push(chunk)
    if (responses.length > 0) socket.write(Buffer.concat(responses))
    responses = []
  })
})
server.listen(0, '127.0.0.1', () => {
  process.stdout.write(`listening ${portOf(server)}\n`)
})
process.stdin.resume()
process.stdin.on('end', () => process.exit())
