/** The frames that a client has sent on one connection, checked by RFC 9113 and by the limits of its peer. */

import type { Frame } from '../../../src/testing/frames.ts'
import { Flag, FrameParser, Setting, Type, toContent, toSettings } from '../../../src/testing/frames.ts'
import type { Field } from '../../../src/testing/hpack.ts'
import { HpackDecoder } from '../../../src/testing/hpack.ts'
import type { Allowed, Said } from './said.ts'

const PREFACE = 'PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n'

/** One request of the client's. */
export class SentStream {
  readonly id: number
  readonly fields: readonly Field[]
  /** Flow-controlled bytes. */
  sent = 0
  hasEnded = false
  isReset = false

  constructor(id: number, fields: readonly Field[]) {
    this.id = id
    this.fields = fields
  }

  field(name: string): string | undefined {
    return this.fields.find(([known]) => known === name)?.[1]
  }
}

/** Gets the events of the client's frames. */
export interface LedgerListener {
  /** Whether node:http2 is the client's engine. */
  readonly isOfNode: boolean
  onRequest(stream: SentStream): void
  onFrame(frame: Frame): void
  onViolation(what: string): void
}

/** The client's side of a connection. */
export class ClientLedger {
  readonly streams = new Map<number, SentStream>()
  readonly #said: Said
  readonly #listener: LedgerListener
  readonly #decoder = new HpackDecoder()
  readonly #parser = new FrameParser((frame) => this.#take(frame))
  #preface: string | null = ''
  #frames = 0
  #block: Frame[] = []
  #lastId = 0
  #sent = 0
  /** ACKs of SETTINGS, and of PINGs. */
  #acks = 0
  #pongs = 0
  /** The content of GOAWAY; null without one. */
  #goawayCode: number | null = null

  constructor(said: Said, listener: LedgerListener) {
    this.#said = said
    this.#listener = listener
  }

  receive(bytes: Buffer): void {
    if (this.#preface !== null) {
      this.#preface += bytes.toString('latin1', 0, PREFACE.length)
      if (!this.#preface.startsWith(PREFACE) && !PREFACE.startsWith(this.#preface)) this.#tell('no preface')
      if (this.#preface.length >= PREFACE.length) this.#preface = null
    }
    this.#parser.push(bytes)
  }

  /** Since the SETTINGS that were acknowledged last, each of which may be in force. */
  get #inForce(): readonly Allowed[] {
    return this.#said.allowed.slice(Math.min(this.#acks, this.#said.allowed.length - 1))
  }

  #max(what: (allowed: Allowed) => number): number {
    return Math.max(...this.#inForce.map(what))
  }

  #tell(what: string): void {
    this.#listener.onViolation(what)
  }

  #require(condition: boolean, what: string): void {
    if (!condition) this.#tell(what)
  }

  /**
   * SETTINGS of a session of node's that nghttp2 has ended on its own: node doesn't tell. They announce a window for a
   * request that is opened then, or take the place of a PING, which isn't possible.
   */
  #isUntold({ type }: Frame): boolean {
    return this.#listener.isOfNode && type === Type.SETTINGS
  }

  #take(frame: Frame): void {
    const { type, flags, streamId, payload } = frame
    if (this.#frames++ === 0)
      this.#require(type === Type.SETTINGS && (flags & Flag.ACK) === 0, 'SETTINGS weren’t the first frame')
    const isOver = this.#goawayCode !== null && this.#goawayCode !== 0
    this.#require(!isOver || this.#isUntold(frame), `frame ${type} was sent after GOAWAY`)
    const size = Math.max(...this.#said.allowed.map(({ frameSize }) => frameSize))
    this.#require(payload.length <= size, `a frame of ${payload.length} bytes was sent, ${size} are allowed`)
    const isBlock = type === Type.HEADERS || type === Type.CONTINUATION
    const [first] = this.#block
    this.#require(
      (first !== undefined) === (type === Type.CONTINUATION) &&
        (first === undefined || first.streamId === streamId),
      `frame ${type} came ${first === undefined ? 'out of' : 'within'} a header block`,
    )
    if (isBlock) this.#takeBlock(frame)
    else this.#takeOther(frame)
    this.#listener.onFrame(frame)
  }

  #takeOther(frame: Frame): void {
    const { type, flags, streamId, payload } = frame
    const isAck = (flags & Flag.ACK) !== 0
    switch (type) {
      case Type.DATA:
        this.#takeData(frame)
        break
      case Type.RST_STREAM:
        this.#takeReset(frame)
        break
      case Type.SETTINGS:
        if (isAck) this.#takeAck()
        else this.#require(this.#isSound(frame), 'SETTINGS have a value that is out of range')
        break
      case Type.PING:
        this.#require(payload.length === 8 && streamId === 0, 'a PING is malformed')
        if (isAck) this.#pongs++
        this.#require(this.#pongs <= this.#said.pings, 'a PING was acknowledged that the peer has not sent')
        break
      case Type.GOAWAY:
        this.#goawayCode = payload.readUInt32BE(4)
        break
      case Type.WINDOW_UPDATE:
        this.#require(payload.length === 4 && payload.readUInt32BE(0) > 0, 'a window was opened by 0')
        this.#require(
          streamId === 0 || streamId <= this.#lastId,
          `WINDOW_UPDATE was sent for idle ${streamId}`,
        )
        break
      case Type.PUSH_PROMISE:
        this.#tell('PUSH_PROMISE was sent')
    }
  }

  #isSound(frame: Frame): boolean {
    return toSettings(frame).every(([id, value]) => {
      if (id === Setting.ENABLE_PUSH) return value === 0
      if (id === Setting.INITIAL_WINDOW_SIZE) return value < 2 ** 31
      return id !== Setting.MAX_FRAME_SIZE || (value >= 16_384 && value < 2 ** 24)
    })
  }

  #takeAck(): void {
    this.#acks++
    this.#require(
      this.#acks < this.#said.allowed.length,
      'SETTINGS were acknowledged that the peer has not sent',
    )
    const sizes = this.#inForce.map(({ tableSize }) => tableSize)
    this.#decoder.allow(Math.max(...sizes))
  }

  #takeData({ streamId, flags, payload }: Frame): void {
    const stream = this.streams.get(streamId)
    if (stream === undefined) {
      this.#tell(`DATA was sent on idle ${streamId}`)
      return
    }
    this.#require(!stream.hasEnded, `DATA was sent after END_STREAM on ${streamId}`)
    this.#require(!stream.isReset, `DATA was sent after RST_STREAM on ${streamId}`)
    stream.sent += payload.length
    this.#sent += payload.length
    const { credit } = this.#said.stream(streamId)
    // The largest that there was: of a window that has shrunk, what was sent before counts.
    const window = Math.max(...this.#said.allowed.map((allowed) => allowed.window)) + credit
    this.#require(
      payload.length === 0 || stream.sent <= window,
      `${stream.sent} bytes were sent on ${streamId}, which has a window of ${window}`,
    )
    this.#require(
      payload.length === 0 || this.#sent <= this.#said.credit,
      `${this.#sent} bytes were sent, the connection's window is ${this.#said.credit}`,
    )
    if ((flags & Flag.END_STREAM) !== 0) stream.hasEnded = true
  }

  #takeReset({ streamId, payload }: Frame): void {
    const stream = this.streams.get(streamId)
    this.#require(payload.length === 4, 'RST_STREAM is malformed')
    // A promised stream may be refused (RFC 9113 §8.4): those are the peer's.
    if (stream !== undefined) stream.isReset = true
    else if (streamId % 2 === 1) this.#tell(`RST_STREAM was sent on idle ${streamId}`)
  }

  #takeBlock(frame: Frame): void {
    this.#block.push(frame)
    if ((frame.flags & Flag.END_HEADERS) === 0) return
    const [first] = this.#block
    const block = Buffer.concat(this.#block.map(toContent))
    this.#block = []
    if (first === undefined) return
    let fields: Field[]
    try {
      fields = this.#decoder.decode(block)
    } catch (thrown) {
      this.#tell(String(thrown))
      return
    }
    const known = this.streams.get(first.streamId)
    const stream = known ?? this.#open(first.streamId, fields)
    if (known !== undefined) this.#takeTrailers(known, first, fields)
    if ((first.flags & Flag.END_STREAM) !== 0) stream.hasEnded = true
    if (known === undefined) this.#listener.onRequest(stream)
  }

  #takeTrailers(stream: SentStream, { flags }: Frame, fields: readonly Field[]): void {
    this.#require(!stream.hasEnded && !stream.isReset, `trailers were sent after the end of ${stream.id}`)
    this.#require((flags & Flag.END_STREAM) !== 0, `a second header section was sent on ${stream.id}`)
    this.#require(!fields.some(([name]) => name.startsWith(':')), 'trailers had a pseudo-header field')
  }

  #open(id: number, fields: readonly Field[]): SentStream {
    this.#require(id % 2 === 1 && id > this.#lastId, `stream ${id} was opened after ${this.#lastId}`)
    const { pingsAtGoaway } = this.#said
    this.#require(
      pingsAtGoaway === null || this.#pongs <= pingsAtGoaway,
      `stream ${id} was opened after the peer's GOAWAY`,
    )
    this.#require(
      fields.some(([name, value]) => name === ':method' && value !== ''),
      `stream ${id} has no method`,
    )
    const open = [...this.streams.values()].filter((stream) => this.#isOpen(stream)).length
    const limit = this.#max(({ streams }) => streams)
    // Before the first SETTINGS are acknowledged, anything goes.
    this.#require(this.#acks === 0 || open < limit, `${open + 1} streams are open, ${limit} are allowed`)
    this.#lastId = Math.max(id, this.#lastId)
    const stream = new SentStream(id, fields)
    this.streams.set(id, stream)
    return stream
  }

  /** As the peer counts. */
  #isOpen({ id, isReset, hasEnded }: SentStream): boolean {
    if (isReset) return false
    const { resetCode, hasEnded: isResponded } = this.#said.stream(id)
    return resetCode === null && !(hasEnded && isResponded)
  }
}
