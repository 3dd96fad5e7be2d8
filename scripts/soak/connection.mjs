/**
 * One connection of a server that speaks HTTP/2 by the frame: reads, keeps to the client's windows, and leaves it to
 * `faults.mjs` how to respond and what to do wrong.
 */
import { FrameConnection } from '../../src/testing/frame-connection.ts'
import { Flag, frames, MAX_STREAM_ID, Setting, Type, toSettings } from '../../src/testing/frames.ts'
import { actOn, beginFaults, disturb } from './faults.mjs'

/** As many bytes of a POST's body name it. */
const TAG_LENGTH = 9
const DEFAULT_WINDOW = 65_535

/**
 * The counts of all connections of a server.
 *
 * @typedef {object} Tally
 * @property {Record<string, number>} faults by name
 * @property {Map<string, string[]>} touched each time that a POST was taken, by its tag
 * @property {string[]} violations
 * @property {number} connections
 * @property {number} streams
 */

/** One stream. */
export class Stream {
  /** @param {number} id @param {number} window @param {boolean} hasBody */
  constructor(id, window, hasBody) {
    this.id = id
    this.window = window
    this.hasBody = hasBody
    this.hasAllOfIt = !hasBody
    this.received = 0
    /** The beginning of its body; null: refused, so it was never taken. @type {string | null} */
    this.tag = ''
    /**
     * Frames and data that wait for the client's window.
     *
     * @type {{ data: Buffer | null, frame: Buffer | null, isLast: boolean }[]}
     */
    this.outgoing = []
    this.isClosed = false
    this.hasResponded = false
    this.isPlanned = false
  }
}

export class Connection extends FrameConnection {
  /** @type {Map<number, Stream>} */
  streams = new Map()
  /** The last stream id of a GOAWAY that was sent; null: none. @type {number | null} */
  goaway = null
  /** The last id that anything was done for. */
  lastTouched = 0
  lastId = 0
  /** The largest number of streams, as the client knows it: each value counts from its ACK. */
  limit = Number.POSITIVE_INFINITY
  /** The last one that was sent. */
  lastLimit = Number.POSITIVE_INFINITY
  /** The connection reads nothing, and sends nothing. */
  isDeaf = false
  /** No stream is left to be waited for: it closes. */
  isEnding = false

  /** @param {import('node:net').Socket} socket @param {import('../random.mjs').Random} random @param {Tally} tally */
  constructor(socket, random, tally) {
    super(socket)
    this.random = random
    this.tally = tally
    this.window = DEFAULT_WINDOW
    this.initialWindow = DEFAULT_WINDOW
    this.maxFrame = 16_384
    /** @type {Buffer[]} */
    this.written = []
    this.number = ++tally.connections
    beginFaults(this)
  }

  /** @override @param {readonly Buffer[]} pieces */
  write(...pieces) {
    if (this.isDeaf || this.socket.destroyed) return
    // What one turn has to say leaves in one piece.
    if (this.written.length === 0) process.nextTick(() => this.flush())
    this.written.push(...pieces)
  }

  flush() {
    const { written } = this
    this.written = []
    if (written.length > 0) super.write(...written)
  }

  /** Sends the frames that this turn has queued so far. */
  goDeaf() {
    this.flush()
    this.isDeaf = true
    this.fallSilent()
  }

  /** @param {(readonly [id: number, value: number])[]} entries */
  writeSettings(...entries) {
    const limit = entries.find(([id]) => id === Setting.MAX_CONCURRENT_STREAMS)?.[1]
    this.announce(entries, () => {
      this.limit = limit ?? this.limit
    })
  }

  /** @param {string} name */
  count(name) {
    this.tally.faults[name] = (this.tally.faults[name] ?? 0) + 1
  }

  /** @param {Stream} stream @param {number} code */
  reset(stream, code) {
    if (stream.isClosed) return
    this.write(frames.reset(stream.id, code))
    this.drop(stream)
  }

  /** Streams with a higher id than any that was processed may be retried. @param {number} code */
  sendGoaway(code) {
    // The last stream id may be lower than in an earlier GOAWAY, never higher (RFC 9113 §6.8).
    const lastId = Math.min(this.goaway ?? MAX_STREAM_ID, this.random.integer(this.lastTouched, this.lastId))
    this.goaway = lastId
    this.goAway({ lastStreamId: lastId, code, debugData: 'soak' })
    for (const stream of [...this.streams.values()]) {
      if (stream.id <= lastId) continue
      stream.tag = null
      this.drop(stream)
    }
    this.endWhenIdle()
  }

  /** The first GOAWAY of a graceful shutdown: another one follows with the last stream id. */
  announceGoaway() {
    // Another GOAWAY may have been sent first: the last stream id can't be raised again (RFC 9113 §6.8).
    if (this.goaway !== null) return
    this.goaway = MAX_STREAM_ID
    this.goAway({ lastStreamId: MAX_STREAM_ID, code: 0 })
  }

  /** Closes when the responses of the remaining streams are complete. */
  endWhenIdle() {
    this.isEnding = true
    if (this.streams.size > 0) return
    this.flush()
    this.end()
  }

  /**
   * Data that keeps to the client's windows, and what has to stay in order with it.
   *
   * @param {Stream} stream @param {{ data?: Buffer, frame?: Buffer, isLast?: boolean }} piece
   */
  send(stream, { data = undefined, frame = undefined, isLast = false }) {
    if (stream.isClosed) return
    stream.outgoing.push({ data: data ?? null, frame: frame ?? null, isLast })
    this.pump(stream)
  }

  /** @param {Stream} stream */
  pump(stream) {
    for (
      let piece = stream.outgoing[0];
      piece !== undefined && !stream.isClosed;
      piece = stream.outgoing[0]
    ) {
      if (piece.frame !== null) {
        this.write(piece.frame)
      } else if (piece.data !== null) {
        const room = Math.min(piece.data.length, this.maxFrame, stream.window, this.window)
        if (room <= 0 && piece.data.length > 0) return
        const isWhole = room === piece.data.length
        const flags = piece.isLast && isWhole ? Flag.END_STREAM : 0
        this.write(frames.data(stream.id, piece.data.subarray(0, room), flags))
        stream.window -= room
        this.window -= room
        if (!isWhole) {
          piece.data = piece.data.subarray(room)
          continue
        }
      }
      stream.outgoing.shift()
      if (piece.isLast) this.onResponded(stream)
    }
  }

  /** @param {Stream} stream */
  onResponded(stream) {
    stream.hasResponded = true
    if (stream.hasAllOfIt) this.drop(stream)
    // A response that doesn't wait for the request's end (RFC 9113 §8.1).
    else if (this.random.chance(0.7)) this.reset(stream, 0)
  }

  /** The server does nothing more for the stream. @param {Stream} stream */
  drop(stream) {
    if (stream.isClosed) return
    stream.isClosed = true
    this.streams.delete(stream.id)
    if (stream.tag !== null && stream.tag.length === TAG_LENGTH) this.touch(stream.tag, stream)
    if (this.isEnding) this.endWhenIdle()
  }

  /** @param {string} tag @param {Stream} stream */
  touch(tag, { id, hasResponded, hasAllOfIt }) {
    const { number, goaway, tally } = this
    const what = `stream ${id} of connection ${number}, ${hasAllOfIt ? 'whole' : 'in part'}, ${hasResponded ? 'with' : 'without'} a response, last id of GOAWAY ${goaway}`
    const times = [...(tally.touched.get(tag) ?? []), what]
    tally.touched.set(tag, times)
    if (times.length > 1 && tag.startsWith('P')) {
      tally.violations.push(`the POST ${tag} was taken ${times.length} times: ${times.join('; ')}`)
    }
  }

  /**
   * No header is decoded: it is enough to know where a request begins and ends.
   *
   * @override @param {import('../../src/testing/frames.ts').Frame} frame
   */
  receive(frame) {
    if (this.isDeaf) return
    super.receive(frame)
    const { type, flags, streamId, payload } = frame
    const isLast = (flags & Flag.END_STREAM) !== 0
    const stream = this.streams.get(streamId)
    if (type === Type.HEADERS) {
      if (stream !== undefined) this.onRequestEnd(stream)
      else this.onRequest(streamId, !isLast)
    } else if (type === Type.DATA) {
      this.onData(streamId, stream, payload, isLast)
    } else if (type === Type.RST_STREAM) {
      if (stream !== undefined) this.drop(stream)
    } else if (type === Type.SETTINGS) {
      if ((flags & Flag.ACK) === 0) this.onSettings(frame)
    } else if (type === Type.WINDOW_UPDATE) {
      this.onWindowUpdate(streamId, stream, payload.readUInt32BE(0))
    } else if (type === Type.GOAWAY) {
      this.endWhenIdle()
    }
  }

  /** @param {number} id @param {boolean} hasBody */
  onRequest(id, hasBody) {
    this.lastId = Math.max(this.lastId, id)
    // Promised never to be looked at (RFC 9113 §6.8).
    if (this.goaway !== null && id > this.goaway) return
    this.tally.streams++
    if (this.streams.size >= this.limit) {
      this.tally.violations.push(
        `a stream was opened above the limit of ${this.limit} that had been acknowledged`,
      )
    }
    const stream = new Stream(id, this.initialWindow, hasBody)
    this.streams.set(id, stream)
    actOn(this, stream)
    disturb(this)
  }

  /** @param {number} id @param {Stream | undefined} stream @param {Buffer} payload @param {boolean} isLast */
  onData(id, stream, payload, isLast) {
    if (payload.length > 0) {
      this.grant(0, payload.length)
      if (stream !== undefined && !isLast) this.grant(id, payload.length)
    }
    if (stream === undefined) return
    if (stream.tag !== null && stream.tag.length < TAG_LENGTH) {
      stream.tag += payload.toString('latin1', 0, TAG_LENGTH - stream.tag.length)
    }
    this.lastTouched = Math.max(this.lastTouched, id)
    stream.received += payload.length
    if (isLast) this.onRequestEnd(stream)
  }

  /** @param {Stream} stream */
  onRequestEnd(stream) {
    stream.hasAllOfIt = true
    if (stream.hasResponded) this.drop(stream)
    else actOn(this, stream)
  }

  /** @param {import('../../src/testing/frames.ts').Frame} frame */
  onSettings(frame) {
    for (const [id, value] of toSettings(frame)) {
      if (id === Setting.MAX_FRAME_SIZE) this.maxFrame = value
      if (id !== Setting.INITIAL_WINDOW_SIZE) continue
      for (const stream of this.streams.values()) stream.window += value - this.initialWindow
      this.initialWindow = value
    }
    for (const stream of [...this.streams.values()]) this.pump(stream)
  }

  /** @param {number} id @param {Stream | undefined} stream @param {number} increment */
  onWindowUpdate(id, stream, increment) {
    if (stream !== undefined) {
      stream.window += increment
      this.pump(stream)
    } else if (id === 0) {
      this.window += increment
      for (const one of [...this.streams.values()]) this.pump(one)
    }
  }

  /** @override */
  onClose() {
    super.onClose()
    this.isDeaf = true
    this.isEnding = false
    for (const stream of [...this.streams.values()]) this.drop(stream)
  }
}
