/** One end of a connection that speaks HTTP/2 by the frame, whatever is beneath: it keeps nothing of what comes. */

import { Socket } from 'node:net'
import type { Duplex } from 'node:stream'
import { setImmediate } from 'node:timers/promises'
import { PairedDuplex } from './duplex-pair.ts'
import type { Frame, SettingsEntry } from './frames.ts'
import { Flag, FrameParser, frames, Type } from './frames.ts'

/**
 * A server's side: it reads frames, acknowledges SETTINGS and PINGs, and writes at once, whether that is legal or not.
 * What extends it sees to all other frames in {@link FrameConnection.receive}.
 */
export class FrameConnection {
  /** Beneath HTTP/2, and beneath TLS where there is any. */
  readonly transport: Duplex
  /** Whether a PING is acknowledged. */
  acksPings = true
  /** The client has closed its side, properly. */
  hasEnded = false
  /** The transport is gone. */
  isClosed = false

  /** What HTTP/2 is read from and written to. */
  readonly #link: Duplex
  readonly #pings: (() => void)[] = []
  /** What to do at each ACK of SETTINGS. */
  readonly #settings: (() => void)[] = []
  #isSilent = false
  #hasSettings = false
  /** SETTINGS of the client's that came before the peer had sent its own. */
  #unacknowledged = 0

  /** @param link the TLS on top of the transport, where there is any */
  constructor(transport: Duplex, link: Duplex = transport) {
    this.transport = transport
    this.#link = link
    // Each write is a packet, at once.
    if (transport instanceof Socket) transport.setNoDelay(true)
    const parser = new FrameParser((frame) => this.receive(frame))
    for (const each of new Set<Duplex>([transport, link])) each.on('error', () => {})
    link.on('data', (bytes: Buffer) => {
      parser.push(bytes)
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

  /** Whether nothing more is said, by {@link FrameConnection.fallSilent}. */
  protected get isSilent(): boolean {
    return this.#isSilent
  }

  /** The peer's first SETTINGS are out: before them it may send nothing else (RFC 9113 §3.4). */
  protected get hasSettings(): boolean {
    return this.#hasSettings
  }

  /** In one segment, unless there is too much for one. */
  write(...pieces: readonly Buffer[]): void {
    if (this.#canWrite) this.#link.write(Buffer.concat(pieces))
  }

  /**
   * Writes these octets cut at the offsets, each part in a segment of its own: a client in the same process reads them
   * one by one. An empty part is left out. With nothing else written meanwhile; settles when the last part was written.
   *
   * @param offsets from 0, ascending: `[9]` cuts a frame behind its header
   */
  async writeCut(bytes: Buffer, ...offsets: readonly number[]): Promise<void> {
    let start = 0
    for (const end of [...offsets, bytes.length]) {
      const part = bytes.subarray(start, end)
      start = Math.max(start, end)
      if (part.length > 0 && this.#canWrite) await this.#writePart(part)
    }
  }

  /** A round trip: settles when the client has heard all that was written so far, and what it said to that has come. */
  ping(): Promise<void> {
    return new Promise((resolve) => {
      this.#pings.push(resolve)
      this.write(frames.ping())
    })
  }

  /** Sends SETTINGS, and calls `onAcknowledged` at their ACK, before any frame behind it is looked at. */
  announce(entries: readonly SettingsEntry[], onAcknowledged: () => void): void {
    this.#hasSettings = true
    this.#settings.push(onAcknowledged)
    this.write(frames.settings(...entries))
    for (; this.#unacknowledged > 0; this.#unacknowledged--) this.write(frames.settingsAck())
  }

  goAway(lastStreamId: number, code: number, debugData = ''): void {
    this.write(frames.goAway(lastStreamId, code, debugData))
  }

  /** Gives credit to a stream, or to the connection (0). */
  grant(streamId: number, octets: number): void {
    this.write(frames.windowUpdate(streamId, octets))
  }

  /** Becomes a black hole: it reads on, and sends nothing more at any layer that a client could see. */
  fallSilent(): void {
    this.#isSilent = true
  }

  /** Closes its side of the connection (FIN), and reads on. */
  end(): void {
    this.#link.end()
  }

  /** Breaks the connection (a TCP RST, or what a Duplex has instead). */
  break(): void {
    const { transport } = this
    if (transport instanceof Socket || transport instanceof PairedDuplex) transport.resetAndDestroy()
    else transport.destroy(new Error('The peer has broken the connection'))
  }

  /** A frame has come. Sees to SETTINGS and PING. */
  protected receive({ type, flags, payload }: Frame): void {
    const isAck = (flags & Flag.ACK) !== 0
    if (type === Type.SETTINGS) {
      if (isAck) this.#settings.shift()?.()
      else if (this.#hasSettings) this.write(frames.settingsAck())
      else this.#unacknowledged++
    } else if (type === Type.PING) {
      if (isAck) this.#pings.shift()?.()
      else if (this.acksPings) this.write(frames.ping(payload, Flag.ACK))
    }
  }

  /** All whole frames of what has come together were received. */
  protected onRead(): void {}

  protected onEnd(): void {
    this.hasEnded = true
  }

  protected onClose(): void {
    this.isClosed = true
  }

  get #canWrite(): boolean {
    return !this.#isSilent && this.#link.writable
  }

  async #writePart(part: Buffer): Promise<void> {
    // An error of the transport closes it: that is told by its events.
    await new Promise<void>((resolve) => this.#link.write(part, () => resolve()))
    // A turn of the event loop that polls all sockets: the first may come before the client's has had its turn.
    await setImmediate()
    await setImmediate()
  }
}
