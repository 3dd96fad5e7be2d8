/**
 * The client's side of one HTTP/2 connection, without its socket: bytes in, events out, and bytes to write.
 *
 * @module
 */

import { ErrorCode } from '../errors/error-codes.ts'
import { toUrgency } from '../request/priority.ts'
import { getField } from '../request/wire-headers.ts'
import type { ServerListener } from './connection-frames.ts'
import { ConnectionFrames } from './connection-frames.ts'
import { MAX_BLOCK_SIZE } from './field-block.ts'
import type { ReceiveFlow } from './flow-control.ts'
import { FrameReader } from './frame-reader.ts'
import type { ByteSink } from './frame-writer.ts'
import { HpackDecoder } from './hpack/decoder.ts'
import { FrameBudget } from './limits.ts'
import { OpenStreams } from './open-streams.ts'
import type { OutputListener } from './output.ts'
import { Output } from './output.ts'
import { PingLedger } from './ping-ledger.ts'
import { ConnectionFault } from './protocol-error.ts'
import type { ReceiveWindows } from './receive-windows.ts'
import type { OwnSettings, ServerSettings } from './settings.ts'
import { DEFAULT_TABLE_SIZE } from './settings.ts'
import type { Http2Stream } from './stream.ts'
import { StreamUpload } from './stream.ts'
import { StreamFrames } from './stream-frames.ts'
import { canSend } from './stream-state.ts'

/** Is told about a connection's events. */
export interface ConnectionListener extends OutputListener, ServerListener {
  /**
   * A connection error (RFC 9113 §5.4.1): the peer has violated the protocol. GOAWAY waits for `flush()`; this is the
   * last call to the listener about received frames.
   */
  onFault(fault: ConnectionFault): void
  /** Milliseconds since some fixed point. It never goes back. */
  now(): number
}

/** A connection's options. */
export interface ConnectionOptions {
  readonly settings: OwnSettings
  readonly windows: ReceiveWindows
}

/** A piece below this size, in bytes, waits a little for the next one, because one write may take both. */
const SMALL_PIECE = 16_384

/**
 * The decoder's limit for a field section, in bytes: what remains of a section that is cut off here is above the
 * caller's largest limit. In the Huffman code, the field that is cut off may decode to 8/5 of its block's size, and the
 * caller's limit is a block's size.
 */
const MAX_LIST_SIZE = 3 * MAX_BLOCK_SIZE

/**
 * - `open`: streams may be opened
 * - `closing`: we have sent GOAWAY with NO_ERROR, and open no more streams
 * - `over`: the socket is gone, or there was a connection error; incoming bytes are ignored
 */
type ConnectionState = 'open' | 'closing' | 'over'

/**
 * Passes a connection's frames to its streams. It has no socket and no timer: the owner passes in the bytes that were
 * read, and writes the bytes that `flush()` provides.
 */
export class ClientConnection {
  /** The PINGs that we have sent, counted as a server counts them. */
  readonly pings = new PingLedger()
  /** Is told what happens to received data, and returns its credit. */
  readonly flow: ReceiveFlow
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
    const now = (): number => listener.now()
    this.#budget = new FrameBudget(now, options.windows.mostUnderWay)
    this.#output = new Output(listener)
    this.#streams = new OpenStreams(options.windows, this.#output, this.#budget, this.pings, now)
    this.flow = this.#streams.flow
    // Until it acknowledges, the peer may use the protocol's default table size, too.
    const decoder = new HpackDecoder(Math.max(DEFAULT_TABLE_SIZE, headerTableSize), MAX_LIST_SIZE)
    this.#frames = new ConnectionFrames(
      options.windows,
      this.#streams,
      decoder,
      this.#output,
      this.#budget,
      listener,
    )
    const streamFrames = new StreamFrames(this.#streams, decoder, this.#budget, this.pings)
    this.#reader = new FrameReader(streamFrames, this.#frames, maxFrameSize)
  }

  /** The server's SETTINGS so far; the same object each time. */
  get server(): ServerSettings {
    return this.#frames.server
  }

  /** Whether another stream can be opened: ids aren't used up (RFC 9113 §5.1.1), and the connection isn't over. */
  get canTake(): boolean {
    return this.#state !== 'over' && this.#streams.table.hasIds
  }

  /** The highest stream that the server has evidently accepted, because it sent a frame on it; 0 for none. */
  get lastAcceptedId(): number {
    return this.#streams.table.lastAcceptedId
  }

  /** The connection's send window: the bytes that the peer accepts now, for all streams together. */
  get sendWindow(): number {
    return this.#streams.uploads.window
  }

  /** Whether no more bodies can be sent, because streams that have ended occupy the send window. */
  get isShut(): boolean {
    return this.#streams.uploads.isShut
  }

  /** Whether there is data to send that the connection window and the stream windows allow. */
  get hasUploads(): boolean {
    const { uploads } = this.#streams
    return this.#state !== 'over' && uploads.canSend
  }

  /** The number of pieces in which `flush()` would pass on the waiting frames. */
  get pieces(): number {
    return this.#output.writer.pieces
  }

  /** Sends the connection preface (RFC 9113 §3.4), and opens the connection window. */
  start(): void {
    this.#frames.sendPreface(this.#options.settings)
    this.flow.start()
  }

  /** Reads a chunk from the socket. The caller must not write to its memory again: listeners get pieces of it. */
  receive(chunk: Buffer): void {
    if (this.#state === 'over') return
    try {
      this.#reader.receive(chunk)
    } catch (thrown) {
      if (!(thrown instanceof ConnectionFault)) throw thrown
      this.stop()
      this.#output.writer.goaway(thrown.code, thrown.message)
      // Streams that end now, and callers who are told, may still reset, write and give credit: none of that may follow
      // the GOAWAY.
      this.#output.writer.seal()
      this.#output.requestFlush()
      this.#listener.onFault(thrown)
    }
  }

  /** Creates DATA frames of up to `limit` bytes, as far as the windows allow. */
  frameUploads(limit: number): void {
    if (this.#state !== 'over') this.#streams.uploads.pump(limit)
  }

  /** Passes all waiting frames to the sink. */
  flush(sink: ByteSink): void {
    this.#budget.clearAcks()
    this.#output.flush(sink)
  }

  /** An upload will begin in the next turn of the event loop. {@link onUploadTurn} follows. */
  expectUpload(): void {
    this.#output.expectUpload()
  }

  /** The turn of an expected upload has come. One write takes the frames of all uploads in a turn. */
  onUploadTurn(): void {
    this.#output.onUploadTurn()
  }

  /**
   * Opens a stream and sends the request's header section.
   *
   * @param fields the pseudo-header fields first, all of them checked, names in lower case
   * @param isEnd whether END_STREAM goes with it, because neither content nor trailers follow
   * @param sensitive names of additional fields that are sent never-indexed (RFC 7541 §7.1.3); null for none
   * @throws InvalidArgumentError for fields that can't be encoded. Then nothing has changed: the stream is still idle.
   */
  open(
    stream: Http2Stream,
    fields: readonly string[],
    isEnd: boolean,
    sensitive: ReadonlySet<string> | null,
  ): void {
    // The only step that may throw comes first.
    this.#output.writer.headers(this.#streams.table.nextId, fields, isEnd, sensitive)
    this.#streams.open(stream, isEnd, this.#frames.server.initialWindowSize)
    if (!isEnd) stream.upload = new StreamUpload(stream, toUrgency(getField(fields, 'priority')))
    this.#budget.earn()
    this.#output.requestFlush()
  }

  /**
   * Queues a piece of data, to be sent when the windows and the other streams allow. `onSent` says when. Pass one piece
   * at a time: the next one after `onSent(true)`.
   */
  send(stream: Http2Stream, piece: Uint8Array, isLast: boolean): void {
    const { upload } = stream
    if (upload === null || upload.isDropped || !canSend(stream.state)) return
    upload.piece = piece
    upload.pieceSize = piece.length
    upload.pieceOffset = 0
    upload.isLastPiece = isLast
    this.#streams.uploads.add(stream)
    if (isLast || piece.length >= SMALL_PIECE) this.#output.requestFlush()
    else this.#output.requestPatientFlush()
  }

  /**
   * Sends the trailer section, with END_STREAM.
   *
   * @param sensitive as for `open()`
   * @throws InvalidArgumentError as `open()` does
   */
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

  /** Abandons the stream, and sends RST_STREAM unless the stream is idle or closed. */
  reset(stream: Http2Stream, code: number): void {
    stream.isCancelled = true
    if (stream.state !== 'closed' && stream.state !== 'idle') this.#streams.reset(stream, code)
  }

  /** The caller doesn't need more of either body. The stream stays open until it is reset, or ends. */
  cancel(stream: Http2Stream): void {
    stream.isCancelled = true
    this.#streams.cancelUpload(stream)
  }

  /**
   * Sends another priority for an open stream (RFC 9218 §7.1).
   *
   * @param value the `priority` field's value
   */
  reprioritize(stream: Http2Stream, value: string): void {
    if (stream.state === 'closed' || stream.state === 'idle') return
    this.#streams.uploads.setUrgency(stream, toUrgency(value))
    this.#output.writer.priorityUpdate(stream.id, value)
    this.#output.requestFlush()
  }

  /**
   * Sends a PING (RFC 9113 §6.7).
   *
   * @param onAck isn't called if the connection ends first
   */
  ping(onAck: () => void): void {
    this.#output.ping(onAck)
  }

  /** Announces the window sizes that have changed. */
  sendWindows(): void {
    this.flow.announce()
  }

  /**
   * Sends GOAWAY with NO_ERROR: we open no more streams (RFC 9113 §6.8). Only once, and not after a connection error.
   */
  goaway(): void {
    if (this.#state !== 'open') return
    this.#state = 'closing'
    this.#output.writer.goaway(ErrorCode.NO_ERROR, '')
    this.#output.requestFlush()
  }

  /** The socket is gone, or there was a connection error: incoming bytes are ignored from now on. */
  stop(): void {
    this.#state = 'over'
    this.#reader.stop()
  }
}
