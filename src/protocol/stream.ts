/**
 * A stream, as its connection knows it.
 *
 * @module
 */

import type { StreamState } from './stream-state.ts'

/**
 * How much of the response has arrived (RFC 9113 §8.1):
 *
 * - `none`: no final response yet; informational responses may arrive
 * - `header`: the final response's header section has arrived
 * - `whole`: END_STREAM has arrived
 */
export type ResponsePhase = 'none' | 'header' | 'whole'

/**
 * What DATA frames contain:
 *
 * - `content`: the response's content
 * - `none`: there is no content, because of the status or the request's method (RFC 9110 §6.4.1): only empty frames may
 *   arrive
 * - `tunnel`: what the tunnel carries: nothing but DATA may arrive (RFC 9113 §8.5)
 */
export type ResponseData = 'content' | 'none' | 'tunnel'

/** Is told about one stream. After the stream was cancelled, only `onOver()` and `onSent()` are called. */
export interface StreamListener {
  /** A 1xx response. `fields` is a flat list in wire order, `:status` first. */
  onInformational(status: number, fields: string[]): void
  /** The final response's header section. If END_STREAM arrived with it, the phase is `whole` already. */
  onResponse(status: number, fields: string[]): void
  /**
   * A piece of data. The listener has to tell the connection whether it was read (`consume()` or `hold()`). With the
   * last piece, the phase is `whole` already.
   */
  onBytes(bytes: Buffer, start: number, end: number): void
  /** The trailer section, which ends the response: the phase is `whole`. */
  onTrailers(fields: string[]): void
  /** The peer has reset the stream (RFC 9113 §6.4). It is closed. */
  onReset(code: number): void
  /**
   * The peer will not process the request: the stream is above a GOAWAY's last stream (RFC 9113 §6.8). It is closed.
   */
  onRefused(): void
  /**
   * A stream error (RFC 9113 §5.4.2): the peer was sent RST_STREAM with this code. The stream is closed.
   *
   * @param isResponse whether the error is in HEADERS or DATA, which belong to a response
   */
  onStreamError(code: number, message: string, isResponse: boolean): void
  /** The stream was cancelled, and is closed. */
  onOver(): void
  /** Some of the piece was framed, or all of it if `isTaken`. After END_STREAM, the stream may be closed. */
  onSent(isTaken: boolean): void
  /**
   * The memory of the piece was transferred or resized before all of it was framed: the rest can't be sent. The
   * listener has to cancel the stream.
   */
  onPieceLost(): void
}

/** The data that a stream sends. A stream with only a header section has none of this. */
export class StreamUpload {
  readonly stream: Http2Stream
  /** How urgent it is: 0, the most urgent, to 7 (RFC 9218 §4.1). */
  urgency: number
  /** The piece that is being sent; null for none. */
  piece: Uint8Array | null = null
  /** The size in bytes that the piece had when it was queued. */
  pieceSize = 0
  /** How many bytes of the piece were sent. */
  pieceOffset = 0
  /** Whether END_STREAM goes with the piece's last byte. */
  isLastPiece = false
  /** How many bytes of data were sent. */
  sent = 0
  /** How many bytes of data were sent without getting credit back yet. */
  unreturned = 0
  /** Whether the rest of the body won't be sent, because its stream is about to be reset. */
  isDropped = false
  /** Its neighbours in the upload queue; null at its ends, and outside. Only the queue writes them. */
  next: StreamUpload | null = null
  previous: StreamUpload | null = null

  constructor(stream: Http2Stream, urgency: number) {
    this.stream = stream
    this.urgency = urgency
  }
}

/**
 * The connection's state for one stream. The connection writes the fields, except `data`, which the listener also sets,
 * for HEAD and for a tunnel, and `state`, which the listener closes when the socket is gone.
 */
export class Http2Stream {
  readonly listener: StreamListener
  /** RFC 9113 §5.1.1; 0 before it is opened. */
  id = 0
  state: StreamState = 'idle'
  phase: ResponsePhase = 'none'
  /** Whether the caller doesn't need more: what still arrives is discarded, and only counts for the windows. */
  isCancelled = false
  /** Whether it has closed in another way than END_STREAM from both sides. */
  isEndedEarly = false
  /**
   * Whether the peer has sent an informational response, or credit for the request's body: then a REFUSED_STREAM isn't
   * believed.
   */
  isAccepted = false

  /**
   * The send window: the bytes that the peer accepts now; below 0 after it has lowered SETTINGS_INITIAL_WINDOW_SIZE
   * (§6.9.2).
   */
  sendWindow = 0
  /** What it sends after its header section; null for nothing. */
  upload: StreamUpload | null = null

  /** The receive window: the bytes that the peer may send now. */
  receiveWindow = 0
  /** How many bytes were read but not announced with WINDOW_UPDATE yet. */
  consumed = 0
  /**
   * The smallest stream window that was announced since it was opened, in bytes. A peer may ignore what later SETTINGS
   * add to open streams.
   */
  leastWindow = 0
  /** How many bytes were received, and neither read nor discarded. */
  held = 0
  data: ResponseData = 'content'

  constructor(listener: StreamListener) {
    this.listener = listener
  }

  /** Whether the connection was given a piece of data that isn't sent yet. */
  get isSending(): boolean {
    return this.upload !== null && this.upload.piece !== null
  }
}
