/**
 * One connection of a fault server: what has arrived, what is open, and what it can send at any time.
 *
 * @module
 */

import type { BadFrame } from './bad-frames.ts'
import { BAD_FRAMES } from './bad-frames.ts'
import { byName } from './by-name.ts'
import type { ConnectionOwner } from './connection-owner.ts'
import { Delays } from './delays.ts'
import { toList } from './fault-options.ts'
import type { StreamOwner } from './fault-stream.ts'
import { FaultStream } from './fault-stream.ts'
import type { Flood, FloodOptions } from './floods.ts'
import { pour } from './floods.ts'
import type { GoAwayInit } from './frame-connection.ts'
import { FrameConnection } from './frame-connection.ts'
import type { Frame, SettingsInit } from './frames.ts'
import { Flag, frames, Setting, Type, toContent, toEntries, toSettings } from './frames.ts'
import type { Field } from './hpack.ts'
import { HpackDecoder } from './hpack.ts'
import type { RecordedFrame, RecordedGoAway } from './records.ts'
import { toGoAway, toRecord } from './records.ts'
import type { Outgoing } from './send-windows.ts'
import { SendWindows } from './send-windows.ts'
import { toStreamId } from './stream-ids.ts'
import type { ConnectionLayers } from './tls-transport.ts'

/**
 * What a connection sends, and how it reacts. Where a script says nothing, the connection does what a correct server
 * does. The rules for requests run after `onRequest` and `onComplete`; the default response follows if none has begun.
 */
export interface ConnectionScript {
  /** The first SETTINGS. `null`: it sends nothing before the script does. @default the server's option */
  readonly settings?: readonly SettingsInit[] | SettingsInit | null
  /** Whether it acknowledges PINGs. @default true */
  readonly acksPings?: boolean
  /** Whether it returns flow-control credit for body data at once. @default true */
  readonly grantsCredit?: boolean
  /** Whether DATA waits for the client's windows. `false`: it is sent at once, as one frame. @default true */
  readonly obeysWindows?: boolean
  /** Whether it keeps its side open after the client has closed its own. @default false */
  readonly staysHalfOpen?: boolean
  /** The connection is established, and its SETTINGS have been sent. */
  onConnection?(connection: FaultConnection): unknown
  /** A request's whole header section has arrived. */
  onRequest?(stream: FaultStream, connection: FaultConnection): unknown
  /** A piece of a request body has arrived. */
  onData?(stream: FaultStream, connection: FaultConnection): unknown
  /** A request is complete; without a body, as soon as it arrives. */
  onComplete?(stream: FaultStream, connection: FaultConnection): unknown
  /** A frame has arrived and was handled. */
  onFrame?(frame: RecordedFrame, connection: FaultConnection): unknown
}

/**
 * A connection over TCP, TLS or any other Duplex. Its methods write frames at once; its fields contain what has
 * arrived.
 */
export class FaultConnection extends FrameConnection implements StreamOwner {
  /** Its index, from 0, in the order in which the server accepted the connections. */
  readonly index: number
  /** All frames from the client. */
  readonly frames: RecordedFrame[] = []
  /** All requests, in the order of their HEADERS. */
  readonly streams: FaultStream[] = []
  /** The most streams that were open at once, as the server counts. */
  maxOpen = 0
  /** The values in the client's SETTINGS, by id. */
  readonly clientSettings = new Map<number, number>()
  /**
   * Decodes what the client's HPACK encoder sends.
   *
   * @internal
   */
  readonly hpack = new HpackDecoder()
  /**
   * Whether a body whose last byte exhausts a window ends with RST_STREAM(NO_ERROR), as from Node's server.
   */
  endsByReset = false
  /** The last stream id in GOAWAY: rules don't run for requests on later streams. */
  lastTaken = Number.POSITIVE_INFINITY
  readonly #alert: (() => void) | null
  readonly #scripts: readonly ConnectionScript[]
  readonly #owner: ConnectionOwner<FaultConnection>
  readonly #byId = new Map<number, FaultStream>()
  readonly #open = new Set<FaultStream>()
  readonly #windows: SendWindows
  readonly #delays = new Delays()
  /** An incomplete header block: a HEADERS frame and its CONTINUATIONs. */
  readonly #block: Frame[] = []
  #pushes = 0
  /** GOAWAY was sent, and the connection closes after the last response. */
  #closesWhenDone = false

  /**
   * Creates the server's side of a connection.
   *
   * @param scripts all of them run, in this order; if several set an option, the last one applies
   */
  constructor(
    index: number,
    { transport, link, alert }: ConnectionLayers,
    scripts: readonly ConnectionScript[],
    owner: ConnectionOwner<FaultConnection>,
  ) {
    super(transport, link)
    this.index = index
    this.#alert = alert
    this.#scripts = scripts
    this.acksPings = this.#option('acksPings') !== false
    this.#owner = owner
    this.#windows = new SendWindows((...pieces) => this.write(...pieces))
  }

  /** How many streams are open, as the server counts. */
  get open(): number {
    return this.#open.size
  }

  /** The frames of one type, such as `'PING'` or 6, on one stream or on all. */
  of(type: number | string, streamId: number | null = null): RecordedFrame[] {
    return this.frames.filter(
      (frame) =>
        (frame.type === type || frame.name === type) && (streamId ?? frame.streamId) === frame.streamId,
    )
  }

  /** The client's PING frames, without ACKs. */
  get pings(): RecordedFrame[] {
    return this.of(Type.PING).filter(({ flags }) => (flags & Flag.ACK) === 0)
  }

  /** The client's GOAWAY frames. */
  get goaways(): RecordedGoAway[] {
    return this.of(Type.GOAWAY).map(toGoAway)
  }

  /** Forgets the frames so far, and the most streams that were open at once. */
  clearRecords(): void {
    this.frames.length = 0
    this.maxOpen = this.#open.size
  }

  /** For the server: sends the first SETTINGS. */
  greet(ofServer: readonly SettingsInit[]): void {
    const settings = this.#option('settings')
    if (settings === undefined) void this.settings(...ofServer)
    else if (settings !== null) void this.settings(...toList(settings))
    this.#run((script) => script.onConnection?.(this))
  }

  /** Sends new SETTINGS. @returns whether they were acknowledged; false if the connection closed before */
  settings(...settings: readonly SettingsInit[]): Promise<boolean> {
    const tableSize = toEntries(settings).findLast(([id]) => id === Setting.HEADER_TABLE_SIZE)?.[1]
    return new Promise((resolve) => {
      this.announce(settings, (isAcknowledged) => {
        // From here on, a block may not use more (RFC 7541 §4.2).
        if (tableSize !== undefined) this.hpack.allow(tableSize)
        resolve(isAcknowledged)
      })
    })
  }

  /** Waits for some milliseconds. @returns false if the connection closes before */
  delay(milliseconds: number): Promise<boolean> {
    return this.#delays.wait(milliseconds)
  }

  /**
   * Sends a fatal TLS alert, `bad_record_mac`: the client has to consider the connection lost. {@link FaultSocket} can
   * send alerts during the handshake.
   *
   * @throws Error without TLS
   */
  alert(): void {
    if (this.#alert === null) throw new Error("This connection has no TLS, so it can't send an alert")
    this.#alert()
  }

  /** Sends a frame that RFC 9113 forbids. @param streamId the stream in the frame; by default the newest */
  badFrame(name: BadFrame, streamId?: number): void {
    const toBytes = byName('bad frame', BAD_FRAMES, name)
    this.write(toBytes(toStreamId(toBytes, streamId, this.newestStreamId)))
  }

  /**
   * Sends frames over and over, as fast as the client reads them, or at a rate. You can send other frames meanwhile.
   *
   * @returns how many rounds it has sent
   */
  flood(kind: Flood, options: FloodOptions = {}): Promise<number> {
    return pour(this, kind, this.newestStreamId, options)
  }

  override goAway(init: GoAwayInit = {}): void {
    // RFC 9113 §6.8: the id that an earlier GOAWAY has named must not grow.
    const { lastStreamId = Math.min(this.newestStreamId, this.lastTaken) } = init
    super.goAway({ ...init, lastStreamId })
    this.lastTaken = lastStreamId
    this.#closesWhenDone = init.closes === 'when drained'
    if (init.closes === 'at once') this.end()
    this.#endIfDone()
  }

  nextPushId(): number {
    this.#pushes += 2
    return this.#pushes
  }

  /** Drops the part of a stream's response that waits for a window. @internal */
  sendNoMore(stream: FaultStream): void {
    this.#windows.close(stream.id)
  }

  /** Sends DATA of a stream's response, and its end. @internal */
  send(stream: FaultStream, outgoing: Outgoing): void {
    if (this.#option('obeysWindows') !== false) {
      this.#windows.endsByReset = this.endsByReset
      this.#windows.send(stream.id, outgoing)
      return
    }
    const { content, end } = outgoing
    outgoing.onLast()
    if (content.length > 0 || !(end instanceof Buffer))
      this.write(frames.data(stream.id, content, end === 'data' ? Flag.END_STREAM : 0))
    if (end instanceof Buffer) this.write(end)
    outgoing.onGone()
  }

  /** A stream's state has changed. @internal */
  onStreamMoved(stream: FaultStream): void {
    if (stream.isOpen || !this.#open.delete(stream)) return
    if (!stream.isComplete) this.#owner.onGone(stream)
    this.#endIfDone()
  }

  protected override get newestStreamId(): number {
    return this.streams.at(-1)?.id ?? 0
  }

  protected override onProblem(problem: string): void {
    this.#owner.onProblem(`connection ${this.index}: ${problem}`)
  }

  /** Called once for all frames of one read: those that wait may have to check every request. */
  protected override onRead(): void {
    this.#owner.onChange()
  }

  protected override onEnd(): void {
    super.onEnd()
    if (this.#option('staysHalfOpen') !== true && !this.isSilent) this.end()
    this.#owner.onChange()
  }

  protected override onClose(): void {
    super.onClose()
    this.#delays.end()
    this.#windows.closeAll()
    for (const stream of this.#open) if (!stream.isComplete) this.#owner.onGone(stream)
    for (const stream of this.streams) stream.wake()
    this.#owner.onChange()
  }

  protected override receive(frame: Frame): void {
    const recorded = toRecord(frame, this.index)
    this.frames.push(recorded)
    this.#owner.onFrame(recorded)
    super.receive(frame)
    this.#windows.receive(frame)
    this.#handle(frame)
    this.#run((script) => script.onFrame?.(recorded, this))
  }

  #run(part: (script: ConnectionScript) => unknown): void {
    for (const script of this.#scripts) this.#owner.run(() => part(script))
  }

  /** An option from the last script that sets it. */
  #option<Name extends keyof ConnectionScript>(name: Name): ConnectionScript[Name] | undefined {
    return this.#scripts.findLast((script) => script[name] !== undefined)?.[name]
  }

  #endIfDone(): void {
    if (!this.#closesWhenDone || [...this.#open].some(({ id }) => id <= this.lastTaken)) return
    // The end of the last response hasn't been written yet.
    queueMicrotask(() => this.end())
  }

  #handle(frame: Frame): void {
    switch (frame.type) {
      case Type.SETTINGS:
        for (const [id, value] of toSettings(frame)) this.clientSettings.set(id, value)
        break
      case Type.HEADERS:
      case Type.CONTINUATION:
        this.#block.push(frame)
        if ((frame.flags & Flag.END_HEADERS) !== 0) this.#onBlock()
        break
      case Type.DATA:
        this.#onData(frame)
        break
      case Type.RST_STREAM:
        this.#onReset(frame)
        break
    }
  }

  #onBlock(): void {
    const block = this.#block.splice(0)
    const [first] = block
    const fields = this.hpack.decode(Buffer.concat(block.map(toContent)))
    if (first === undefined) return
    const known = this.#byId.get(first.streamId)
    if (known === undefined) this.#onRequest(first, fields)
    else known.trailers = fields
    if ((first.flags & Flag.END_STREAM) !== 0) this.#onComplete(first.streamId)
  }

  #onRequest({ streamId }: Frame, fields: readonly Field[]): void {
    const method = fields.find(([name]) => name === ':method')?.[1] ?? ''
    const path = fields.find(([name]) => name === ':path')?.[1] ?? ''
    const stream = new FaultStream(this, streamId, fields, this.#owner.place(method, path))
    this.#byId.set(streamId, stream)
    this.#windows.open(streamId)
    this.streams.push(stream)
    this.#owner.onOpen(stream)
    this.#open.add(stream)
    this.maxOpen = Math.max(this.maxOpen, this.#open.size)
    this.#run((script) => script.onRequest?.(stream, this))
    this.afterSettings(() => this.#owner.onRequest(stream, this))
  }

  #onData(frame: Frame): void {
    const { length } = frame.payload
    const isLast = (frame.flags & Flag.END_STREAM) !== 0
    // RFC 9113 §6.9: padding counts, too.
    if (this.#option('grantsCredit') !== false && length > 0) {
      this.afterSettings(() => {
        this.grant(0, length)
        if (!isLast) this.grant(frame.streamId, length)
      })
    }
    const stream = this.#byId.get(frame.streamId)
    if (stream === undefined) return
    stream.chunks.push(toContent(frame))
    stream.wake()
    this.#run((script) => script.onData?.(stream, this))
    if (isLast) this.#onComplete(frame.streamId)
  }

  #onComplete(streamId: number): void {
    const stream = this.#byId.get(streamId)
    if (stream === undefined) return
    stream.isComplete = true
    stream.completedAt = performance.now()
    stream.wake()
    this.onStreamMoved(stream)
    this.#run((script) => script.onComplete?.(stream, this))
    this.afterSettings(() => this.#owner.onComplete(stream, this))
  }

  #onReset({ streamId, payload }: Frame): void {
    const stream = this.#byId.get(streamId)
    if (stream === undefined) return
    stream.resetCode = payload.readUInt32BE(0)
    this.#windows.close(streamId)
    stream.wake()
    this.onStreamMoved(stream)
  }
}
