/**
 * A client's side of one HTTP/2 connection, without the connection: bytes in, events out, and bytes to be written.
 *
 * @module
 */

import { ErrorCode } from '../core/error-codes.ts'
import type { WindowSizes } from './flow-control.ts'
import type { FrameListener } from './frame-reader.ts'
import { FrameReader } from './frame-reader.ts'
import type { ByteSink } from './frame-writer.ts'
import { ConnectionFault, protocolError } from './protocol-error.ts'
import { SentPings } from './sent-pings.ts'
import { SentSettings } from './sent-settings.ts'
import type { OwnSettings, ServerSettings } from './settings.ts'
import { DEFAULT_TABLE_SIZE, toSettingList, toWindowSetting } from './settings.ts'
import type { Http2Stream } from './stream.ts'
import { StreamFrames } from './stream-frames.ts'
import { afterLocalEnd, canSend } from './stream-state.ts'

/** Who hears of a connection. */
export interface ConnectionListener {
  /**
   * Something waits for `flush()`. Said once for each kind of hurry, until that is called.
   *
   * @param isPatient whether it may wait a little: more of the same is likely to come
   */
  onOutput(isPatient: boolean): void
  /** The server's SETTINGS have come, or changed; the same object each time. */
  onSettings(settings: ServerSettings): void
  /** Before the streams above `lastStreamId` hear that they were refused. */
  onGoaway(code: number, lastStreamId: number, debugData: Buffer | null): void
  /** The peer has broken the protocol. GOAWAY waits for `flush()`; nothing more is told. */
  onFault(fault: ConnectionFault): void
  /** Streams may go faster with windows of that many bytes: what the path holds was measured. */
  onBandwidth(bytes: number): void
  /** Milliseconds since some fixed point, never going back. */
  now(): number
}

/** What a connection is made with. */
export interface ConnectionOptions {
  readonly settings: OwnSettings
  readonly windows: WindowSizes
}

/** A piece below this size makes a frame that may be worth waiting for another piece. Bytes. */
const SMALL_PIECE = 16_384

/** To look at so many streams costs a peer as much as a frame that brings nothing. */
const STREAMS_A_TOKEN = 64

/**
 * Where the frames of a connection meet its streams. It has no socket and no timer: somebody gives it what was read, and writes
 * what it has gathered.
 */
export class ClientConnection extends StreamFrames implements FrameListener {
  readonly #listener: ConnectionListener
  readonly #options: ConnectionOptions
  readonly #reader: FrameReader
  readonly #sentSettings = new SentSettings()
  readonly #sentPings = new SentPings()
  #lastGoaway = Number.POSITIVE_INFINITY
  #isAwake = false
  /** Awake, but patient. */
  #isDozing = false
  #isOver = false
  /** GOAWAY is out. */
  #isLeaving = false

  constructor(options: ConnectionOptions, listener: ConnectionListener) {
    const { headerTableSize = DEFAULT_TABLE_SIZE, maxFrameSize } = options.settings
    // Before the ACK the peer may use the protocol's own default as well.
    super(Math.max(DEFAULT_TABLE_SIZE, headerTableSize), options.windows, () => listener.now())
    this.#options = options
    this.#listener = listener
    this.#reader = new FrameReader(this, maxFrameSize)
  }

  /** Whether it takes another stream: ids aren't used up (RFC 9113 §5.1.1), and the peer has broken no rule. */
  get isOpen(): boolean {
    return !this.#isOver && this.streams.hasIds
  }

  /** Bytes that the peer takes now, for all streams together. */
  get sendWindow(): number {
    return this.uploads.window
  }

  /** Bytes of responses that lie unread. */
  get held(): number {
    return this.flow.held
  }

  /** Whether there is data that its streams' windows allow for. */
  get hasUploads(): boolean {
    return !this.#isOver && !this.uploads.isEmpty && this.uploads.window > 0
  }

  /** In how many pieces `flush()` would hand over what is framed already. */
  get pieces(): number {
    return this.writer.pieces
  }

  /** The preface (RFC 9113 §3.4), SETTINGS, and the connection's window. */
  start(): void {
    const { settings, windows } = this.#options
    const { headerTableSize = DEFAULT_TABLE_SIZE } = settings
    this.writer.preface()
    this.writer.settings(toSettingList(settings, windows.streamWindow))
    this.#sentSettings.add({ headerTableSize, streamWindow: windows.streamWindow, onAck: null })
    this.flow.start()
    this.wake()
  }

  /** Reads a chunk. Nobody may write to it afterwards: pieces of it are handed on. */
  receive(chunk: Buffer): void {
    if (this.#isOver) return
    try {
      this.#reader.receive(chunk)
    } catch (thrown) {
      if (!(thrown instanceof ConnectionFault)) throw thrown
      this.#end()
      this.writer.goaway(thrown.code, thrown.message)
      // Streams that end now, and callers who hear of it, may still reset, write and give credit.
      this.writer.seal()
      this.wake()
      this.#listener.onFault(thrown)
    }
  }

  /** Frames up to `limit` bytes of data that the windows allow for. */
  frameUploads(limit: number): void {
    if (!this.#isOver) this.uploads.pump(limit)
  }

  /** Hands over what is framed. */
  flush(sink: ByteSink): void {
    this.#isAwake = false
    this.#isDozing = false
    this.budget.clearAcks()
    this.writer.flush(sink)
  }

  /**
   * Opens a stream and sends its header.
   *
   * @param fields pseudo-headers first, checked, in lower case
   * @param isEnd nothing follows
   * @param sensitive names of further fields that nobody may put into a table (RFC 7541 §7.1.3); null for none
   * @throws InvalidArgumentError for fields that can't be encoded. Nothing has changed then: there is no such stream.
   */
  open(
    stream: Http2Stream,
    fields: readonly string[],
    isEnd: boolean,
    sensitive: ReadonlySet<string> | null,
  ): void {
    // First, as it may throw.
    this.writer.headers(this.streams.nextId, fields, isEnd, sensitive)
    this.streams.add(stream)
    stream.state = isEnd ? 'half-closed (local)' : 'open'
    stream.sendWindow = this.server.initialWindowSize
    this.flow.open(stream)
    this.budget.earn()
    this.wake()
  }

  /** Sends a piece of data as soon as its turn comes; `onSent` tells. One at a time. */
  send(stream: Http2Stream, piece: Uint8Array, isLast: boolean): void {
    if (!canSend(stream.state)) return
    stream.piece = piece
    stream.pieceOffset = 0
    stream.isLastPiece = isLast
    this.uploads.add(stream)
    if (isLast || piece.length >= SMALL_PIECE) this.wake()
    else if (!this.#isAwake && !this.#isDozing) {
      this.#isDozing = true
      this.#listener.onOutput(true)
    }
  }

  /** Ends our side with trailers. @param sensitive as for `open()` @throws InvalidArgumentError as `open()` does */
  sendTrailers(
    stream: Http2Stream,
    fields: readonly string[],
    sensitive: ReadonlySet<string> | null = null,
  ): void {
    if (!canSend(stream.state)) return
    this.writer.headers(stream.id, fields, true, sensitive)
    this.wake()
    stream.state = afterLocalEnd(stream.state)
    this.onLocalEnd(stream)
  }

  /** Sends RST_STREAM, where the stream isn't closed already; it hears nothing more. */
  reset(stream: Http2Stream, code: number): void {
    stream.isAbandoned = true
    if (stream.state === 'closed' || stream.state === 'idle') return
    this.writer.reset(stream.id, code)
    this.wake()
    this.close(stream, false)
  }

  /** Nobody wants the rest, of either body; the stream stays open until it is reset, or ends. */
  abandon(stream: Http2Stream): void {
    stream.isAbandoned = true
    this.uploads.delete(stream)
  }

  /** A piece of data was read as it came. */
  consume(stream: Http2Stream, bytes: number): void {
    this.flow.consume(stream, bytes)
  }

  /** A piece of data lies unread. */
  hold(stream: Http2Stream, bytes: number): void {
    this.flow.hold(stream, bytes)
  }

  /** What lay unread was read, or thrown away. */
  release(stream: Http2Stream, bytes: number): void {
    this.flow.release(stream, bytes)
  }

  /** Another priority of a stream that is open (RFC 9218 §7.1). @param value of the `priority` field */
  reprioritize(stream: Http2Stream, value: string): void {
    if (stream.state === 'closed' || stream.state === 'idle') return
    this.writer.priorityUpdate(stream.id, value)
    this.wake()
  }

  /** RFC 9113 §6.7. @param onAck isn't called when the connection ends first */
  ping(onAck: () => void): void {
    this.writer.ping(0, this.#sentPings.add(onAck), false)
    this.wake()
  }

  /** Another window for all streams, in bytes. @param onAck isn't called when the connection ends first */
  setStreamWindow(size: number, onAck: () => void): void {
    this.writer.settings(toWindowSetting(size))
    this.flow.announce(size, this.streams.values())
    this.#sentSettings.add({ headerTableSize: null, streamWindow: size, onAck })
    this.wake()
  }

  /** We open no more streams (RFC 9113 §6.8). Said once, and not after we have complained. */
  goaway(): void {
    if (this.#isOver || this.#isLeaving) return
    this.#isLeaving = true
    this.writer.goaway(ErrorCode.NO_ERROR, '')
    this.wake()
  }

  /** The socket is gone: nothing that is read counts any more. */
  stop(): void {
    this.#end()
  }

  #end(): void {
    this.#isOver = true
    this.#reader.stop()
  }

  wake(): void {
    if (this.#isAwake) return
    this.#isAwake = true
    this.#listener.onOutput(false)
  }

  now(): number {
    return this.#listener.now()
  }

  onBandwidth(bytes: number): void {
    this.#listener.onBandwidth(bytes)
  }

  onSettings(bytes: Buffer, start: number, end: number): void {
    this.budget.spend()
    this.budget.addAck()
    const { initialWindowSize } = this.server
    const smallestTable = this.server.apply(bytes, start, end)
    if (smallestTable !== -1) {
      // RFC 7541 §4.2: the smallest size in between has to be told as well.
      this.encoder.setMaxTableSize(smallestTable)
      this.encoder.setMaxTableSize(this.server.headerTableSize)
    }
    this.writer.maxFrameSize = this.server.maxFrameSize
    const change = this.server.initialWindowSize - initialWindowSize
    if (change !== 0) {
      // Each stream is looked at.
      this.budget.spend(this.streams.size / STREAMS_A_TOKEN)
      this.moveSendWindows(change)
    }
    // RFC 9113 §6.5.3: once all of it counts.
    this.writer.settingsAck()
    this.wake()
    this.#listener.onSettings(this.server)
  }

  onSettingsAck(): void {
    const { headerTableSize, streamWindow, onAck } = this.#sentSettings.acknowledge()
    if (headerTableSize !== null) this.decoder.setTableSize(headerTableSize)
    this.flow.acknowledge(streamWindow, this.streams.values())
    onAck?.()
  }

  onPing(bytes: Buffer, start: number, isAck: boolean): void {
    const low = bytes.readUInt32BE(start + 4)
    if (isAck) {
      // An ACK of a PING that was never sent: harmless, but charged to the peer's budget.
      if (!this.#sentPings.acknowledge(low)) this.budget.spend()
      return
    }
    this.budget.spend()
    this.budget.addAck()
    this.writer.ping(bytes.readUInt32BE(start), low, true)
    this.wake()
  }

  onGoaway(lastStreamId: number, code: number, debugData: Buffer | null): void {
    this.budget.spend()
    if (lastStreamId > this.#lastGoaway)
      protocolError('The last stream of a GOAWAY was raised (RFC 9113 §6.8)')
    const isNews = lastStreamId < this.#lastGoaway
    this.#lastGoaway = lastStreamId
    this.#listener.onGoaway(code, lastStreamId, debugData)
    if (!isNews) return
    for (const stream of this.streams.above(lastStreamId)) {
      if (stream.state === 'closed') continue
      this.close(stream, false)
      if (!stream.isAbandoned) stream.listener.onRefused()
    }
  }

  onIgnored(): void {
    this.budget.spend()
  }
}
