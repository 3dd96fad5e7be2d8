/**
 * One end of a connection that speaks HTTP/2 by the frame, whatever is beneath: it keeps nothing of what comes.
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

/** What a GOAWAY says. */
export interface GoAwayInit {
  /** The last stream that the server has taken, or may take. @default the newest that has come, or 0 */
  readonly lastStreamId?: number
  /** A name of RFC 9113 §7, or any number. @default 'NO_ERROR' */
  readonly code?: ErrorCode
  /** Text behind the code. @default '' */
  readonly debugData?: string
  /**
   * Whether the server closes the connection (FIN) behind it: `at once`, or `when drained`, which is as soon as the
   * streams that were taken have ended.
   *
   * @default 'never'
   */
  readonly closes?: 'never' | 'when drained' | 'at once'
}

/**
 * A server's side: it reads frames, acknowledges SETTINGS and PINGs, and writes at once, whether that is legal or not.
 * What extends it sees to all other frames in {@link FrameConnection.receive}.
 */
export class FrameConnection {
  /** Beneath HTTP/2, and beneath TLS where there is any. */
  readonly transport: Duplex
  /** Whether a PING gets its ACK. */
  acksPings = true
  /** The client has closed its side, properly. */
  hasEnded = false
  /** The transport is gone. */
  isClosed = false
  /** How many octets of HTTP/2 were written. */
  bytesWritten = 0
  /** How many writes began with a HEADERS or a DATA frame. */
  messagesWritten = 0

  /** What HTTP/2 is read from and written to. */
  readonly #link: Duplex
  /** Who waits for the ACK of a PING, by its payload: a flood's has another. */
  readonly #pings = new Map<string, (isAcknowledged: boolean) => void>()
  #pingCount = 0
  /** What to do at each ACK of SETTINGS. */
  readonly #settings: ((isAcknowledged: boolean) => void)[] = []
  /** How many octets may be written before all falls silent. */
  #silentFrom = Number.POSITIVE_INFINITY
  #hasSettings = false
  /** What waits for the server's first SETTINGS. */
  #afterSettings: (() => void)[] = []
  /** What is held back for one segment. Null: nothing is. */
  #held: Buffer[] | null = null
  /** What comes behind that which is being written alone. Null: nothing is. */
  #behind: (() => void)[] | null = null
  /** Its side is closed, or will be behind what is held back. */
  #isEnding = false

  /** @param link the TLS on top of the transport, where there is any */
  constructor(transport: Duplex, link: Duplex = transport) {
    this.transport = transport
    this.#link = link
    // Each write is a packet, at once.
    if (transport instanceof Socket) transport.setNoDelay(true)
    const parser = new FrameParser((frame) => this.receive(frame))
    // An error of the transport closes it: that is told by its events.
    for (const each of new Set<Duplex>([transport, link])) each.on('error', () => {})
    link.on('data', (bytes: Buffer) => {
      this.#parse(parser, bytes)
      this.onRead()
    })
    link.on('end', () => this.onEnd())
    transport.on('close', () => this.onClose())
  }

  /** The transport, of a connection over TCP. @throws Error where the transport is another Duplex */
  get socket(): Socket {
    if (!(this.transport instanceof Socket)) throw new Error('This connection has no socket')
    return this.transport
  }

  /** Whether nothing more is written, by `fallSilent()`. */
  get isSilent(): boolean {
    return this.bytesWritten >= this.#silentFrom
  }

  /** Whether what is written now goes out. */
  get isWritable(): boolean {
    return this.#canWrite && !this.#isEnding
  }

  /** The server's first SETTINGS are out: before them it may send nothing else (RFC 9113 §3.4). */
  get hasSettings(): boolean {
    return this.#hasSettings
  }

  /**
   * Any octets, right or wrong: at once, and in one segment, unless there is too much for one. After the connection has
   * closed, nothing happens.
   */
  write(...pieces: readonly Buffer[]): void {
    for (const piece of pieces) this.#note(piece)
    if (this.#held === null) this.#write(Buffer.concat(pieces))
    else if (!this.#isEnding) this.#held.push(...pieces)
    this.#goOnAfterSettings()
  }

  /**
   * Writes all that a function writes in one segment, once it has returned. The client finds all of that in one read.
   *
   * @param script must not be asynchronous: what it would write later goes by itself
   */
  inOneSegment(script: () => void): void {
    this.#write(this.#collect(script))
    this.#endBehind()
  }

  /**
   * Writes what a function writes cut at these offsets, each part in a segment of its own. Settles when the last part
   * was written.
   *
   * @param offsets from 0, ascending: `[9]` cuts a frame behind its header. `'each byte'`: between any two octets
   */
  cutAt(offsets: readonly number[] | 'each byte', script: () => void): Promise<void> {
    const bytes = this.#collect(script)
    const isCut = this.#cut(bytes, offsets === 'each byte' ? [...bytes.keys()] : offsets)
    this.#endBehind()
    return isCut
  }

  /**
   * Writes these octets cut at the offsets, each part in a segment of its own: a client in the same process reads them
   * one by one. An empty part is left out. What is written meanwhile goes behind them; settles when the last part was
   * written.
   *
   * @param offsets from 0, ascending: `[9]` cuts a frame behind its header
   */
  writeCut(bytes: Buffer, ...offsets: readonly number[]): Promise<void> {
    this.#note(bytes)
    const isCut = this.#cut(bytes, offsets)
    this.#goOnAfterSettings()
    return isCut
  }

  /** Writes with nothing else in between: what others write meanwhile goes behind it. Settles with the script. */
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
   * A round trip: settles when the client has heard all that was written so far, and what it said to that has come.
   *
   * @returns false where the connection closed before
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

  /** Sends SETTINGS, and calls back at their ACK, before any frame behind it is looked at. */
  announce(settings: readonly SettingsInit[], onAcknowledged: (isAcknowledged: boolean) => void): void {
    if (this.isClosed) {
      onAcknowledged(false)
      return
    }
    this.#settings.push(onAcknowledged)
    this.write(frames.settings(...toEntries(settings)))
  }

  /** GOAWAY. No rule for requests runs for streams above the last one that it names. */
  goAway(init: GoAwayInit = {}): void {
    checkNames('goAway()', init, ['lastStreamId', 'code', 'debugData', 'closes'])
    const { lastStreamId = this.newestStreamId, code = 'NO_ERROR', debugData = '' } = init
    this.write(frames.goAway(lastStreamId, toCode(code), debugData))
  }

  /** WINDOW_UPDATE: gives credit to a stream, or to the connection (0). */
  grant(streamId: number, octets: number): void {
    this.write(frames.windowUpdate(streamId, octets))
  }

  /**
   * Becomes a black hole: it reads on, and sends nothing more at any layer that a client could see.
   *
   * @param fromByte how many octets the connection may have sent at the most, with those that it has sent already: what
   *   lies behind is lost. 0: at once
   */
  fallSilent(fromByte = 0): void {
    this.#silentFrom = fromByte
  }

  /** Stops reading. What the client sends fills the buffers of both systems, and then its own. */
  pauseReading(): void {
    this.#link.pause()
    this.transport.pause()
  }

  /** Reads on. */
  resumeReading(): void {
    this.transport.resume()
    this.#link.resume()
  }

  /**
   * Closes its side of the connection (FIN, over TLS behind `close_notify`), and reads on. What is held back for one
   * segment, or is being cut, goes out before. After `fallSilent()` nothing happens.
   */
  end(): void {
    this.#isEnding = true
    this.#endBehind()
  }

  /** Breaks the connection (a TCP RST, or what a Duplex has instead). */
  break(): void {
    const { transport } = this
    if (transport instanceof Socket || transport instanceof PairedDuplex) transport.resetAndDestroy()
    else transport.destroy(new Error('The peer has broken the connection'))
  }

  /** The greatest stream id of the client's so far. */
  protected get newestStreamId(): number {
    return 0
  }

  /** The client has broken HTTP/2, or doesn't speak it. */
  protected onProblem(_problem: string): void {}

  /** A frame has come. Sees to SETTINGS and PING. */
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

  /** Does it as soon as the server's first SETTINGS are out: nothing of its own may come before them. */
  protected afterSettings(action: () => void): void {
    if (this.#hasSettings) action()
    else this.#afterSettings.push(action)
  }

  /** All whole frames of what has come together were received. */
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

  /** What a piece begins with. */
  #note({ 3: type, 4: flags = 0 }: Buffer): void {
    if (type === Type.DATA || type === Type.HEADERS) this.messagesWritten++
    if (type === Type.SETTINGS && (flags & Flag.ACK) === 0) this.#hasSettings = true
  }

  #goOnAfterSettings(): void {
    if (!this.#hasSettings || this.#afterSettings.length === 0) return
    for (const action of this.#afterSettings.splice(0)) action()
  }

  /** Closes its side, unless something has to go out before. */
  #endBehind(): void {
    if (!this.#isEnding || this.#held !== null) return
    this.#inTurn(() => {
      if (!this.isSilent) this.#link.end()
    })
  }

  /** At once, or behind what is being written alone. */
  #inTurn(action: () => void): void {
    if (this.#behind === null) action()
    else this.#behind.push(action)
  }

  /** What was written alone has ended. */
  #goOn(): void {
    const behind = this.#behind ?? []
    this.#behind = null
    for (let next = behind.shift(); next !== undefined; next = behind.shift()) {
      next()
      if (this.#isAlone(behind)) return
    }
  }

  /** Whether something is written alone again. @param behind what comes behind that, then */
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

  /** What of it may still be written. */
  #count(bytes: Buffer): Buffer {
    const part = bytes.subarray(0, this.#silentFrom - this.bytesWritten)
    this.bytesWritten += part.length
    return part
  }

  async #writePart(part: Buffer): Promise<void> {
    if (!this.#canWrite) return
    await new Promise<void>((resolve) => this.#link.write(this.#count(part), () => resolve()))
    // A turn of the event loop that polls all sockets: the first may come before the client's has had its turn.
    await setImmediate()
    await setImmediate()
  }
}
