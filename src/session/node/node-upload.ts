/**
 * Sends a request's body on a node:http2 stream.
 *
 * @module
 */

import type { ClientHttp2Stream, ClientSessionRequestOptions } from 'node:http2'
import type { SendableBody } from '../../request/body-source.ts'
import type { Request } from '../../request/request.ts'
import type { StreamOwner } from '../engine.ts'
import type { SinkListener, UploadSink } from '../stream/upload-sink.ts'

/** How many bytes are written to a stream at once: more would only wait there. */
const SLICE_SIZE = 65_536
/** The same while the session holds {@link SESSION_BUFFER}, so that each upload can still make progress. */
const SMALL_SLICE_SIZE = 16_384
/** How many bytes all uploads on a session may have waiting before their slices become small. */
const SESSION_BUFFER = 16_777_216

const WITHOUT_BODY = Object.freeze({ endStream: true, waitForTrailers: false })
const WITH_BODY = Object.freeze({ endStream: false, waitForTrailers: false })
const WITH_TRAILERS = Object.freeze({ endStream: false, waitForTrailers: true })

/** The options with which Node opens a stream for a request with this body. */
export function toStreamOptions(
  { isTunnel, trailers }: Request,
  body: SendableBody,
): ClientSessionRequestOptions & { readonly endStream: boolean } {
  if (trailers !== null) return WITH_TRAILERS
  return body.kind === 'none' && !isTunnel ? WITHOUT_BODY : WITH_BODY
}

/** Counts the bytes that one session's uploads have written and the session hasn't sent yet. */
export class UploadBuffer {
  readonly #owner: Pick<StreamOwner, 'onStall'>
  /** In bytes. */
  #size = 0

  constructor(owner: Pick<StreamOwner, 'onStall'>) {
    this.#owner = owner
  }

  get sliceSize(): number {
    return this.#size < SESSION_BUFFER ? SLICE_SIZE : SMALL_SLICE_SIZE
  }

  /** An upload is stalled. */
  onStall(stream: ClientHttp2Stream): void {
    const sessionWindow = stream.session?.state.remoteWindowSize
    if (stream.id !== undefined && sessionWindow !== undefined) this.#owner.onStall(stream.id, sessionWindow)
  }

  /**
   * The number of waiting bytes has changed.
   *
   * @param bytes by how much; may be below 0
   */
  add(bytes: number): void {
    this.#size += bytes
  }
}

/** Node sends the written bytes without a copy. Slices that arrive while a write is in progress are written as one. */
export class NodeUploadSink implements UploadSink {
  readonly #stream: ClientHttp2Stream
  readonly #buffer: UploadBuffer
  /** Null before `listen()`, and after `unlisten()`. */
  #listener: SinkListener | null = null
  /** How many of the bytes that the session's buffer counts belong to this stream. */
  #waiting = 0
  #written = 0
  #sent = 0

  readonly #onDrain = (): void => {
    this.#account()
    this.#listener?.onDrain()
  }

  constructor(stream: ClientHttp2Stream, buffer: UploadBuffer) {
    this.#stream = stream
    this.#buffer = buffer
  }

  get sliceSize(): number {
    return this.#buffer.sliceSize
  }

  get isGone(): boolean {
    return this.#stream.destroyed || this.#stream.closed
  }

  /** How many bytes of the body node had certainly sent when it was last asked for more. */
  get sent(): number {
    return this.#sent
  }

  /** How many bytes of the body node has certainly sent by now. Only valid while the stream is open. */
  get flushed(): number {
    return this.#written - this.#stream.writableLength
  }

  /** How many bytes of the body node was given. */
  get written(): number {
    return this.#written
  }

  listen(listener: SinkListener): void {
    this.#listener = listener
    this.#stream.on('drain', this.#onDrain)
    // Once the stream is told to end, `drain` doesn't come any more.
    this.#stream.on('finish', this.#onDrain)
  }

  // node:http2 itself decides when it writes.
  onDue(): void {}
  onTurn(): void {}

  write(slice: Uint8Array, isLast: boolean): boolean {
    this.#written += slice.length
    const takesMore = isLast ? this.#endWith(slice) : this.#stream.write(slice)
    if (this.#listener !== null) this.#account()
    return takesMore
  }

  /** Node sends END_STREAM with the last slice if it gets both at once, which saves a frame and a write. */
  #endWith(slice: Uint8Array): boolean {
    this.#stream.end(slice)
    return this.#listener === null || this.#stream.writableLength === 0
  }

  end(): void {
    if (!this.#stream.writableEnded) this.#stream.end()
  }

  unlisten(): void {
    this.#listener = null
    this.#buffer.add(-this.#waiting)
    this.#waiting = 0
    this.#stream.off('drain', this.#onDrain)
    this.#stream.off('finish', this.#onDrain)
  }

  reportStall(): void {
    this.#buffer.onStall(this.#stream)
  }

  /** Updates the session's count with this stream's bytes that wait now. */
  #account(): void {
    const waiting = this.#stream.writableLength
    this.#buffer.add(waiting - this.#waiting)
    this.#waiting = waiting
    this.#sent = this.#written - waiting
  }
}
