/**
 * One connection of a fault server: what came, what is open, and what may be said at any time.
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
 * What a connection says, and does when it hears something. What a script leaves out, a polite server would do. The
 * rules for requests run behind its `onRequest` and `onComplete`, and the polite response comes where none has begun.
 */
export interface ConnectionScript {
  /** Its first SETTINGS. `null`: it says nothing at all before the script does. @default those of the server */
  readonly settings?: readonly SettingsInit[] | SettingsInit | null
  /** Whether a PING gets its ACK. @default true */
  readonly acksPings?: boolean
  /** Whether what came of a body is given back as credit at once. @default true */
  readonly grantsCredit?: boolean
  /** Whether DATA waits for the client's windows; if not, it is written at once, as one frame. @default true */
  readonly obeysWindows?: boolean
  /** Whether its side stays open when the client has closed its own. @default false */
  readonly staysHalfOpen?: boolean
  /** There is a connection; its SETTINGS are out. */
  onConnection?(connection: FaultConnection): unknown
  /** The whole header section of a request has come. */
  onRequest?(stream: FaultStream, connection: FaultConnection): unknown
  /** A piece of a body has come. */
  onData?(stream: FaultStream, connection: FaultConnection): unknown
  /** A request is whole; one without a body is as soon as it has come. */
  onComplete?(stream: FaultStream, connection: FaultConnection): unknown
  /** Each frame, after everything else was done about it. */
  onFrame?(frame: RecordedFrame, connection: FaultConnection): unknown
}

/**
 * One connection, over TCP, TLS or any other Duplex. Its methods write frames at once; its fields are what has come.
 */
export class FaultConnection extends FrameConnection implements StreamOwner {
  /** From 0, in the order in which the server took them. */
  readonly index: number
  /** Every frame. */
  readonly frames: RecordedFrame[] = []
  /** Every request, in the order of their HEADERS. */
  readonly streams: FaultStream[] = []
  /** The most that were open at once, as the server counts. */
  maxOpen = 0
  /** What the client's SETTINGS have said, by id. */
  readonly clientSettings = new Map<number, number>()
  /**
   * What the client's HPACK encoder has been up to.
   *
   * @internal
   */
  readonly hpack = new HpackDecoder()
  /**
   * Whether a body that uses up a window by its last octet ends by RST_STREAM(NO_ERROR), as with a server of
   * Node's.
   */
  endsByReset = false
  /** The last stream that GOAWAY has said to be taken: no request rule runs for those above. */
  lastTaken = Number.POSITIVE_INFINITY
  readonly #alert: (() => void) | null
  readonly #scripts: readonly ConnectionScript[]
  readonly #owner: ConnectionOwner<FaultConnection>
  readonly #byId = new Map<number, FaultStream>()
  readonly #open = new Set<FaultStream>()
  readonly #windows: SendWindows
  readonly #delays = new Delays()
  /** A header block that isn't whole: a HEADERS frame and its CONTINUATIONs. */
  readonly #block: Frame[] = []
  #pushes = 0
  /** GOAWAY was sent, and the connection is closed behind the last response. */
  #closesWhenDone = false

  /**
   * @param scripts all of them run, in this order; of an option, the last one counts
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

  /** The frames of one type, such as `'PING'` or 6, and of one stream where that is given. */
  of(type: number | string, streamId: number | null = null): RecordedFrame[] {
    return this.frames.filter(
      (frame) =>
        (frame.type === type || frame.name === type) && (streamId ?? frame.streamId) === frame.streamId,
    )
  }

  /** PINGs of the client's own. */
  get pings(): RecordedFrame[] {
    return this.of(Type.PING).filter(({ flags }) => (flags & Flag.ACK) === 0)
  }

  /** GOAWAYs of the client's. */
  get goaways(): RecordedGoAway[] {
    return this.of(Type.GOAWAY).map(toGoAway)
  }

  /** Forgets its frames so far, and how many streams were open at most. */
  clearRecords(): void {
    this.frames.length = 0
    this.maxOpen = this.#open.size
  }

  /** The server's own: says the first SETTINGS. */
  greet(ofServer: readonly SettingsInit[]): void {
    const settings = this.#option('settings')
    if (settings === undefined) void this.settings(...ofServer)
    else if (settings !== null) void this.settings(...toList(settings))
    this.#run((script) => script.onConnection?.(this))
  }

  /** New SETTINGS. @returns whether they were acknowledged; false where the connection closed before */
  settings(...settings: readonly SettingsInit[]): Promise<boolean> {
    const tableSize = toEntries(settings).findLast(([id]) => id === Setting.HEADER_TABLE_SIZE)?.[1]
    return new Promise((resolve) => {
      this.announce(settings, (isAcknowledged) => {
        // From here on a block may not use more (RFC 7541 §4.2).
        if (tableSize !== undefined) this.hpack.allow(tableSize)
        resolve(isAcknowledged)
      })
    })
  }

  /** Waits. @returns false where the connection has closed before */
  delay(milliseconds: number): Promise<boolean> {
    return this.#delays.wait(milliseconds)
  }

  /**
   * A fatal TLS alert, `bad_record_mac`: the client has to take the connection for lost. {@link FaultSocket} has those
   * of the handshake.
   *
   * @throws Error where there is no TLS
   */
  alert(): void {
    if (this.#alert === null) throw new Error("This connection has no TLS, so it can't send an alert")
    this.#alert()
  }

  /** A frame that RFC 9113 forbids. @param streamId the stream that it names: the newest, unless another is given */
  badFrame(name: BadFrame, streamId?: number): void {
    const toBytes = byName('bad frame', BAD_FRAMES, name)
    this.write(toBytes(toStreamId(toBytes, streamId, this.newestStreamId)))
  }

  /**
   * Frames over and over, as fast as the client reads them, or at a rate. Other frames may be sent meanwhile.
   *
   * @returns how many rounds were sent
   */
  flood(kind: Flood, options: FloodOptions = {}): Promise<number> {
    return pour(this, kind, this.newestStreamId, options)
  }

  override goAway(init: GoAwayInit = {}): void {
    // RFC 9113 §6.8: what an earlier one has named doesn't grow.
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

  /** What of a stream's response waits for a window is dropped. @internal */
  sendNoMore(stream: FaultStream): void {
    this.#windows.close(stream.id)
  }

  /** DATA of a stream's response, and what ends it. @internal */
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

  /** A stream has reached another state. @internal */
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

  /** Once for all that came together: what waits may have to look at every request. */
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

  /** As the last script has it that says anything of it. */
  #option<Name extends keyof ConnectionScript>(name: Name): ConnectionScript[Name] | undefined {
    return this.#scripts.findLast((script) => script[name] !== undefined)?.[name]
  }

  #endIfDone(): void {
    if (!this.#closesWhenDone || [...this.#open].some(({ id }) => id <= this.lastTaken)) return
    // The end of the last response is yet to be written.
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
