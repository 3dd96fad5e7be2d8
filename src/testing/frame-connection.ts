/**
 * One end of a connection that reads and writes HTTP/2 frames over any Duplex. It doesn't record them.
 *
 * @module
 */

import { Socket } from 'node:net'
import type { Duplex } from 'node:stream'
import { setImmediate } from 'node:timers/promises'
import { checkNames } from './by-name.ts'
import { PairedDuplex } from './duplex-pair.ts'
import type { ErrorCode, Frame, SettingsInit } from './frames.ts'
import { Flag, FrameParser, frames, Type, toCode, toEntries } from './frames.ts'

/** The contents of a GOAWAY frame. */
export interface GoAwayInit {
  /** The number of the last stream that the server may process. @default the newest stream, or 0 */
  readonly lastStreamId?: number
  /** The error code: a name from RFC 9113 §7, or any number. @default 'NO_ERROR' */
  readonly code?: ErrorCode
  /** The additional debug data, as text. @default '' */
  readonly debugData?: string
  /**
   * When the server closes the connection (FIN) after it: `at once`, or `when drained`, as soon as the streams up to
   * the last one have ended.
   *
   * @default 'never'
   */
  readonly closes?: 'never' | 'when drained' | 'at once'
}

/**
 * The server's side of a connection: it reads frames, acknowledges SETTINGS and PINGs, and writes at once, legal or
 * not. Subclasses handle all other frames in {@link FrameConnection.receive}.
 */
export class FrameConnection {
  /** The transport below HTTP/2, and below TLS if there is any. */
  readonly transport: Duplex
  /** Whether it acknowledges PINGs. */
  acksPings = true
  /** Whether the client has closed its side cleanly. */
  hasEnded = false
  /** Whether the transport is closed. */
  isClosed = false
  /** How many bytes of HTTP/2 it has written. */
  bytesWritten = 0
  /** How many writes began with a HEADERS or a DATA frame. */
  messagesWritten = 0

  /** The stream that carries HTTP/2. */
  readonly #link: Duplex
  /** Callbacks that wait for the ACK of a PING, by its payload; a flood uses a different payload. */
  readonly #pings = new Map<string, (isAcknowledged: boolean) => void>()
  #pingCount = 0
  /** Callbacks for the next ACKs of SETTINGS. */
  readonly #settings: ((isAcknowledged: boolean) => void)[] = []
  /** After how many bytes it falls silent. */
  #silentFrom = Number.POSITIVE_INFINITY
  #hasSettings = false
  /** Actions that wait for the server's first SETTINGS. */
  #afterSettings: (() => void)[] = []
  /** Writes held back for one segment. Null: none are held back. */
  #held: Buffer[] | null = null
  /** Actions queued while something is written by itself. Null: nothing is. */
  #behind: (() => void)[] | null = null
  /** Its side is closed, or will be after the held-back writes. */
  #isEnding = false

  /** Creates the server's side of a connection. @param link the TLS layer on the transport, if any */
  constructor(transport: Duplex, link: Duplex = transport) {
    this.transport = transport
    this.#link = link
    // Each write is sent as a packet, at once.
    if (transport instanceof Socket) transport.setNoDelay(true)
    const parser = new FrameParser((frame) => this.receive(frame))
    // The transport's error closes it, which its events report.
    for (const each of new Set<Duplex>([transport, link])) each.on('error', () => {})
    link.on('data', (bytes: Buffer) => {
      this.#parse(parser, bytes)
      this.onRead()
    })
    link.on('end', () => this.onEnd())
    transport.on('close', () => this.onClose())
  }

  /** The TCP socket. @throws Error if the transport is another Duplex */
  get socket(): Socket {
    if (!(this.transport instanceof Socket)) throw new Error('This connection has no socket')
    return this.transport
  }

  /** Whether it writes nothing more, because of `fallSilent()`. */
  get isSilent(): boolean {
    return this.bytesWritten >= this.#silentFrom
  }

  /** Whether data that is written now is sent. */
  get isWritable(): boolean {
    return this.#canWrite && !this.#isEnding
  }

  /** Whether the server has sent its first SETTINGS, which must precede all other frames (RFC 9113 §3.4). */
  get hasSettings(): boolean {
    return this.#hasSettings
  }

  /**
   * Writes any bytes, valid or not, at once, and in one segment if they fit. Does nothing after the connection has
   * closed.
   */
  write(...pieces: readonly Buffer[]): void {
    for (const piece of pieces) this.#note(piece)
    if (this.#held === null) this.#write(Buffer.concat(pieces))
    else if (!this.#isEnding) this.#held.push(...pieces)
    this.#goOnAfterSettings()
  }

  /**
   * Collects everything that a function writes, and sends it in one segment: the client gets it in one read.
   *
   * @param script must not be asynchronous: later writes aren't collected
   */
  inOneSegment(script: () => void): void {
    this.#write(this.#collect(script))
    this.#endBehind()
  }

  /**
   * Collects everything that a function writes, cuts it at these offsets, and sends each part in a separate segment.
   * Settles when the last part was written.
   *
   * @param offsets from 0, ascending: `[9]` cuts a frame after its header. `'each byte'`: between any two bytes
   */
  cutAt(offsets: readonly number[] | 'each byte', script: () => void): Promise<void> {
    const bytes = this.#collect(script)
    const isCut = this.#cut(bytes, offsets === 'each byte' ? [...bytes.keys()] : offsets)
    this.#endBehind()
    return isCut
  }

  /**
   * Cuts these bytes at the offsets, and sends each part in a separate segment: a client in the same process reads them
   * one by one. It skips empty parts. Other writes wait; it settles when the last part was written.
   *
   * @param offsets from 0, ascending: `[9]` cuts a frame after its header
   */
  writeCut(bytes: Buffer, ...offsets: readonly number[]): Promise<void> {
    this.#note(bytes)
    const isCut = this.#cut(bytes, offsets)
    this.#goOnAfterSettings()
    return isCut
  }

  /** Writes with nothing else in between: other writes wait until the script has settled. */
  writeAlone(script: (write: (bytes: Buffer) => Promise<void>) => Promise<void>): Promise<void> {
    return new Promise((resolve, reject) => {
      this.#inTurn(() => {
        this.#behind = []
        const isWritten = script((part) => this.#writePart(part))
        isWritten.finally(() => this.#goOn()).then(resolve, reject)
      })
    })
  }

  /**
   * Makes a round trip with a PING: settles when the client has received everything so far, and its reaction has
   * arrived.
   *
   * @returns false if the connection closes before
   */
  ping(): Promise<boolean> {
    return new Promise((resolve) => {
      if (this.isClosed) return resolve(false)
      const payload = Buffer.alloc(8)
      payload.writeUInt32BE(++this.#pingCount, 4)
      this.#pings.set(payload.toString('latin1'), resolve)
      this.write(frames.ping(payload))
    })
  }

  /** Sends SETTINGS, and calls back at their ACK, before it handles any later frame. */
  announce(settings: readonly SettingsInit[], onAcknowledged: (isAcknowledged: boolean) => void): void {
    if (this.isClosed) {
      onAcknowledged(false)
      return
    }
    this.#settings.push(onAcknowledged)
    this.write(frames.settings(...toEntries(settings)))
  }

  /** Sends GOAWAY. Rules don't run for requests on streams above its last stream id. */
  goAway(init: GoAwayInit = {}): void {
    checkNames('goAway()', init, ['lastStreamId', 'code', 'debugData', 'closes'])
    const { lastStreamId = this.newestStreamId, code = 'NO_ERROR', debugData = '' } = init
    this.write(frames.goAway(lastStreamId, toCode(code), debugData))
  }

  /** Sends WINDOW_UPDATE: gives credit to a stream, or to the connection (0). */
  grant(streamId: number, octets: number): void {
    this.write(frames.windowUpdate(streamId, octets))
  }

  /**
   * Becomes a black hole: it continues to read, but sends nothing more at any layer that a client could see.
   *
   * @param fromByte how many bytes the connection may have sent in total, including those it has sent already; later
   *   bytes are lost. 0: it sends nothing more at once
   */
  fallSilent(fromByte = 0): void {
    this.#silentFrom = fromByte
  }

  /** Stops reading: the client's data fills the buffers of both systems, and then the client's own. */
  pauseReading(): void {
    this.#link.pause()
    this.transport.pause()
  }

  /** Continues to read after `pauseReading()`. */
  resumeReading(): void {
    this.transport.resume()
    this.#link.resume()
  }

  /**
   * Closes its side of the connection (FIN; over TLS after `close_notify`), and continues to read. Writes that are held
   * back or being cut are sent first. Does nothing after `fallSilent()`.
   */
  end(): void {
    this.#isEnding = true
    this.#endBehind()
  }

  /** Breaks the connection: with a TCP RST, or by destroying the Duplex. */
  break(): void {
    const { transport } = this
    if (transport instanceof Socket || transport instanceof PairedDuplex) transport.resetAndDestroy()
    else transport.destroy(new Error('The peer has broken the connection'))
  }

  /** The highest stream id that the client has used so far. */
  protected get newestStreamId(): number {
    return 0
  }

  /** The client has violated HTTP/2, or doesn't speak it. */
  protected onProblem(_problem: string): void {}

  /** A frame has arrived. Handles SETTINGS and PING. */
  protected receive({ type, flags, payload }: Frame): void {
    const isAck = (flags & Flag.ACK) !== 0
    if (type === Type.SETTINGS) {
      if (isAck) this.#settings.shift()?.(true)
      else this.afterSettings(() => this.write(frames.settingsAck()))
    } else if (type === Type.PING) {
      if (isAck) this.#onPong(payload.toString('latin1'))
      else if (this.acksPings) this.afterSettings(() => this.write(frames.ping(payload, Flag.ACK)))
    }
  }

  /** Runs the action once the server's first SETTINGS were sent: no other frame may precede them. */
  protected afterSettings(action: () => void): void {
    if (this.#hasSettings) action()
    else this.#afterSettings.push(action)
  }

  /** All complete frames of one read were received. */
  protected onRead(): void {}

  protected onEnd(): void {
    this.hasEnded = true
  }

  protected onClose(): void {
    this.isClosed = true
    this.#afterSettings = []
    for (const settle of [...this.#pings.values(), ...this.#settings.splice(0)]) settle(false)
    this.#pings.clear()
  }

  #parse(parser: FrameParser, bytes: Buffer): void {
    try {
      parser.push(bytes)
    } catch (error) {
      this.onProblem(error instanceof Error ? error.message : String(error))
      this.transport.destroy()
    }
  }

  get #canWrite(): boolean {
    return !this.isSilent && this.#link.writable
  }

  #onPong(payload: string): void {
    const settle = this.#pings.get(payload)
    this.#pings.delete(payload)
    settle?.(true)
  }

  /** Counts a piece by its first frame. */
  #note({ 3: type, 4: flags = 0 }: Buffer): void {
    if (type === Type.DATA || type === Type.HEADERS) this.messagesWritten++
    if (type === Type.SETTINGS && (flags & Flag.ACK) === 0) this.#hasSettings = true
  }

  #goOnAfterSettings(): void {
    if (!this.#hasSettings || this.#afterSettings.length === 0) return
    for (const action of this.#afterSettings.splice(0)) action()
  }

  /** Closes its side, unless something has to be sent first. */
  #endBehind(): void {
    if (!this.#isEnding || this.#held !== null) return
    this.#inTurn(() => {
      if (!this.isSilent) this.#link.end()
    })
  }

  /** Runs it at once, or after what is being written by itself. */
  #inTurn(action: () => void): void {
    if (this.#behind === null) action()
    else this.#behind.push(action)
  }

  /** What was written by itself is finished. */
  #goOn(): void {
    const behind = this.#behind ?? []
    this.#behind = null
    for (let next = behind.shift(); next !== undefined; next = behind.shift()) {
      next()
      if (this.#isAlone(behind)) return
    }
  }

  /** Whether something is being written by itself again. @param behind the actions to run after that */
  #isAlone(behind: readonly (() => void)[]): boolean {
    this.#behind?.push(...behind)
    return this.#behind !== null
  }

  #cut(bytes: Buffer, offsets: readonly number[]): Promise<void> {
    return this.writeAlone(async (write) => {
      let start = 0
      for (const end of [...offsets, bytes.length]) {
        const part = bytes.subarray(start, end)
        start = Math.max(start, end)
        if (part.length > 0) await write(part)
      }
    })
  }

  #collect(script: () => void): Buffer {
    const outer = this.#held
    const held: Buffer[] = []
    this.#held = held
    try {
      script()
    } finally {
      this.#held = outer
    }
    return Buffer.concat(held)
  }

  #write(bytes: Buffer): void {
    if (this.#held !== null) this.#held.push(bytes)
    else if (this.#behind !== null) this.#behind.push(() => this.#write(bytes))
    else if (this.#canWrite && bytes.length > 0) this.#link.write(this.#count(bytes))
  }

  /** The part of it that may still be written. */
  #count(bytes: Buffer): Buffer {
    const part = bytes.subarray(0, this.#silentFrom - this.bytesWritten)
    this.bytesWritten += part.length
    return part
  }

  async #writePart(part: Buffer): Promise<void> {
    if (!this.#canWrite) return
    await new Promise<void>((resolve) => this.#link.write(this.#count(part), () => resolve()))
    // One turn of the event loop polls all sockets, so the first may come before the client's socket has had its turn.
    await setImmediate()
    await setImmediate()
  }
}
