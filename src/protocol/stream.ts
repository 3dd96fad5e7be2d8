/**
 * A stream, as its connection knows it.
 *
 * @module
 */

import type { StreamState } from './stream-state.ts'

/**
 * How far the response has come (RFC 9113 §8.1): informational headers come while it is `none`, the one final header
 * makes it `header`, END_STREAM makes it `whole`.
 */
export type ResponsePhase = 'none' | 'header' | 'whole'

/** Who hears of one stream. Once the stream is abandoned it is told no more than `onForgotten()`, and what was sent. */
export interface StreamListener {
  /** A 1xx response. `fields` is a flat list in wire order, `:status` first. */
  onInformational(status: number, fields: string[]): void
  /** The final response's header. Where the response has nothing else, the stream's phase is `whole` already. */
  onResponse(status: number, fields: string[]): void
  /**
   * A piece of data: the connection is to be told whether it was read. With the last one the phase is `whole` already.
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
  /** The stream was abandoned, and is closed. */
  onForgotten(): void
  /** Some of what was to be sent was framed; all of it when `isTaken`. After END_STREAM the stream may be closed. */
  onSent(isTaken: boolean): void
}

/** What the connection keeps of one stream. The fields are the connection's own: others read them. */
export class Http2Stream {
  readonly listener: StreamListener
  /** RFC 9113 §5.1.1; 0 before it is opened. */
  id = 0
  state: StreamState = 'idle'
  phase: ResponsePhase = 'none'
  /** What still comes is thrown away: it only counts for the connection's window. */
  isAbandoned = false

  /** Bytes that the peer takes now; below 0 after it has lowered SETTINGS_INITIAL_WINDOW_SIZE (§6.9.2). */
  sendWindow = 0
  /** What is being sent; null for nothing. */
  piece: Uint8Array | null = null
  /** How much of it was. */
  pieceOffset = 0
  /** END_STREAM goes with its last byte. */
  isLastPiece = false
  /** The next one that has something to send, and whether it is in that line. */
  nextUpload: Http2Stream | null = null
  isQueued = false

  /** Bytes that the peer may send now. */
  receiveWindow = 0
  /** Bytes that were read, and that the peer hasn't been told of. */
  consumed = 0
  /**
   * The window that all streams had when this one was opened, or was given its last WINDOW_UPDATE: a peer that goes on
   * at WINDOW_UPDATE alone makes no use of what SETTINGS have added since.
   */
  toldWindow = 0
  /** Bytes that were neither read nor thrown away. */
  held = 0
  /** The request was a HEAD: whatever the response's header says, no content may come (RFC 9110 §9.3.2). */
  isHead = false
  /** It is a tunnel now: nothing but data may come (RFC 9113 §8.5). */
  isTunnel = false
  /** Its response has no content, by its status or by the request's method. */
  isBare = false

  constructor(listener: StreamListener) {
    this.listener = listener
  }
}
