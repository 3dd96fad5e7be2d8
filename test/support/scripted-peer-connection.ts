/** One connection of a scripted peer: what came, what is open, and what may be said at any time. */

import type { Duplex } from 'node:stream'
import { FrameConnection } from './frame-connection.ts'
import type { Frame, SettingsEntry } from './frames.ts'
import { Flag, Setting, Type, toContent, toSettings } from './frames.ts'
import type { Field } from './hpack.ts'
import { HpackDecoder } from './hpack.ts'
import type { StreamOwner } from './scripted-peer-stream.ts'
import { PeerStream } from './scripted-peer-stream.ts'

/** What a connection says, and does when it hears something. What a script leaves out, a polite server would do. */
export interface PeerScript {
  /** Its first SETTINGS. `null`: it says nothing at all before the script does. @default [] */
  readonly settings?: readonly SettingsEntry[] | null
  /** Whether a PING gets its ACK. @default true */
  readonly acksPings?: boolean
  /** Whether what came of a body is given back as credit at once. @default true */
  readonly grantsCredit?: boolean
  /** Whether its side stays open when the client has closed its own. @default false */
  readonly staysHalfOpen?: boolean
  /** There is a connection; its SETTINGS are out. */
  onConnection?(connection: PeerConnection): void
  /** The whole header of a request has come. */
  onRequest?(stream: PeerStream, connection: PeerConnection): void
  /** A piece of a body has come. */
  onData?(stream: PeerStream, connection: PeerConnection): void
  /** A request is whole; one without a body is as soon as it has come. */
  onComplete?(stream: PeerStream, connection: PeerConnection): void
  /** Each frame, after everything else was done about it. */
  onFrame?(frame: Frame, connection: PeerConnection): void
}

/**
 * One connection, over TCP, TLS or any other Duplex. Its methods write frames at once; its fields are what has come.
 */
export class PeerConnection extends FrameConnection implements StreamOwner {
  /** From 0, in the order in which the peer took them. */
  readonly index: number
  /** Every frame. */
  readonly frames: Frame[] = []
  /** Every request, in the order of their HEADERS. */
  readonly streams: PeerStream[] = []
  /** The most that were open at once, as the peer counts. */
  maxOpen = 0
  /** What the client's SETTINGS have said, by id. */
  readonly clientSettings = new Map<number, number>()
  /** What the client's HPACK encoder has been up to. */
  readonly hpack = new HpackDecoder()

  readonly #script: PeerScript
  readonly #onChange: () => void
  readonly #byId = new Map<number, PeerStream>()
  readonly #open = new Set<PeerStream>()
  /** A header block that isn't whole: a HEADERS frame and its CONTINUATIONs. */
  #block: Frame[] = []

  /** @param link what HTTP/2 is spoken on: the transport, or TLS on top of it */
  constructor(index: number, transport: Duplex, link: Duplex, script: PeerScript, onChange: () => void) {
    super(transport, link)
    this.index = index
    this.acksPings = script.acksPings !== false
    this.#script = script
    this.#onChange = onChange
  }

  /** How many streams are open, as the peer counts. */
  get open(): number {
    return this.#open.size
  }

  /** The peer's own: says the first SETTINGS. */
  greet(): void {
    const { settings = [] } = this.#script
    if (settings !== null) void this.settings(...settings)
    this.#script.onConnection?.(this)
  }

  /** The frames of one type, and of one stream where that is given. */
  of(type: number, streamId: number | null = null): Frame[] {
    return this.frames.filter(
      (frame) => frame.type === type && (streamId ?? frame.streamId) === frame.streamId,
    )
  }

  /** PINGs of the client's own. */
  get pings(): Frame[] {
    return this.of(Type.PING).filter(({ flags }) => (flags & Flag.ACK) === 0)
  }

  /** New SETTINGS; settles at their ACK. */
  settings(...entries: readonly SettingsEntry[]): Promise<void> {
    const tableSize = entries.findLast(([id]) => id === Setting.HEADER_TABLE_SIZE)?.[1]
    return new Promise((resolve) => {
      this.announce(entries, () => {
        // From here on a block may not use more (RFC 7541 §4.2).
        if (tableSize !== undefined) this.hpack.allow(tableSize)
        resolve()
      })
    })
  }

  onStreamMoved(stream: PeerStream): void {
    if (!stream.isOpen) this.#open.delete(stream)
  }

  /** Once for all that came together: what waits may have to look at every request. */
  protected override onRead(): void {
    this.#onChange()
  }

  protected override onEnd(): void {
    super.onEnd()
    if (this.#script.staysHalfOpen !== true && !this.isSilent) this.end()
    this.#onChange()
  }

  protected override onClose(): void {
    super.onClose()
    this.#onChange()
  }

  protected override receive(frame: Frame): void {
    this.frames.push(frame)
    super.receive(frame)
    this.#handle(frame)
    this.#script.onFrame?.(frame, this)
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
    const [first] = this.#block
    const fields = this.hpack.decode(Buffer.concat(this.#block.map(toContent)))
    this.#block = []
    if (first === undefined) return
    const known = this.#byId.get(first.streamId)
    if (known === undefined) this.#onRequest(first, fields)
    else known.trailers = fields
    if ((first.flags & Flag.END_STREAM) !== 0) this.#onComplete(first.streamId)
  }

  #onRequest({ streamId }: Frame, fields: readonly Field[]): void {
    const stream = new PeerStream(this, streamId, fields)
    this.#byId.set(streamId, stream)
    this.streams.push(stream)
    this.#open.add(stream)
    this.maxOpen = Math.max(this.maxOpen, this.#open.size)
    this.#script.onRequest?.(stream, this)
  }

  #onData(frame: Frame): void {
    const { length } = frame.payload
    const isLast = (frame.flags & Flag.END_STREAM) !== 0
    // RFC 9113 §6.9: padding counts, too.
    if (this.#script.grantsCredit !== false && this.hasSettings && length > 0) {
      this.grant(0, length)
      if (!isLast) this.grant(frame.streamId, length)
    }
    const stream = this.#byId.get(frame.streamId)
    if (stream === undefined) return
    stream.chunks.push(toContent(frame))
    this.#script.onData?.(stream, this)
    if (isLast) this.#onComplete(frame.streamId)
  }

  #onComplete(streamId: number): void {
    const stream = this.#byId.get(streamId)
    if (stream === undefined) return
    stream.isComplete = true
    this.onStreamMoved(stream)
    this.#script.onComplete?.(stream, this)
  }

  #onReset({ streamId, payload }: Frame): void {
    const stream = this.#byId.get(streamId)
    if (stream === undefined) return
    stream.resetCode = payload.readUInt32BE(0)
    this.onStreamMoved(stream)
  }
}
