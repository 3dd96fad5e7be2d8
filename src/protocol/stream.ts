/**
 * A stream, as its connection knows it.
 *
 * @module
 */

import type { StreamState } from './stream-state.ts'

/**
 * How much of the response has come (RFC 9113 §8.1):
 *
 * - `none`: no final response yet; informational responses may come
 * - `header`: the header section of the final response has come
 * - `whole`: END_STREAM has come
 */
export type ResponsePhase = 'none' | 'header' | 'whole'

/**
 * What DATA frames are:
 *
 * - `content`: the response's content
 * - `none`: there is no content, because of the status or of the request's method (RFC 9110 §6.4.1): only empty ones
 *   may come
 * - `tunnel`: what the tunnel carries, and nothing but DATA may come (RFC 9113 §8.5)
 */
export type ResponseData = 'content' | 'none' | 'tunnel'

/** Hears of one stream. After the stream was cancelled, only `onOver()` and `onSent()` are called. */
export interface StreamListener {
  /** A 1xx response. `fields` is a flat list in wire order, `:status` first. */
  onInformational(status: number, fields: string[]): void
  /** The header section of the final response. When END_STREAM came with it, the phase is `whole` already. */
  onResponse(status: number, fields: string[]): void
  /**
   * A piece of data. The listener has to tell the connection whether it was read (`consume()` or `hold()`). With the
   * last piece the phase is `whole` already.
   */
  onBytes(bytes: Buffer, start: number, end: number): void
  /** The trailer section, which ends the response: the phase is `whole`. */
  onTrailers(fields: string[]): void
  /** The peer has reset the stream (RFC 9113 §6.4). It is closed. */
  onReset(code: number): void
  /**
   * The peer will not process the request: the stream lies above a GOAWAY's last stream (RFC 9113 §6.8). It is closed.
   */
  onRefused(): void
  /**
   * A stream error (RFC 9113 §5.4.2): the peer was sent RST_STREAM with this code. The stream is closed.
   *
   * @param isResponse whether the error lies in HEADERS or DATA, which belong to a response
   */
  onStreamError(code: number, message: string, isResponse: boolean): void
  /** The stream was cancelled, and is closed. */
  onOver(): void
  /** Some of the piece was framed; all of it when `isTaken`. After END_STREAM the stream may be closed. */
  onSent(isTaken: boolean): void
}

/** The data that a stream sends. A stream that only has a header section has none of this. */
export class StreamUpload {
  readonly stream: Http2Stream
  /** How urgent it is: 0, the most urgent, to 7 (RFC 9218 §4.1). */
  urgency: number
  /** The piece that is being sent; null for none. */
  piece: Uint8Array | null = null
  /** Bytes of the piece that were sent. */
  pieceOffset = 0
  /** END_STREAM goes with the piece's last byte. */
  isLastPiece = false
  /** Bytes of data that were sent. */
  sent = 0
  /** Bytes of data that were sent, and that the peer has returned no credit for yet. */
  unreturned = 0
  /** The rest of the body isn't sent: its stream is about to be reset. */
  isDropped = false
  /** The neighbours in the upload queue; null at its ends, and outside. The queue's own. */
  next: StreamUpload | null = null
  previous: StreamUpload | null = null

  constructor(stream: Http2Stream, urgency: number) {
    this.stream = stream
    this.urgency = urgency
  }
}

/**
 * The connection's state of one stream. The connection writes the fields, except `data`, which
 * the listener sets as well, for HEAD and for a tunnel, and `state`, which the listener closes when the socket is gone.
 */
export class Http2Stream {
  readonly listener: StreamListener
  /** RFC 9113 §5.1.1; 0 before it is opened. */
  id = 0
  state: StreamState = 'idle'
  phase: ResponsePhase = 'none'
  /** The caller wants nothing more: what still comes is thrown away, and only counts for the windows. */
  isCancelled = false
  /** It has closed otherwise than by END_STREAM of both sides. */
  isEndedEarly = false
  /** The peer has sent an informational response, or credit for the request's body: a REFUSED_STREAM isn't believed. */
  isAccepted = false

  /**
   * The send window: bytes that the peer takes now; below 0 after it has lowered SETTINGS_INITIAL_WINDOW_SIZE (§6.9.2).
   */
  sendWindow = 0
  /** What it sends behind its header section; null for nothing. */
  upload: StreamUpload | null = null

  /** The receive window: bytes that the peer may send now. */
  receiveWindow = 0
  /** Bytes that were read and not announced by WINDOW_UPDATE yet. */
  consumed = 0
  /**
   * The smallest stream window that was announced since it was opened. Bytes. A peer may make no use of what later
   * SETTINGS add to open streams.
   */
  leastWindow = 0
  /** Bytes that were received, and neither read nor thrown away. */
  held = 0
  data: ResponseData = 'content'

  constructor(listener: StreamListener) {
    this.listener = listener
  }

  /** A piece of data was given to the connection, and isn't sent yet. */
  get isSending(): boolean {
    return this.upload !== null && this.upload.piece !== null
  }
}
