/**
 * The floors: a bare socket that frames requests and finds the ends of the responses, keeps a state for each stream and calls back once. There
 * is no dispatcher, no check of options, no limit of time, and no recovery. The bare floor doesn't decode header fields either (of a
 * response, only its status is looked at); the floor with HPACK encodes those of each request and decodes those of each response, as a client
 * can't do without: see floor-fields.mjs. What a client costs above that is its own work.
 *
 * It obeys the peer's windows and its limit of streams (RFC 9113 §5.2, §5.1.2), so that uploads, and more requests than a connection may have,
 * compare with those of a client.
 */
import { connect } from 'node:net'
import { connect as connectTls } from 'node:tls'
import { fieldsOf } from './floor-fields.mjs'

/**
 * @typedef {import('./index.mjs').Target} Target
 * @typedef {import('./index.mjs').Done} Done
 *
 * @typedef {object} Stream
 * @property {number} id
 * @property {Done} done
 * @property {number | import('./floor-fields.mjs').ResponseFields} head what `FloorFields.read()` gave; 0: nothing yet
 * @property {number} received bytes of its response
 * @property {Buffer | null} body
 * @property {number} sent bytes of it
 * @property {number} window bytes that the peer still takes on this stream; may be negative
 */

const DATA = 0
const HEADERS = 1
const RST_STREAM = 3
const SETTINGS = 4
const PING = 6
const GOAWAY = 7
const WINDOW_UPDATE = 8

const END_STREAM = 0x1
const ACK = 0x1
const END_HEADERS = 0x4
const PADDED = 0x8
const PRIORITY = 0x20

const FRAME_HEADER = 9

/** Of a response no more than this comes on one stream, so no stream needs a WINDOW_UPDATE. */
const STREAM_WINDOW = 128 * 2 ** 20
const CONNECTION_WINDOW = 2 ** 30

/** Frames are gathered in blocks of this size, which are never used a second time. */
const BLOCK = 65_536

/** The header section of a request has room in so many bytes, its path apart. */
const MOST_FIELDS = 512

/** A piece of a body up to this size is copied beside its frame header: one write more would cost more. */
const COPIED = 4096

/** A power of two above all limits of streams of the servers here. */
const RING = 1024

const preface = Buffer.from('PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n')

/** @param {number} type @param {number} flags @param {number} stream @param {Buffer} payload */
function toFrame(type, flags, stream, payload) {
  const frame = Buffer.alloc(FRAME_HEADER + payload.length)
  writeFrameHeader(frame, 0, payload.length, type, flags, stream)
  payload.copy(frame, FRAME_HEADER)
  return frame
}

/**
 * @param {Buffer} buffer @param {number} at @param {number} length @param {number} type @param {number} flags
 * @param {number} stream
 */
function writeFrameHeader(buffer, at, length, type, flags, stream) {
  buffer[at] = length >>> 16
  buffer[at + 1] = length >>> 8
  buffer[at + 2] = length
  buffer[at + 3] = type
  buffer[at + 4] = flags
  buffer[at + 5] = stream >>> 24
  buffer[at + 6] = stream >>> 16
  buffer[at + 7] = stream >>> 8
  buffer[at + 8] = stream
}

/** @param {readonly (readonly [id: number, value: number])[]} pairs @returns {Buffer} */
function toSettings(pairs) {
  const payload = Buffer.alloc(6 * pairs.length)
  for (const [index, [id, value]] of pairs.entries()) {
    payload.writeUInt16BE(id, 6 * index)
    payload.writeUInt32BE(value, 6 * index + 2)
  }
  return toFrame(SETTINGS, 0, 0, payload)
}

/** @param {number} increment */
function toWindowUpdate(increment) {
  const payload = Buffer.alloc(4)
  payload.writeUInt32BE(increment)
  return toFrame(WINDOW_UPDATE, 0, 0, payload)
}

class Connection {
  /** @type {import('node:net').Socket} */
  #socket
  /** @type {import('./floor-fields.mjs').FloorFields} */
  #fields
  /** @type {(Stream | undefined)[]} by the id's half, modulo the ring's size */
  #streams = new Array(RING).fill(undefined)
  #active = 0
  #nextId = 1
  /** Requests above the peer's limit of streams. @type {{ target: Target, done: Done }[]} */
  #waiting = []
  /** How many of them have been opened since that list was empty. */
  #served = 0
  /** Those that have some of their body to send. @type {Stream[]} */
  #uploads = []

  // What the peer's SETTINGS say, or RFC 9113 §6.5.2 until then.
  #maxStreams = 100
  #initialWindow = 65_535
  #maxFrame = 16_384
  /** Bytes that the peer still takes on the connection. */
  #window = 65_535

  /** Bytes of responses that the peer has no credit for yet. */
  #consumed = 0
  /** The part of a frame that has come so far, unless it is DATA without padding. @type {Buffer | null} */
  #partial = null
  /** Of the DATA frame that is being read: how much of it is still to come, and what its header says. */
  #dataLeft = 0
  #dataFlags = 0
  #dataId = 0
  /** While a chunk is read, what is to be sent waits for its end. */
  #isReading = false
  #isFlushScheduled = false

  #block = Buffer.allocUnsafeSlow(BLOCK)
  #begin = 0
  #end = 0
  /** Pieces before those of the block, in order. @type {Buffer[]} */
  #pieces = []

  /** @param {import('node:net').Socket} socket @param {import('./floor-fields.mjs').FloorFields} fields */
  constructor(socket, fields) {
    this.#socket = socket
    this.#fields = fields
    const settings = toSettings([
      [2, 0],
      [4, STREAM_WINDOW],
    ])
    socket.setNoDelay(true)
    socket.write(Buffer.concat([preface, settings, toWindowUpdate(CONNECTION_WINDOW)]))
    socket.on('data', (/** @type {Buffer} */ chunk) => this.#onData(chunk))
    socket.on('error', (error) => this.#failAll(error))
    socket.on('close', () => this.#failAll(new Error('the connection was closed')))
  }

  /** @type {() => void} */
  flush = () => {
    this.#isFlushScheduled = false
    if (this.#uploads.length > 0) this.#sendBodies()
    this.#write()
  }

  /** @param {Target} target @param {Done} done */
  request(target, done) {
    // None overtakes those that wait.
    if (this.#waiting.length === this.#served && this.#hasRoom()) this.#open(target, done)
    else this.#waiting.push({ target, done })
  }

  #hasRoom() {
    return this.#active < this.#maxStreams && this.#streams[(this.#nextId >>> 1) % RING] === undefined
  }

  /** @param {Target} target @param {Done} done */
  #open(target, done) {
    const { body } = target
    const id = this.#nextId
    this.#nextId += 2
    this.#active++
    /** @type {Stream} */
    const stream = { id, done, head: 0, received: 0, body, sent: 0, window: this.#initialWindow }
    this.#streams[(id >>> 1) % RING] = stream
    this.#sendHeader(id, target)
    if (body !== null) this.#uploads.push(stream)
    if (this.#isReading || this.#isFlushScheduled) return
    this.#isFlushScheduled = true
    process.nextTick(this.flush)
  }

  /** @param {number} id @param {Target} target */
  #sendHeader(id, target) {
    const start = this.#room(MOST_FIELDS + target.path.length)
    const block = this.#block
    const at = this.#fields.write(target, block, start + FRAME_HEADER)
    const flags = target.body === null ? END_HEADERS | END_STREAM : END_HEADERS
    writeFrameHeader(block, start, at - start - FRAME_HEADER, HEADERS, flags, id)
    this.#end = at
  }

  /** Of each body as much as the windows allow. */
  #sendBodies() {
    let left = 0
    for (const stream of this.#uploads) {
      if (!this.#sendBody(stream)) this.#uploads[left++] = stream
    }
    this.#uploads.length = left
  }

  /** @param {Stream} stream @returns {boolean} whether that was all of it, or the stream has ended */
  #sendBody(stream) {
    const { body } = stream
    if (body === null) return true
    for (;;) {
      const left = body.length - stream.sent
      const size = Math.min(left, this.#maxFrame, stream.window, this.#window)
      if (size <= 0 && left > 0) return false
      const isLast = size === left
      const isCopied = size <= COPIED
      const at = this.#room(FRAME_HEADER + (isCopied ? size : 0))
      writeFrameHeader(this.#block, at, size, DATA, isLast ? END_STREAM : 0, stream.id)
      this.#end = at + FRAME_HEADER
      if (isCopied) {
        this.#end += body.copy(this.#block, this.#end, stream.sent, stream.sent + size)
      } else {
        this.#cut()
        this.#pieces.push(body.subarray(stream.sent, stream.sent + size))
      }
      stream.sent += size
      stream.window -= size
      this.#window -= size
      if (isLast) return true
    }
  }

  /** @param {number} size @returns {number} where in the block there is so much room */
  #room(size) {
    if (this.#end + size > BLOCK) {
      this.#cut()
      this.#block = Buffer.allocUnsafeSlow(BLOCK)
      this.#begin = 0
      this.#end = 0
    }
    return this.#end
  }

  /** Ends the piece that is being written in the block. */
  #cut() {
    if (this.#end > this.#begin) this.#pieces.push(this.#block.subarray(this.#begin, this.#end))
    this.#begin = this.#end
  }

  #write() {
    this.#cut()
    const pieces = this.#pieces
    const [first] = pieces
    if (first === undefined) return
    this.#pieces = []
    if (pieces.length === 1) {
      this.#socket.write(first)
      return
    }
    this.#socket.cork()
    for (const piece of pieces) this.#socket.write(piece)
    this.#socket.uncork()
  }

  /** @param {Buffer} chunk */
  #onData(chunk) {
    this.#isReading = true
    const partial = this.#partial
    const bytes = partial === null ? chunk : Buffer.concat([partial, chunk])
    let at = this.#dataLeft > 0 ? this.#takeData(bytes, 0) : 0
    while (bytes.length - at >= FRAME_HEADER) {
      const length = (bytes[at] << 16) | (bytes[at + 1] << 8) | bytes[at + 2]
      const flags = bytes[at + 4]
      if (bytes[at + 3] === DATA && (flags & PADDED) === 0) {
        this.#dataLeft = length
        this.#dataFlags = flags
        this.#dataId = bytes.readInt32BE(at + 5) & 0x7f_ff_ff_ff
        at = this.#takeData(bytes, at + FRAME_HEADER)
        continue
      }
      const end = at + FRAME_HEADER + length
      if (end > bytes.length) break
      this.#onFrame(bytes, at, end)
      at = end
    }
    this.#partial = at === bytes.length ? null : bytes.subarray(at)
    if (this.#consumed >= CONNECTION_WINDOW / 2) {
      this.#send(toWindowUpdate(this.#consumed))
      this.#consumed = 0
    }
    this.#isReading = false
    this.flush()
  }

  /**
   * Counts what has come of a DATA frame's payload, so that none of it is kept, or copied.
   *
   * @param {Buffer} bytes @param {number} at
   * @returns {number} where the next frame begins
   */
  #takeData(bytes, at) {
    const size = Math.min(this.#dataLeft, bytes.length - at)
    this.#dataLeft -= size
    this.#consumed += size
    this.#onBytes(this.#dataId, this.#dataLeft === 0 ? this.#dataFlags : 0, size)
    return at + size
  }

  /** @param {Buffer} bytes @param {number} at where its header begins @param {number} end where its payload ends */
  #onFrame(bytes, at, end) {
    const flags = bytes[at + 4]
    const id = bytes.readInt32BE(at + 5) & 0x7f_ff_ff_ff
    const start = at + FRAME_HEADER
    switch (bytes[at + 3]) {
      case DATA:
        this.#consumed += end - start
        return this.#onBytes(id, flags, end - start - 1 - bytes[start])
      case HEADERS:
        return this.#onHeaders(id, flags, bytes, start, end)
      case RST_STREAM:
        return this.#finish(id, new Error(`RST_STREAM with code ${bytes.readUInt32BE(start)}`))
      case SETTINGS:
        if ((flags & ACK) === 0) this.#onSettings(bytes, start, end)
        return
      case PING:
        if ((flags & ACK) === 0) this.#send(toFrame(PING, ACK, 0, bytes.subarray(start, end)))
        return
      case GOAWAY:
        return this.#failAll(new Error(`GOAWAY with code ${bytes.readUInt32BE(start + 4)}`))
      case WINDOW_UPDATE:
        return this.#onWindowUpdate(id, bytes.readUInt32BE(start))
    }
  }

  /** @param {Buffer} frame */
  #send(frame) {
    this.#cut()
    this.#pieces.push(frame)
  }

  /** @param {number} id @param {number} flags @param {Buffer} bytes @param {number} start @param {number} end of the payload */
  #onHeaders(id, flags, bytes, start, end) {
    // The servers here send no CONTINUATION.
    if ((flags & END_HEADERS) === 0) return this.#failAll(new Error('a header section in several frames'))
    const padding = (flags & PADDED) === 0 ? 0 : 1 + bytes[start]
    const begin = start + Math.min(padding, 1) + ((flags & PRIORITY) === 0 ? 0 : 5)
    const head = this.#fields.read(bytes, begin, end - Math.max(padding - 1, 0))
    const stream = this.#streams[(id >>> 1) % RING]
    if (stream === undefined) return
    if (head !== 0) stream.head = head
    if ((flags & END_STREAM) !== 0) this.#finish(id, null)
  }

  /** @param {number} id @param {number} flags @param {number} size of its data */
  #onBytes(id, flags, size) {
    const stream = this.#streams[(id >>> 1) % RING]
    if (stream === undefined) return
    stream.received += size
    if ((flags & END_STREAM) !== 0) this.#finish(id, null)
  }

  /** @param {number} id @param {Error | null} error */
  #finish(id, error) {
    const slot = (id >>> 1) % RING
    const stream = this.#streams[slot]
    if (stream === undefined) return
    this.#streams[slot] = undefined
    this.#active--
    stream.body = null
    stream.done(error, this.#fields.toStatus(stream.head), stream.received)
    if (this.#waiting.length > 0) this.#serve()
  }

  #serve() {
    while (this.#served < this.#waiting.length && this.#hasRoom()) {
      const next = this.#waiting[this.#served++]
      if (next !== undefined) this.#open(next.target, next.done)
    }
    if (this.#served < 10_000 && this.#served < this.#waiting.length) return
    this.#waiting.splice(0, this.#served)
    this.#served = 0
  }

  /** @param {Buffer} bytes @param {number} start @param {number} end */
  #onSettings(bytes, start, end) {
    for (let at = start; at + 6 <= end; at += 6) {
      const value = bytes.readUInt32BE(at + 2)
      switch (bytes.readUInt16BE(at)) {
        case 1:
          this.#fields.setTableSize(value)
          break
        case 3:
          this.#maxStreams = value
          break
        case 4:
          // It changes the windows of open streams, too (RFC 9113 §6.9.2).
          for (const stream of this.#uploads) stream.window += value - this.#initialWindow
          this.#initialWindow = value
          break
        case 5:
          this.#maxFrame = value
      }
    }
    this.#send(toFrame(SETTINGS, ACK, 0, Buffer.alloc(0)))
  }

  /** @param {number} id 0: of the connection @param {number} increment */
  #onWindowUpdate(id, increment) {
    if (id === 0) {
      this.#window += increment
      return
    }
    const stream = this.#streams[(id >>> 1) % RING]
    if (stream !== undefined) stream.window += increment
  }

  /** @param {Error} error */
  #failAll(error) {
    const waiting = this.#waiting.slice(this.#served)
    this.#waiting = []
    this.#served = 0
    for (const stream of this.#streams) if (stream !== undefined) this.#finish(stream.id, error)
    for (const { done } of waiting) done(error, 0, 0)
  }

  close() {
    this.#socket.destroy()
  }
}

/**
 * @param {string} origin @param {string | undefined} ca @param {import('./floor-fields.mjs').FieldsClass} Fields
 * @returns {Promise<Connection>}
 */
function openConnection(origin, ca, Fields) {
  const url = new URL(origin)
  const address = { host: url.hostname, port: Number(url.port) }
  return new Promise((resolve, reject) => {
    const isTls = url.protocol === 'https:'
    const socket = isTls ? connectTls({ ...address, ca, ALPNProtocols: ['h2'] }) : connect(address)
    socket.once('error', reject)
    socket.once(isTls ? 'secureConnect' : 'connect', () => {
      socket.off('error', reject)
      resolve(new Connection(socket, new Fields(url)))
    })
  })
}

/** @param {keyof typeof fieldsOf} name @returns {import('./index.mjs').Adapter} */
export const toFloor = (name) => ({
  async open(origins, { connections, ca }) {
    const Fields = await fieldsOf[name]()
    const all = origins.flatMap((origin) =>
      Array.from({ length: connections }, () => openConnection(origin, ca, Fields)),
    )
    const opened = await Promise.all(all)
    let turn = 0
    return {
      version: process.versions.node,
      apis: {
        frames(target, done) {
          const connection = opened[turn]
          turn = turn + 1 === opened.length ? 0 : turn + 1
          connection.request(target, done)
        },
      },
      async close() {
        for (const connection of opened) connection.close()
      },
    }
  },
})
