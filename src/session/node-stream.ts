/**
 * One attempt of a call on one stream of node:http2.
 *
 * @module
 */

import type { ClientHttp2Session, ClientHttp2Stream, IncomingHttpHeaders as NodeHeaders } from 'node:http2'
import { constants, sensitiveHeaders } from 'node:http2'
import { Readable } from 'node:stream'
import type { IncomingHttpHeaders } from '../../types/headers.ts'
import type { DodiciError } from '../errors.ts'
import {
  REFUSED_STREAM,
  ResponseContentLengthMismatchError,
  StreamError,
  toErrorCodeName,
} from '../errors.ts'
import type { Attempt, Call } from '../handler/call.ts'
import { NodeBodyWriter } from './node-body-writer.ts'

/** The session, as its streams see it. */
export interface NodeStreamOwner {
  /** The stream no longer counts against the peer's limit. */
  onStreamClosed(stream: NodeStream): void
  /** The session can open no further stream: it finishes those that it has. */
  retire(): void
  /** Whether the connection is gone. */
  isLost(): boolean
  /** The peer has promised by GOAWAY not to process the stream (RFC 9113 §6.8). */
  isAboveGoaway(streamId: number): boolean
  /**
   * Why a stream is lost with its session: for the session's own reason or, where it has none yet, for `error`.
   *
   * @param streamId null for a stream that never got one
   */
  toLossError(streamId: number | null, error: Error | null): DodiciError
}

/**
 * How far the answer has come, for the call.
 *
 * ```
 * open → responded → done      (and from open to done)
 * ```
 *
 * `done` is said once: completely answered, failed, or cancelled. The stream itself may still be closing then.
 */
type StreamState = 'open' | 'responded' | 'done'

const WITH_BODY = Object.freeze({ endStream: false })
const WITHOUT_BODY = Object.freeze({ endStream: true })

/** Bytes. A larger body goes out in pieces of this size, so that the clock sees its progress. */
const SLICE_SIZE = 262_144

function* toSlices(bytes: Uint8Array): Generator<Uint8Array> {
  for (let start = 0; start < bytes.byteLength; start += SLICE_SIZE)
    yield bytes.subarray(start, start + SLICE_SIZE)
}

/** Returns what it is given, so that a subclass puts its private field onto a foreign object. */
class Foreign {
  constructor(foreign: object) {
    // biome-ignore lint/correctness/noConstructorReturn: that is the purpose
    return foreign
  }
}

/**
 * The way from node's stream to its attempt, for listeners that all streams share: a closure for each event of each
 * request would do as well, and cost more. A private field is neither enumerable nor reachable from elsewhere.
 */
class Carrier extends Foreign {
  #attempt: NodeStream

  private constructor(stream: ClientHttp2Stream, attempt: NodeStream) {
    super(stream)
    this.#attempt = attempt
  }

  static put(stream: ClientHttp2Stream, attempt: NodeStream): void {
    new Carrier(stream, attempt)
  }

  static get(stream: unknown): NodeStream {
    return (stream as Carrier).#attempt
  }
}

function onHeaders(this: ClientHttp2Stream, headers: NodeHeaders, _flags: number, raw: unknown): void {
  Carrier.get(this).onHeaders(headers, raw)
}
function onData(this: ClientHttp2Stream, chunk: Buffer): void {
  Carrier.get(this).onData(chunk)
}
function onTrailers(this: ClientHttp2Stream, headers: NodeHeaders, _flags: number, raw: unknown): void {
  Carrier.get(this).onTrailers(headers, raw)
}
function onEnd(this: ClientHttp2Stream): void {
  Carrier.get(this).onEnd()
}
function onError(this: ClientHttp2Stream, error: Error): void {
  Carrier.get(this).onError(error)
}
function onClose(this: ClientHttp2Stream): void {
  Carrier.get(this).onClose()
}

/** The very object that node made, less what is no header: nothing is copied. */
function toHandedHeaders(headers: NodeHeaders): IncomingHttpHeaders {
  Reflect.deleteProperty(headers, ':status')
  Reflect.deleteProperty(headers, sensitiveHeaders)
  return headers
}

const NO_TRAILERS: IncomingHttpHeaders = Object.freeze(Object.create(null))

/** One try of a call. What it hears of node's stream it tells the call, until one of them is done. */
export class NodeStream implements Attempt {
  readonly #owner: NodeStreamOwner
  readonly #call: Call
  #state: StreamState = 'open'
  /** Null until node has made it. */
  #stream: ClientHttp2Stream | null = null
  /** Null for a body that was handed over in one piece, or none. */
  #writer: NodeBodyWriter | null = null
  /** Bytes of the answer's body that must come; -1 where the answer doesn't say. */
  #expected = -1
  #received = 0
  /** Null without trailers. */
  #trailers: IncomingHttpHeaders | null = null
  #rawTrailers: readonly string[] | null = null
  /** What node says of a stream that fails; its `close` follows. */
  #error: Error | null = null

  constructor(owner: NodeStreamOwner, call: Call) {
    this.#owner = owner
    this.#call = call
  }

  get streamId(): number | null {
    return this.#stream?.id ?? null
  }

  /** Sends the request. Whatever goes wrong is the call's failure. */
  open(session: ClientHttp2Session): void {
    const call = this.#call
    const { wire, body } = call.request
    let stream: ClientHttp2Stream
    call.begin(this)
    try {
      stream = session.request(wire, body.kind === 'none' ? WITHOUT_BODY : WITH_BODY)
    } catch (cause) {
      // Node 20 and 22 throw on a session that died or heard GOAWAY in this very tick; nothing was sent.
      this.#finish(this.#toOpenError(cause))
      this.#owner.onStreamClosed(this)
      return
    }
    this.#stream = stream
    Carrier.put(stream, this)
    stream.on('response', onHeaders)
    stream.on('headers', onHeaders)
    stream.on('trailers', onTrailers)
    stream.on('end', onEnd)
    stream.on('error', onError)
    stream.on('close', onClose)
    if (body.kind === 'stream') this.#writer = new NodeBodyWriter(body.open(), stream, call)
    else if (body.kind === 'bytes') {
      const bytes = body.open()
      if (bytes.byteLength <= SLICE_SIZE) stream.end(bytes)
      else
        this.#writer = new NodeBodyWriter(Readable.from(toSlices(bytes), { objectMode: false }), stream, call)
    }
  }

  pause(): void {
    // Before the answer nothing flows, and what the call wants by then is read then.
    if (this.#state === 'responded') this.#stream?.pause()
  }

  resume(): void {
    if (this.#state === 'responded') this.#stream?.resume()
  }

  cancel(): void {
    this.#state = 'done'
    this.#release()
  }

  /** Fails the call on behalf of the session's owner, and lets go of the stream. */
  fail(error: Error): void {
    if (this.#state === 'done') return
    this.#call.fail(error)
  }

  /** The session is gone: node may emit nothing more on this stream. */
  lose(): void {
    this.onClose()
  }

  onHeaders(headers: NodeHeaders, raw: unknown): void {
    if (this.#state !== 'open') return
    const status = Number(headers[':status'])
    const handed = toHandedHeaders(headers)
    if (status >= 200) {
      this.#state = 'responded'
      this.#expected = this.#toExpected(status, handed['content-length'])
    }
    this.#call.respond(status, handed, toRawList(raw) ?? handed)
    // Not before: node emits `response` a tick late, and a stream that flows already would emit `data` ahead of it.
    if (this.#state === 'responded') this.#flow()
  }

  #flow(): void {
    const stream = this.#stream
    if (stream === null) return
    // Paused first: the listener alone would make it flow.
    if (this.#call.paused) stream.pause()
    stream.on('data', onData)
  }

  onData(chunk: Buffer): void {
    if (this.#state !== 'responded') return
    this.#received += chunk.length
    this.#call.data(chunk)
  }

  onTrailers(headers: NodeHeaders, raw: unknown): void {
    this.#trailers = toHandedHeaders(headers)
    this.#rawTrailers = toRawList(raw)
  }

  onEnd(): void {
    // Without an answer there is nothing to complete: `close` comes next, and tells what it was.
    if (this.#state !== 'responded') return
    if (this.#expected !== -1 && this.#expected !== this.#received) {
      const counts = `${this.#received} bytes instead of ${this.#expected}`
      this.#finish(new ResponseContentLengthMismatchError(`The body of the answer ended after ${counts}`))
      this.#release()
      return
    }
    this.#state = 'done'
    // The answer is complete before the upload is: what is left of it has no reader (RFC 9113 §8.1).
    if (this.#stream?.writableFinished === false) this.#release()
    this.#call.complete(this.#trailers ?? NO_TRAILERS, this.#rawTrailers ?? this.#trailers)
  }

  onError(error: Error): void {
    this.#error ??= error
  }

  onClose(): void {
    if (this.#state !== 'done') this.#finish(this.#toFailure())
    this.#writer?.stop()
    this.#owner.onStreamClosed(this)
  }

  #finish(error: DodiciError): void {
    this.#state = 'done'
    this.#call.attemptFailed(error)
  }

  /** Lets go of node's stream at once: `close()` alone may leave it alive on a busy session. */
  #release(): void {
    this.#writer?.stop()
    const stream = this.#stream
    if (stream === null || stream.destroyed) return
    stream.close(constants.NGHTTP2_CANCEL)
    stream.destroy()
  }

  #toExpected(status: number, contentLength: string | string[] | undefined): number {
    // RFC 9110 §8.6: there the field tells of the body that a GET would have had.
    if (contentLength === undefined || status === 204 || status === 304) return -1
    return this.#call.request.method === 'HEAD' ? -1 : Number(contentLength)
  }

  #toOpenError(cause: unknown): DodiciError {
    return new StreamError('The stream could not be opened', { cause, processed: 'no' })
  }

  #toFailure(): DodiciError {
    const streamId = this.streamId
    if (this.#owner.isLost()) return this.#owner.toLossError(streamId, this.#error)
    if (streamId === null) {
      // Node 24 and later say so on the stream; all of them do when the ids are used up (RFC 9113 §5.1.1).
      this.#owner.retire()
      return this.#toOpenError(this.#error)
    }
    const code = this.#stream?.rstCode ?? constants.NGHTTP2_NO_ERROR
    const cause = this.#error
    const isUnprocessed = code === REFUSED_STREAM || this.#owner.isAboveGoaway(streamId)
    const processed = isUnprocessed ? 'no' : 'maybe'
    if (code !== constants.NGHTTP2_NO_ERROR) {
      const message = `The stream was reset with ${toErrorCodeName(code)}`
      return new StreamError(message, { cause, processed, http2ErrorCode: code })
    }
    return new StreamError('The stream was closed without a complete answer', { cause, processed })
  }
}

/** node passes the flat list as a third argument that its types leave out. */
function toRawList(raw: unknown): readonly string[] | null {
  return Array.isArray(raw) ? raw : null
}
