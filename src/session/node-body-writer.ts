/**
 * Moves a request's body from its source into a stream of node:http2.
 *
 * @module
 */

import type { ClientHttp2Stream, ClientSessionRequestOptions } from 'node:http2'
import type { Readable } from 'node:stream'
import type { BytesBody, SendableBody, StreamBody } from '../core/body.ts'
import { toChunk } from '../core/chunk-source.ts'
import { sessionChannels } from '../core/diagnostics.ts'
import type { Request } from '../core/request.ts'
import { RequestContentLengthMismatchError, toError } from '../errors.ts'
import type { Call } from '../handler/call.ts'
import type { SessionReport } from './session-report.ts'

/** Bytes that go into a stream at once: more would only wait there. */
const SLICE_SIZE = 65_536
/** The same while the session holds {@link SESSION_BUFFER}: each upload can go on, whatever the others wait for. */
const SMALL_SLICE_SIZE = 16_384
/** Bytes that all uploads of a session may have waiting before their slices become small. */
const SESSION_BUFFER = 16_777_216

const WITHOUT_BODY = Object.freeze({ endStream: true, waitForTrailers: false })
const WITH_BODY = Object.freeze({ endStream: false, waitForTrailers: false })
const WITH_TRAILERS = Object.freeze({ endStream: false, waitForTrailers: true })

/** How node opens a stream that a request's body is to go into. */
export function toStreamOptions(
  { isTunnel, trailers }: Request,
  body: SendableBody,
): ClientSessionRequestOptions & { readonly endStream: boolean } {
  if (trailers !== null) return WITH_TRAILERS
  return body.kind === 'none' && !isTunnel ? WITHOUT_BODY : WITH_BODY
}

/** What the uploads of one session have written and the session has not sent yet. */
export class UploadBuffer {
  readonly #report: SessionReport
  /** Bytes. */
  #size = 0

  constructor(report: SessionReport) {
    this.#report = report
  }

  get sliceSize(): number {
    return this.#size < SESSION_BUFFER ? SLICE_SIZE : SMALL_SLICE_SIZE
  }

  /** An upload is held up. */
  onStall(stream: ClientHttp2Stream): void {
    const sessionWindow = stream.session?.state.remoteWindowSize
    if (stream.id !== undefined && sessionWindow !== undefined) this.#report.stall(stream.id, sessionWindow)
  }

  /** Some more, or less, is waiting. */
  add(bytes: number): void {
    this.#size += bytes
  }
}

/**
 * Reads the source no faster than the peer's window takes it. The source's end is the stream's end; of its failure the
 * call hears from the body itself. A length that isn't the announced one fails the call before the peer would.
 *
 * Pieces aren't copied: node sends them from where they are. What comes while a write is under way is written as one.
 */
export class NodeBodyWriter {
  readonly #body: BytesBody | StreamBody
  readonly #stream: ClientHttp2Stream
  readonly #call: Call
  readonly #buffer: UploadBuffer
  /** Null for bytes. */
  #source: Readable | null = null
  /** The piece that is being written; null between pieces. */
  #piece: Uint8Array | null = null
  /** How much of it was. */
  #offset = 0
  /** Pieces that came although the source was told to pause: somebody else reads it, too. Null for none. */
  #backlog: Uint8Array[] | null = null
  /** Bytes that the source has given. */
  #received = 0
  /** What the session's buffer knows of this stream. */
  #waiting = 0
  #isSourceEnded = false
  /** The stream takes no more before its `drain`. */
  #isBlocked = false
  #isOver = false

  readonly #onData = (chunk: unknown): void => this.#receive(chunk)
  readonly #onEnd = (): void => {
    this.#isSourceEnded = true
    if (!this.#isBlocked) this.#write()
  }
  readonly #onDrain = (): void => {
    this.#account()
    this.#isBlocked = false
    this.#call.sent(null)
    this.#write()
  }

  constructor(body: BytesBody | StreamBody, stream: ClientHttp2Stream, call: Call, buffer: UploadBuffer) {
    this.#body = body
    this.#stream = stream
    this.#call = call
    this.#buffer = buffer
  }

  /** Begins to send. */
  start(): void {
    this.#stream.on('drain', this.#onDrain)
    if (this.#body.kind === 'bytes') {
      this.#piece = this.#body.bytes
      this.#received = this.#body.length
      this.#isSourceEnded = true
      this.#write()
      return
    }
    try {
      this.#source = this.#body.open()
    } catch (thrown) {
      this.#fail(toError(thrown))
      return
    }
    this.#source.on('data', this.#onData)
    this.#source.on('end', this.#onEnd)
    // Its maker may have paused it.
    this.#source.resume()
  }

  /** Nobody wants the rest: the source is destroyed. Idempotent, and a no-op once all of it was handed over. */
  stop(): void {
    if (this.#isOver) return
    this.#detach()
    if (this.#body.kind === 'stream') this.#body.destroy(null)
  }

  #receive(chunk: unknown): void {
    let piece: Uint8Array
    try {
      piece = toChunk(chunk)
    } catch (thrown) {
      this.#fail(toError(thrown))
      return
    }
    const { contentLength } = this.#call.request
    this.#received += piece.byteLength
    if (contentLength !== null && this.#received > contentLength) {
      this.#fail(toMismatch(this.#received, contentLength))
    } else if (this.#isBlocked) {
      if (this.#backlog === null) this.#backlog = [piece]
      else this.#backlog.push(piece)
      this.#source?.pause()
    } else {
      this.#piece = piece
      this.#write()
    }
  }

  /** Writes what is there, while the stream takes it; then asks for more, or ends. */
  #write(): void {
    while (!this.#isOver) {
      this.#piece ??= this.#backlog?.shift() ?? null
      if (this.#piece === null) break
      const slice = this.#takeSlice(this.#piece)
      if (slice.byteLength === 0) continue
      this.#isBlocked = !this.#stream.write(slice)
      this.#account()
      this.#call.sent(slice)
      if (!this.#isBlocked || this.#isOver) continue
      this.#source?.pause()
      if (sessionChannels.stall.hasSubscribers) setImmediate(reportStall, this)
      return
    }
    if (this.#isOver) return
    if (this.#isSourceEnded) this.#end()
    else this.#source?.resume()
  }

  #takeSlice(piece: Uint8Array): Uint8Array {
    const start = this.#offset
    const end = start + this.#buffer.sliceSize
    const isLast = end >= piece.byteLength
    this.#offset = isLast ? 0 : end
    if (isLast) this.#piece = null
    return start === 0 && isLast ? piece : piece.subarray(start, end)
  }

  #end(): void {
    const { contentLength } = this.#call.request
    if (contentLength !== null && this.#received !== contentLength) {
      this.#fail(toMismatch(this.#received, contentLength))
      return
    }
    this.#detach()
    this.#stream.end()
  }

  #fail(error: Error): void {
    if (this.#isOver) return
    this.stop()
    this.#call.fail(error)
  }

  /** What was written a while ago is still there: it wasn't only waiting for its turn. */
  reportStall(): void {
    if (this.#isBlocked && !this.#isOver && !this.#stream.destroyed) this.#buffer.onStall(this.#stream)
  }

  /** Tells the session how much of ours waits now. */
  #account(): void {
    const waiting = this.#stream.writableLength
    this.#buffer.add(waiting - this.#waiting)
    this.#waiting = waiting
  }

  #detach(): void {
    this.#isOver = true
    this.#piece = null
    this.#backlog = null
    this.#buffer.add(-this.#waiting)
    this.#waiting = 0
    this.#source?.off('data', this.#onData)
    this.#source?.off('end', this.#onEnd)
    this.#stream.off('drain', this.#onDrain)
  }
}

function reportStall(writer: NodeBodyWriter): void {
  writer.reportStall()
}

function toMismatch(received: number, contentLength: number): RequestContentLengthMismatchError {
  const counts = `${received} bytes came, content-length says ${contentLength}`
  return new RequestContentLengthMismatchError(
    `The request body has another length than announced: ${counts}`,
  )
}
