/**
 * The connection's own frames: SETTINGS, PING, GOAWAY, ORIGIN, and WINDOW_UPDATE on stream 0.
 *
 * @module
 */

import { ErrorCode } from '../errors/error-codes.ts'
import type { ConnectionFrameListener } from './frame-reader.ts'
import { MAX_WINDOW } from './frames.ts'
import type { HpackDecoder } from './hpack/decoder.ts'
import type { FrameBudget } from './limits.ts'
import type { OpenStreams } from './open-streams.ts'
import type { Output } from './output.ts'
import { ConnectionFault, protocolError } from './protocol-error.ts'
import type { ReceiveWindows } from './receive-windows.ts'
import type { OwnSettings } from './settings.ts'
import { DEFAULT_TABLE_SIZE, ServerSettings, toSettingList } from './settings.ts'

/** Is told about the frames in which the server speaks about the connection. */
export interface ServerListener {
  /**
   * The server's SETTINGS have arrived or changed.
   *
   * @param settings the same object each time
   */
  onSettings(settings: ServerSettings): void
  /** GOAWAY has arrived. Called before the streams above `lastStreamId` are told that they were refused. */
  onGoaway(code: number, lastStreamId: number, debugData: Buffer | null): void
  /** WINDOW_UPDATE for the connection has arrived. */
  onCredit(): void
  /**
   * ORIGIN has arrived (RFC 8336).
   *
   * @param origins as the server writes them: 128 at most
   */
  onOrigins(origins: readonly string[]): void
}

/** Sends the connection's own frames, and handles those that the reader finds on stream 0. */
export class ConnectionFrames implements ConnectionFrameListener {
  /** The server's SETTINGS so far. */
  readonly server = new ServerSettings()
  readonly #windows: ReceiveWindows
  readonly #streams: OpenStreams
  readonly #decoder: HpackDecoder
  readonly #output: Output
  readonly #budget: FrameBudget
  readonly #listener: ServerListener
  /** The last stream id of the latest GOAWAY; Infinity before the first. */
  #lastGoaway = Number.POSITIVE_INFINITY

  constructor(
    windows: ReceiveWindows,
    streams: OpenStreams,
    decoder: HpackDecoder,
    output: Output,
    budget: FrameBudget,
    listener: ServerListener,
  ) {
    this.#windows = windows
    this.#streams = streams
    this.#decoder = decoder
    this.#output = output
    this.#budget = budget
    this.#listener = listener
  }

  /** Sends the preface, which includes the first SETTINGS (RFC 9113 §3.4). */
  sendPreface(settings: OwnSettings): void {
    const { headerTableSize = DEFAULT_TABLE_SIZE } = settings
    const { streamWindow } = this.#windows
    this.#output.writer.preface()
    this.#output.writer.settings(toSettingList(settings, streamWindow))
    this.#output.sentSettings.add({ headerTableSize, streamWindow })
    this.#output.requestFlush()
  }

  onSettings(bytes: Buffer, start: number, end: number): void {
    this.#budget.spend()
    this.#budget.addAck()
    const { server } = this
    const { encoder, writer } = this.#output
    const { initialWindowSize } = server
    const smallestTable = server.apply(bytes, start, end)
    if (smallestTable !== -1) {
      // RFC 7541 §4.2: the smallest size in between must be announced, too.
      encoder.setMaxTableSize(smallestTable)
      encoder.setMaxTableSize(server.headerTableSize)
    }
    writer.maxFrameSize = server.maxFrameSize
    const change = server.initialWindowSize - initialWindowSize
    if (change !== 0) {
      // The change affects each stream, so the frame costs more.
      this.#budget.spendPass(this.#streams.table.passSize)
      this.#streams.moveSendWindows(change)
    }
    // RFC 9113 §6.5.3: the ACK is sent once all settings are in force.
    writer.settingsAck()
    this.#output.requestFlush()
    this.#listener.onSettings(server)
  }

  onSettingsAck(): void {
    const { headerTableSize, streamWindow } = this.#output.sentSettings.acknowledge()
    if (headerTableSize === null) {
      this.#windows.acknowledge(streamWindow)
    } else {
      this.#decoder.setTableSize(headerTableSize)
      this.#streams.flow.onFirstAck()
    }
  }

  onPing(bytes: Buffer, start: number, isAck: boolean): void {
    const low = bytes.readUInt32BE(start + 4)
    if (isAck) {
      // An ACK of a PING that was never sent is harmless, but charged to the peer's budget.
      if (!this.#output.sentPings.acknowledge(low)) this.#budget.spend()
      return
    }
    this.#budget.spend()
    this.#budget.addAck()
    this.#output.writer.ping(bytes.readUInt32BE(start), low, true)
    this.#output.requestFlush()
  }

  onGoaway(lastStreamId: number, code: number, debugData: Buffer | null): void {
    this.#budget.spend()
    if (lastStreamId > this.#lastGoaway)
      protocolError('A later GOAWAY raised the last stream id (RFC 9113 §6.8)')
    const isNews = lastStreamId < this.#lastGoaway
    if (isNews) this.#budget.spendPass(this.#streams.table.passSize)
    this.#lastGoaway = lastStreamId
    this.#listener.onGoaway(code, lastStreamId, debugData)
    if (!isNews) return
    for (const stream of this.#streams.table.above(lastStreamId)) {
      if (stream.state === 'closed') continue
      this.#streams.close(stream, false)
      if (!stream.isCancelled) stream.listener.onRefused()
    }
  }

  onConnectionWindowUpdate(increment: number): void {
    if (increment === 0) protocolError('The peer enlarged the connection window by 0 (RFC 9113 §6.9)')
    const { uploads } = this.#streams
    uploads.grantAll(increment, this.#budget.spendUpdate(increment, uploads.unreturned))
    if (uploads.window > MAX_WINDOW) {
      const message = 'The peer enlarged the connection window beyond 2^31-1 (RFC 9113 §6.9.1)'
      throw new ConnectionFault(ErrorCode.FLOW_CONTROL_ERROR, message)
    }
    if (uploads.canSend) this.#output.requestFlush()
    this.#listener.onCredit()
  }

  onOrigins(origins: readonly string[], size: number): void {
    this.#budget.spendIgnored(size)
    this.#listener.onOrigins(origins)
  }

  onIgnored(size: number): void {
    this.#budget.spendIgnored(size)
  }
}
