/** A client's connection without a socket: a test is its peer, its clock and its readers. */

import type { ConnectionListener, ConnectionOptions } from '../../../src/protocol/connection.ts'
import { ClientConnection } from '../../../src/protocol/connection.ts'
import type { ConnectionFault } from '../../../src/protocol/protocol-error.ts'
import type { ReceiveWindows } from '../../../src/protocol/receive-windows.ts'
import type { ServerSettings } from '../../../src/protocol/settings.ts'
import type { StreamListener } from '../../../src/protocol/stream.ts'
import { Http2Stream } from '../../../src/protocol/stream.ts'
import type { Frame } from '../../../src/testing/frames.ts'
import { FrameParser } from '../../../src/testing/frames.ts'
import type { WindowSizes } from './windows.ts'
import { toWindows } from './windows.ts'

/** What a stream does with a piece of its response. */
export type Reading = 'reads' | 'holds'

/** Tells a stream of a rig what the connection tells. */
class Ear implements StreamListener {
  /** Null before it is made. */
  stream: HeardStream | null = null

  onInformational(status: number, fields: string[]): void {
    this.stream?.lists.push(fields)
    this.stream?.hear(`informational ${status}`)
  }

  onResponse(status: number, fields: string[]): void {
    this.stream?.lists.push(fields)
    this.stream?.hear(`response ${status}`)
  }

  onBytes(bytes: Buffer, start: number, end: number): void {
    this.stream?.take(bytes.subarray(start, end))
  }

  onTrailers(fields: string[]): void {
    this.stream?.lists.push(fields)
    this.stream?.hear('trailers')
  }

  onReset(code: number): void {
    this.stream?.hear(`reset ${code}`)
  }

  onRefused(): void {
    this.stream?.hear('refused')
  }

  onStreamError(code: number): void {
    this.stream?.hear(`breach ${code}`)
  }

  onOver(): void {
    this.stream?.hear('forgotten')
  }

  onSent(isTaken: boolean): void {
    this.stream?.hear(isTaken ? 'sent all' : 'sent some')
  }

  onPieceLost(): void {
    this.stream?.hear('lost')
  }
}

/** A stream that writes down what it hears, and keeps every object that it is given. */
export class HeardStream extends Http2Stream {
  readonly events: string[] = []
  /** Lists of fields, in the order in which they came. */
  readonly lists: string[][] = []
  /** Pieces of data, as they are, and copies made at the time. */
  readonly pieces: Buffer[] = []
  readonly copies: Buffer[] = []
  reading: Reading
  /** Called by each event, before it is written down. */
  onEvent: (event: string) => void = () => {}
  readonly #rig: Rig

  constructor(rig: Rig, reading: Reading) {
    const ear = new Ear()
    super(ear)
    ear.stream = this
    this.#rig = rig
    this.reading = reading
  }

  get text(): string {
    return Buffer.concat(this.copies).toString('latin1')
  }

  take(piece: Buffer): void {
    this.pieces.push(piece)
    this.copies.push(Buffer.from(piece))
    this.hear(`bytes ${piece.length}`)
    if (piece.length === 0) return
    if (this.reading === 'reads') this.#rig.http2.flow.consume(this, piece.length)
    else this.#rig.http2.flow.hold(this, piece.length)
  }

  hear(event: string): void {
    this.#rig.onEvent()
    this.onEvent(event)
    this.events.push(event)
  }
}

/** Windows that nothing in a test fills by accident. */
const WINDOWS = {
  streamWindow: 1_048_576,
  maxStreamWindow: 16_777_216,
  connectionWindow: 4_194_304,
  maxConnectionWindow: 16_777_216,
  maxBuffer: 268_435_456,
}

/** What a rig is made with. What is left out is as large as a client's own defaults. */
export interface RigOptions {
  readonly settings?: ConnectionOptions['settings']
  readonly windows?: Partial<WindowSizes>
}

const REQUEST = [':method', 'GET', ':scheme', 'http', ':authority', 'localhost', ':path', '/']

/** One connection, and all that was heard of it. */
export class Rig implements ConnectionListener {
  readonly http2: ClientConnection
  readonly windows: ReceiveWindows
  readonly streams: HeardStream[] = []
  readonly events: string[] = []
  readonly faults: ConnectionFault[] = []
  readonly debugData: Buffer[] = []
  /** Milliseconds. */
  time = 1_000
  /** What was heard after a fault: nothing, always. */
  late = 0
  /** Called one after the other, by ACKs of stream windows. */
  readonly #acks: (() => void)[] = []
  readonly #sent: Frame[] = []
  readonly #parser = new FrameParser((frame) => this.#sent.push(frame))

  constructor({ settings = {}, windows = {} }: RigOptions = {}) {
    this.windows = toWindows({ ...WINDOWS, ...windows }, () => this.#acks.shift()?.())
    this.http2 = new ClientConnection({ settings, windows: this.windows }, this)
    this.http2.start()
  }

  /** Opens one more stream: the next odd id. */
  open({
    reading = 'reads',
    isHead = false,
    hasBody = false,
    priority = null,
  }: OpenOptions = {}): HeardStream {
    const stream = new HeardStream(this, reading)
    if (isHead) stream.data = 'none'
    this.streams.push(stream)
    const fields = priority === null ? REQUEST : [...REQUEST, 'priority', priority]
    this.http2.open(stream, fields, !hasBody, null)
    return stream
  }

  /** Announces another stream window, unless it has that size. */
  setStreamWindow(size: number, onAck = (): void => {}): void {
    if (!this.windows.resize(size)) return
    this.#acks.push(onAck)
    this.http2.sendWindows()
  }

  receive(...chunks: readonly Buffer[]): void {
    for (const chunk of chunks) this.http2.receive(chunk)
  }

  /** All frames that wait to be sent. With `upTo` bytes of data. */
  take(upTo = Number.MAX_SAFE_INTEGER): Frame[] {
    this.http2.frameUploads(upTo)
    this.http2.flush({ write: (bytes) => this.#parser.push(Buffer.from(bytes)) })
    return this.#sent.splice(0)
  }

  /** Said by streams, too. */
  onEvent(): void {
    if (this.faults.length > 0) this.late++
  }

  /** Frames wait for `take()`. */
  onOutput: (isPatient: boolean) => void = () => {}

  onSettings(_settings: ServerSettings): void {
    this.#hear('settings')
  }

  onCredit(): void {}

  onOrigins(origins: readonly string[]): void {
    this.#hear(`origins ${origins.join(' ')}`)
  }

  onGoaway(code: number, lastStreamId: number, debugData: Buffer | null): void {
    if (debugData !== null) this.debugData.push(debugData)
    this.#hear(`goaway ${code} ${lastStreamId}`)
  }

  onFault(fault: ConnectionFault): void {
    this.#hear(`fault ${fault.code}`)
    this.faults.push(fault)
  }

  now(): number {
    return this.time
  }

  #hear(event: string): void {
    this.onEvent()
    this.events.push(event)
  }
}

/** How a stream of a rig is opened. */
export interface OpenOptions {
  readonly reading?: Reading
  readonly isHead?: boolean
  /** Our side stays open. */
  readonly hasBody?: boolean
  /** Its `priority` field; null for none. */
  readonly priority?: string | null
}

/** A rig that has opened the streams of a recording. */
export function startRig(methods: readonly string[]): Rig {
  const rig = new Rig()
  for (const method of methods) rig.open({ isHead: method === 'HEAD' })
  return rig
}
