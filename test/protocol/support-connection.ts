/** A connection without a socket, and the server that it talks to: the test's own bytes. */

import { expect } from 'vitest'
import type { ConnectionListener } from '../../src/protocol/connection.ts'
import { ClientConnection } from '../../src/protocol/connection.ts'
import type { ConnectionFault } from '../../src/protocol/protocol-error.ts'
import type { ReceiveWindows } from '../../src/protocol/receive-windows.ts'
import type { OwnSettings } from '../../src/protocol/settings.ts'
import type { StreamListener } from '../../src/protocol/stream.ts'
import { Http2Stream } from '../../src/protocol/stream.ts'
import type { Frame } from '../../src/testing/frames.ts'
import {
  ERROR_CODES,
  Flag,
  FrameParser,
  frames,
  PREFACE,
  Type,
  toSettings,
} from '../../src/testing/frames.ts'
import { HpackDecoder } from '../../src/testing/hpack.ts'
import type { WindowSizes } from './support/windows.ts'
import { toWindows } from './support/windows.ts'

export { Flag, frames, Setting, Type } from '../../src/testing/frames.ts'

/** The name of a code of RFC 9113 §7. */
export type CodeName = (typeof ERROR_CODES)[number]

/** Of RFC 9113 §6.9.2, all of them: nothing is announced but what a test asks for. */
const DEFAULT_WINDOWS: WindowSizes = {
  streamWindow: 65_535,
  maxStreamWindow: 65_535,
  connectionWindow: 65_535,
  maxConnectionWindow: 65_535,
  maxBuffer: 65_535,
}

/** A request's header, as a flat list. */
export const GET = [':method', 'GET', ':scheme', 'http', ':authority', 'a.test', ':path', '/'] as const

function toCode(code: number): string {
  return ERROR_CODES[code] ?? String(code)
}

/** Writes down what a stream hears. */
class Recorder implements StreamListener {
  readonly events: string[] = []
  readonly #dialogue: Dialogue
  /** Null before it is made. */
  stream: Http2Stream | null = null

  constructor(dialogue: Dialogue) {
    this.#dialogue = dialogue
  }

  onInformational(status: number, fields: string[]): void {
    this.events.push(`informational ${status}${toText(fields)}`)
  }

  onResponse(status: number, fields: string[]): void {
    this.events.push(`response ${status}${toText(fields)}${this.#ending}`)
  }

  onBytes(bytes: Buffer, start: number, end: number): void {
    this.events.push(`data ${bytes.toString('latin1', start, end)}${this.#ending}`)
    if (this.stream === null) return
    if (this.#dialogue.isReading) this.#dialogue.connection.flow.consume(this.stream, end - start)
    else this.#dialogue.connection.flow.hold(this.stream, end - start)
  }

  onTrailers(fields: string[]): void {
    this.events.push(`trailers${toText(fields)}`)
  }

  onReset(code: number): void {
    this.events.push(`reset ${toCode(code)}`)
  }

  onRefused(): void {
    this.events.push('refused')
  }

  onStreamError(code: number, message: string): void {
    this.events.push(`breach ${toCode(code)}`)
    expect(message).toMatch(/\S/)
  }

  onOver(): void {
    this.events.push('forgotten')
  }

  onSent(): void {}

  onPieceLost(): void {
    this.events.push('lost')
  }

  get #ending(): string {
    return this.stream?.phase === 'whole' ? ', the end' : ''
  }
}

/** A stream, and what it has heard. */
export class RecordingStream extends Http2Stream {
  readonly events: string[]

  constructor(dialogue: Dialogue) {
    const recorder = new Recorder(dialogue)
    super(recorder)
    recorder.stream = this
    this.events = recorder.events
  }
}

/** Fields behind the pseudo-headers, as ` name: value` each. */
function toText(fields: readonly string[]): string {
  let text = ''
  for (let i = 0; i < fields.length; i += 2) {
    if (!fields[i]?.startsWith(':')) text += ` ${fields[i]}: ${fields[i + 1]}`
  }
  return text
}

/** What makes a dialogue another one than usual. */
export interface DialogueOptions {
  readonly settings?: OwnSettings
  readonly windows?: Partial<WindowSizes>
  /** Whether both sides' SETTINGS have come and were acknowledged before the test begins. @default true */
  readonly isGreeted?: boolean
}

/**
 * One connection. `hears()` gives it what the server sends, and returns what the client sends, each frame as a line
 * such as `RST_STREAM(1) PROTOCOL_ERROR`.
 */
export class Dialogue implements ConnectionListener {
  readonly connection: ClientConnection
  readonly windows: ReceiveWindows
  /** Every frame of the client's, since the first. */
  readonly frames: Frame[] = []
  /** What the connection has told: `settings`, `goaway …`, `fault …`. */
  readonly events: string[] = []
  /** Whether streams read what comes at once. */
  isReading = true
  /** Milliseconds. */
  time = 0
  /** The first octets, before any frame. */
  preface = ''
  /** Called one after the other, by ACKs of stream windows. */
  readonly #acks: (() => void)[] = []
  readonly #hpack = new HpackDecoder()
  readonly #parser = new FrameParser((frame) => this.frames.push(frame))
  #bytes: Buffer[] = []
  #read = 0

  constructor({ settings = {}, windows = {}, isGreeted = true }: DialogueOptions = {}) {
    this.windows = toWindows({ ...DEFAULT_WINDOWS, ...windows }, () => this.#acks.shift()?.())
    this.connection = new ClientConnection({ settings, windows: this.windows }, this)
    this.connection.start()
    if (!isGreeted) return
    this.hears(frames.settings(), frames.settingsAck())
    this.events.length = 0
  }

  /** Opens a stream with a GET, or with what a test says. */
  open(isEnd = true, fields: readonly string[] = GET): RecordingStream {
    const stream = new RecordingStream(this)
    this.connection.open(stream, fields, isEnd, null)
    this.says()
    return stream
  }

  /** Announces another stream window. */
  setStreamWindow(size: number, onAck = (): void => {}): void {
    this.#acks.push(onAck)
    this.windows.resize(size)
    this.connection.sendWindows()
  }

  /** Sends a piece of a body. */
  send(stream: RecordingStream, text: string, isLast = false): string[] {
    this.connection.send(stream, Buffer.from(text), isLast)
    return this.says()
  }

  /** The server sends this; and what the client says to it. */
  hears(...bytes: readonly Buffer[]): string[] {
    this.connection.receive(Buffer.concat(bytes))
    return this.says()
  }

  /** What the client has said since it was asked last. */
  says(): string[] {
    this.connection.frameUploads(Number.POSITIVE_INFINITY)
    this.connection.flush({ write: (bytes) => this.#bytes.push(Buffer.from(bytes)) })
    const bytes = Buffer.concat(this.#bytes)
    this.#bytes = []
    if (this.preface === '') this.preface = bytes.toString('latin1', 0, PREFACE.length)
    this.#parser.push(bytes)
    const lines = this.frames.slice(this.#read).map((frame) => this.#toLine(frame))
    this.#read = this.frames.length
    return lines
  }

  onOutput(): void {}

  onSettings(): void {
    this.events.push('settings')
  }

  onCredit(): void {}

  onOrigins(origins: readonly string[]): void {
    this.events.push(`origins ${origins.join(' ')}`)
  }

  onGoaway(code: number, lastStreamId: number, debugData: Buffer | null): void {
    this.events.push(`goaway ${toCode(code)} ${lastStreamId} ${debugData?.toString() ?? 'null'}`)
  }

  onFault(fault: ConnectionFault): void {
    this.events.push(`fault ${toCode(fault.code)}`)
  }

  now(): number {
    return this.time
  }

  #toLine(frame: Frame): string {
    const { type, flags, streamId, payload } = frame
    const name = Object.entries(Type).find(([, number]) => number === type)?.[0] ?? `type ${type}`
    const isAck = (flags & Flag.ACK) !== 0
    switch (type) {
      case Type.SETTINGS:
        return isAck ? 'SETTINGS ACK' : `SETTINGS ${toSettings(frame).join(' ')}`
      case Type.PING:
        return `PING${isAck ? ' ACK' : ''} ${payload.toString('hex')}`
      case Type.RST_STREAM:
        return `RST_STREAM(${streamId}) ${toCode(payload.readUInt32BE(0))}`
      case Type.GOAWAY:
        return `GOAWAY(${streamId}) ${payload.readUInt32BE(0)} ${toCode(payload.readUInt32BE(4))}`
      case Type.WINDOW_UPDATE:
        return `WINDOW_UPDATE(${streamId}) ${payload.readUInt32BE(0)}`
      default:
        return `${name}(${streamId}) ${this.#toContent(frame)}${toFlags(flags)}`
    }
  }

  #toContent({ type, payload, flags }: Frame): string {
    if (type !== Type.HEADERS || (flags & Flag.END_HEADERS) === 0) return String(payload.length)
    return this.#hpack
      .decode(payload)
      .map((field) => field.join('='))
      .join(' ')
  }
}

function toFlags(flags: number): string {
  const isEnd = (flags & Flag.END_STREAM) !== 0
  return `${isEnd ? ' END_STREAM' : ''}${(flags & Flag.END_HEADERS) !== 0 ? ' END_HEADERS' : ''}`
}

/** A header block of literals in one HEADERS frame; `:status` in front where there is one. */
export function response(
  streamId: number,
  status: number,
  flags = 0,
  fields: readonly string[] = [],
): Buffer {
  const pairs: [string, string][] = [[':status', String(status)]]
  for (let i = 0; i < fields.length; i += 2) pairs.push([fields[i] ?? '', fields[i + 1] ?? ''])
  return frames.headers(streamId, pairs, flags)
}

/** Four octets. */
export function uint32(value: number): Buffer {
  const bytes = Buffer.alloc(4)
  bytes.writeUInt32BE(value)
  return bytes
}

/**
 * These bytes are a connection error (RFC 9113 §5.4.1): the only frame that the client sends is GOAWAY with that
 * code, it says why, and it neither reads on nor takes another stream.
 */
export function expectConnectionError(dialogue: Dialogue, code: CodeName, ...bytes: readonly Buffer[]): void {
  const stream = dialogue.open()
  dialogue.events.length = 0
  expect(dialogue.hears(...bytes)).toEqual([`GOAWAY(0) 0 ${code}`])
  expect(dialogue.events).toEqual([`fault ${code}`])
  expect(dialogue.connection.canTake).toBe(false)
  stream.events.length = 0
  expect(dialogue.hears(frames.ping(), response(stream.id, 200, Flag.END_STREAM))).toEqual([])
  expect(stream.events).toEqual([])
  expect(dialogue.events).toHaveLength(1)
}

/**
 * These bytes are an error of this stream alone (RFC 9113 §5.4.2): it is sent RST_STREAM with that code, once, and
 * hears of it; a sibling gets its response, and a later one, too.
 */
export function expectStreamError(
  dialogue: Dialogue,
  stream: RecordingStream,
  code: CodeName,
  ...bytes: readonly Buffer[]
): void {
  const sibling = dialogue.open()
  const { length } = stream.events
  const said = dialogue.hears(...bytes).filter((line) => !line.startsWith('WINDOW_UPDATE(0)'))
  expect(said).toEqual([`RST_STREAM(${stream.id}) ${code}`])
  expect(stream.events.slice(length)).toEqual([`breach ${code}`])
  expect(stream.state).toBe('closed')
  // What was on its way is let pass, and is no second error (RFC 9113 §5.4.2).
  expect(dialogue.hears(frames.data(stream.id, 'late'), frames.windowUpdate(stream.id, 0))).toEqual([])
  expect(stream.events).toHaveLength(length + 1)
  const late = dialogue.open()
  expect(
    dialogue.hears(response(sibling.id, 200, Flag.END_STREAM), response(late.id, 204, Flag.END_STREAM)),
  ).toEqual([])
  expect(sibling.events).toEqual(['response 200, the end'])
  expect(late.events).toEqual(['response 204, the end'])
  expect(dialogue.events.filter((event) => event.startsWith('fault'))).toEqual([])
}
