/**
 * A client's side of one HTTP/2 connection, without the connection: bytes in, events out, and bytes to be written.
 *
 * @module
 */

import { ErrorCode } from '../core/error-codes.ts'
import type { ServerListener } from './connection-frames.ts'
import { ConnectionFrames } from './connection-frames.ts'
import type { FlowOwner, WindowSizes } from './flow-control.ts'
import { FrameReader, MAX_BLOCK_SIZE } from './frame-reader.ts'
import type { ByteSink } from './frame-writer.ts'
import { HpackDecoder } from './hpack/decoder.ts'
import { FrameBudget } from './limits.ts'
import { OpenStreams } from './open-streams.ts'
import type { OutputListener } from './output.ts'
import { Output } from './output.ts'
import { PingLedger } from './ping-ledger.ts'
import { ConnectionFault } from './protocol-error.ts'
import type { OwnSettings, ServerSettings } from './settings.ts'
import { DEFAULT_TABLE_SIZE } from './settings.ts'
import type { Http2Stream } from './stream.ts'
import { StreamFrames } from './stream-frames.ts'
import { canSend } from './stream-state.ts'

/** Who hears of a connection. */
export interface ConnectionListener extends OutputListener, ServerListener {
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

/**
 * Twice what a caller may want: so a list that the decoder doesn't keep whole is always above the caller's own limit.
 * Bytes.
 */
const MAX_LIST_SIZE = 2 * MAX_BLOCK_SIZE

/** `leaving`: GOAWAY was sent, as no more streams are opened. `over`: nothing that comes counts any more. */
type ConnectionState = 'open' | 'leaving' | 'over'

/**
 * Where the frames of a connection meet its streams. It has no socket and no timer: its owner gives it what was read,
 * and writes what it has gathered.
 */
export class ClientConnection implements FlowOwner {
  /** What the server may think of our PINGs. */
  readonly pings = new PingLedger()
  readonly #listener: ConnectionListener
  readonly #options: ConnectionOptions
  readonly #budget: FrameBudget
  readonly #output: Output
  readonly #streams: OpenStreams
  readonly #frames: ConnectionFrames
  readonly #reader: FrameReader
  #state: ConnectionState = 'open'

  constructor(options: ConnectionOptions, listener: ConnectionListener) {
    const { headerTableSize = DEFAULT_TABLE_SIZE, maxFrameSize } = options.settings
    this.#options = options
    this.#listener = listener
    this.#budget = new FrameBudget(() => listener.now())
    this.#output = new Output(listener)
    this.#streams = new OpenStreams(options.windows, this.#output, this.#budget, this)
    // Before the ACK the peer may use the protocol's own default as well.
    const decoder = new HpackDecoder(Math.max(DEFAULT_TABLE_SIZE, headerTableSize), MAX_LIST_SIZE)
    this.#frames = new ConnectionFrames(this.#streams, decoder, this.#output, this.#budget, listener)
    const streamFrames = new StreamFrames(this.#streams, decoder, this.#budget, this.pings)
    this.#reader = new FrameReader(streamFrames, this.#frames, maxFrameSize)
  }

  /** What the server's SETTINGS have said so far; the same object each time. */
  get server(): ServerSettings {
    return this.#frames.server
  }

  /** Whether it takes another stream: ids aren't used up (RFC 9113 §5.1.1), and the peer has broken no rule. */
  get isOpen(): boolean {
    return this.#state !== 'over' && this.#streams.table.hasIds
  }

  /** Bytes that the peer takes now, for all streams together. */
  get sendWindow(): number {
    return this.#streams.uploads.window
  }

  /** Bytes of responses that lie unread. */
  get held(): number {
    return this.#streams.flow.held
  }

  /** Whether there is data that its streams' windows allow for. */
  get hasUploads(): boolean {
    const { uploads } = this.#streams
    return this.#state !== 'over' && !uploads.isEmpty && uploads.window > 0
  }

  /** In how many pieces `flush()` would hand over what is framed already. */
  get pieces(): number {
    return this.#output.writer.pieces
  }

  /** The preface (RFC 9113 §3.4), and the connection's window. */
  start(): void {
    const { settings, windows } = this.#options
    this.#frames.sendPreface(settings, windows.streamWindow)
    this.#streams.flow.start()
  }

  /** Reads a chunk. Its memory is never written to again: pieces of it are handed on. */
  receive(chunk: Buffer): void {
    if (this.#state === 'over') return
    try {
      this.#reader.receive(chunk)
    } catch (thrown) {
      if (!(thrown instanceof ConnectionFault)) throw thrown
      this.stop()
      this.#output.writer.goaway(thrown.code, thrown.message)
      // Streams that end now, and callers who hear of it, may still reset, write and give credit.
      this.#output.writer.seal()
      this.#output.requestFlush()
      this.#listener.onFault(thrown)
    }
  }

  /** Frames up to `limit` bytes of data that the windows allow for. */
  frameUploads(limit: number): void {
    if (this.#state !== 'over') this.#streams.uploads.pump(limit)
  }

  /** Hands over what is framed. */
  flush(sink: ByteSink): void {
    this.#budget.clearAcks()
    this.#output.flush(sink)
  }

  /**
   * Opens a stream and sends its header.
   *
   * @param fields pseudo-headers first, checked, in lower case
   * @param isEnd nothing follows
   * @param sensitive names of further fields that are never put into a table (RFC 7541 §7.1.3); null for none
   * @throws InvalidArgumentError for fields that can't be encoded. Nothing has changed then: there is no such stream.
   */
  open(
    stream: Http2Stream,
    fields: readonly string[],
    isEnd: boolean,
    sensitive: ReadonlySet<string> | null,
  ): void {
    // First, as it may throw.
    this.#output.writer.headers(this.#streams.table.nextId, fields, isEnd, sensitive)
    this.#streams.open(stream, isEnd, this.#frames.server.initialWindowSize)
    this.#budget.earn()
    this.#output.requestFlush()
  }

  /** Sends a piece of data as soon as its turn comes; `onSent` tells. One at a time. */
  send(stream: Http2Stream, piece: Uint8Array, isLast: boolean): void {
    if (!canSend(stream.state)) return
    stream.piece = piece
    stream.pieceOffset = 0
    stream.isLastPiece = isLast
    this.#streams.uploads.add(stream)
    if (isLast || piece.length >= SMALL_PIECE) this.#output.requestFlush()
    else this.#output.requestPatientFlush()
  }

  /** Ends our side with trailers. @param sensitive as for `open()` @throws InvalidArgumentError as `open()` does */
  sendTrailers(
    stream: Http2Stream,
    fields: readonly string[],
    sensitive: ReadonlySet<string> | null = null,
  ): void {
    if (!canSend(stream.state)) return
    this.#output.writer.headers(stream.id, fields, true, sensitive)
    this.#output.requestFlush()
    this.#streams.endLocal(stream)
  }

  /** Sends RST_STREAM, where the stream isn't closed already; it hears nothing more. */
  reset(stream: Http2Stream, code: number): void {
    stream.isAbandoned = true
    if (stream.state !== 'closed' && stream.state !== 'idle') this.#streams.reset(stream, code)
  }

  /** The rest of either body isn't wanted any more; the stream stays open until it is reset, or ends. */
  abandon(stream: Http2Stream): void {
    stream.isAbandoned = true
    this.#streams.uploads.delete(stream)
  }

  /** A piece of data was read as it came. */
  consume(stream: Http2Stream, bytes: number): void {
    this.#streams.flow.consume(stream, bytes)
  }

  /** A piece of data lies unread. */
  hold(stream: Http2Stream, bytes: number): void {
    this.#streams.flow.hold(stream, bytes)
  }

  /** What lay unread was read, or thrown away. */
  release(stream: Http2Stream, bytes: number): void {
    this.#streams.flow.release(stream, bytes)
  }

  /** Another priority of a stream that is open (RFC 9218 §7.1). @param value of the `priority` field */
  reprioritize(stream: Http2Stream, value: string): void {
    if (stream.state === 'closed' || stream.state === 'idle') return
    this.#output.writer.priorityUpdate(stream.id, value)
    this.#output.requestFlush()
  }

  /** RFC 9113 §6.7. @param onAck isn't called when the connection ends first */
  ping(onAck: () => void): void {
    this.#frames.sendPing(onAck)
  }

  /** Another window for all streams, in bytes. @param onAck isn't called when the connection ends first */
  setStreamWindow(size: number, onAck: () => void): void {
    this.#frames.sendStreamWindow(size, onAck)
  }

  /**
   * The connection's own receive window becomes larger.
   *
   * @param size in bytes; a smaller one than before changes nothing
   */
  growWindow(size: number): void {
    this.#streams.flow.growConnection(size)
  }

  /** We open no more streams (RFC 9113 §6.8). Said once, and not after a connection error. */
  goaway(): void {
    if (this.#state !== 'open') return
    this.#state = 'leaving'
    this.#output.writer.goaway(ErrorCode.NO_ERROR, '')
    this.#output.requestFlush()
  }

  /** The socket is gone, or the peer has broken the protocol: nothing that is read counts any more. */
  stop(): void {
    this.#state = 'over'
    this.#reader.stop()
  }

  now(): number {
    return this.#listener.now()
  }

  onBandwidth(bytes: number): void {
    this.#listener.onBandwidth(bytes)
  }
}
