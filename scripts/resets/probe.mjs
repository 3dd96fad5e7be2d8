/** Resets streams of one connection until the server ends it: a client without any budget. */
import { connect } from 'node:net'
import { setTimeout as wait } from 'node:timers/promises'

const Type = { HEADERS: 1, RST_STREAM: 3, SETTINGS: 4, PING: 6, GOAWAY: 7, WINDOW_UPDATE: 8 }
const END_STREAM = 0x1
const END_HEADERS = 0x4
const ACK = 0x1
const CANCEL = 8
const MAX_CONCURRENT_STREAMS = 3
const PREFACE = 'PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n'
/** How long an ACK may take. Milliseconds. */
const PATIENCE = 10_000

/** @param {number} type @param {number} flags @param {number} id @param {Buffer} [payload] */
function toFrame(type, flags, id, payload = Buffer.alloc(0)) {
  const head = Buffer.alloc(9)
  head.writeUIntBE(payload.length, 0, 3)
  head[3] = type
  head[4] = flags
  head.writeUInt32BE(id, 5)
  return Buffer.concat([head, payload])
}

/** @param {number} value */
function toUint32(value) {
  const bytes = Buffer.alloc(4)
  bytes.writeUInt32BE(value)
  return bytes
}

/** A GET, or a POST for an upload, by the static table's names and without Huffman's code. @param {string} path @param {boolean} isUpload */
function toBlock(path, isUpload) {
  const text = (/** @type {string} */ value) =>
    Buffer.concat([Buffer.from([value.length]), Buffer.from(value)])
  return Buffer.concat([
    Buffer.from([isUpload ? 0x83 : 0x82, 0x86, 0x04]),
    text(path),
    Buffer.from([0x01]),
    text('localhost'),
  ])
}

/**
 * @typedef {object} Verdict
 * @property {number} resets that were sent before the end, as far as they were acknowledged
 * @property {string | null} end what the server said at its end; null: it didn't end the connection
 * @property {number | null} limit its SETTINGS_MAX_CONCURRENT_STREAMS; null for none
 */

/**
 * @param {number} port @param {string} path @param {object} plan @param {number} plan.total resets
 * @param {number} plan.batch streams that are open at once, at most
 * @param {number} plan.age of each stream when it is reset, in milliseconds
 * @param {boolean} plan.isUpload whether the requests have a body that doesn't end
 * @returns {Promise<Verdict>}
 */
export async function probe(port, path, { total, batch, age, isUpload }) {
  const socket = connect(port, '127.0.0.1').setNoDelay(true)
  /** @type {string | null} */
  let end = null
  /** @type {number | null} */
  let limit = null
  let buffered = Buffer.alloc(0)
  /** @type {((isAlive: boolean) => void) | null} */
  let onAck = null
  const over = (/** @type {string} */ reason) => {
    end ??= reason
    onAck?.(false)
  }
  socket.on('error', (error) => over(error.message))
  socket.on('close', () => over('closed'))
  socket.on('data', (/** @type {Buffer} */ chunk) => {
    buffered = Buffer.concat([buffered, chunk])
    while (buffered.length >= 9) {
      const length = buffered.readUIntBE(0, 3)
      if (buffered.length < 9 + length) break
      const [type, flags] = [buffered[3], buffered[4]]
      const payload = buffered.subarray(9, 9 + length)
      buffered = buffered.subarray(9 + length)
      if (type === Type.SETTINGS && flags === 0) {
        for (let at = 0; at < length; at += 6)
          if (payload.readUInt16BE(at) === MAX_CONCURRENT_STREAMS) limit = payload.readUInt32BE(at + 2)
        socket.write(toFrame(Type.SETTINGS, ACK, 0))
      } else if (type === Type.PING && flags === ACK) onAck?.(true)
      else if (type === Type.GOAWAY)
        over(`GOAWAY ${payload.readUInt32BE(4)}${length > 8 ? ` ${payload.toString('latin1', 8)}` : ''}`)
    }
  })
  const acknowledged = async (/** @type {Buffer[]} */ frames) => {
    if (end !== null) return false
    socket.write(Buffer.concat([...frames, toFrame(Type.PING, 0, 0, Buffer.alloc(8))]))
    const timer = setTimeout(() => over('silence'), PATIENCE)
    const isAlive = await new Promise((resolve) => (onAck = resolve))
    onAck = null
    clearTimeout(timer)
    return isAlive
  }
  const start = [Buffer.from(PREFACE), toFrame(Type.SETTINGS, 0, 0)]
  start.push(toFrame(Type.WINDOW_UPDATE, 0, 0, toUint32(2 ** 30)))
  await acknowledged(start)
  const block = toBlock(path, isUpload)
  const flags = isUpload ? END_HEADERS : END_HEADERS | END_STREAM
  let resets = 0
  for (let id = 1; resets < total && end === null; ) {
    const size = Math.min(batch, limit ?? batch, total - resets)
    const ids = Array.from({ length: size }, (_, i) => id + 2 * i)
    id += 2 * size
    if (!(await acknowledged(ids.map((each) => toFrame(Type.HEADERS, flags, each, block))))) break
    if (age > 0) await wait(age)
    // One by one, so that the verdict says how many.
    for (const each of ids) {
      if (!(await acknowledged([toFrame(Type.RST_STREAM, 0, each, toUint32(CANCEL))]))) break
      resets++
    }
  }
  socket.destroy()
  return { resets, end, limit }
}
