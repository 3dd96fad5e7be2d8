/**
 * The events of node's streams, brought to the attempts that they belong to.
 *
 * @module
 */

import type { ClientHttp2Stream, IncomingHttpHeaders as NodeHeaders } from 'node:http2'
import { constants } from 'node:http2'
import { REFUSED_STREAM } from '../errors.ts'

/** Who hears of one stream. */
export interface StreamListener {
  onHeaders(headers: NodeHeaders, raw: unknown): void
  /** @returns false to stop the reading; what is on its way still comes */
  onData(chunk: Buffer): boolean
  onTrailers(headers: NodeHeaders, raw: unknown): void
  /** No more data; called once or twice. `isClosed`: because the stream is closed, as opposed to END_STREAM. */
  onEnd(isClosed: boolean): void
  onFinish(): void
  onWantTrailers(): void
  onError(error: Error): void
  onClose(): void
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
  #listener: StreamListener

  private constructor(stream: ClientHttp2Stream, listener: StreamListener) {
    super(stream)
    this.#listener = listener
  }

  static put(stream: ClientHttp2Stream, listener: StreamListener): void {
    new Carrier(stream, listener)
  }

  static get(stream: unknown): StreamListener {
    return (stream as Carrier).#listener
  }
}

function onHeaders(this: ClientHttp2Stream, headers: NodeHeaders, _flags: number, raw: unknown): void {
  Carrier.get(this).onHeaders(headers, raw)
}
/**
 * Takes the place of `Readable.push()`, by which node hands a stream its data: straight to the attempt, past a buffer, two
 * events and their ticks that nobody needs. And it tells END_STREAM from a reset with NO_ERROR, which node's `end` doesn't.
 */
function onPush(this: ClientHttp2Stream, chunk: Buffer | null): boolean {
  if (chunk !== null) return Carrier.get(this).onData(chunk)
  // Node pushes a last null while it destroys the stream: that is no news.
  if (!this.destroyed) Carrier.get(this).onEnd(this.closed)
  return false
}
function onTrailers(this: ClientHttp2Stream, headers: NodeHeaders, _flags: number, raw: unknown): void {
  Carrier.get(this).onTrailers(headers, raw)
}
function onFinish(this: ClientHttp2Stream): void {
  Carrier.get(this).onFinish()
}
function onWantTrailers(this: ClientHttp2Stream): void {
  Carrier.get(this).onWantTrailers()
}
function onError(this: ClientHttp2Stream, error: Error): void {
  Carrier.get(this).onError(error)
}
function onClose(this: ClientHttp2Stream): void {
  // nghttp2 closes what lies above a GOAWAY before anybody hears of the GOAWAY: in the next turn everybody knows.
  if (this.rstCode === REFUSED_STREAM) setImmediate(tellClose, this)
  else tellClose(this)
}
function tellClose(stream: ClientHttp2Stream): void {
  Carrier.get(stream).onClose()
}

/** The answer, data and all. Node reads no more than the stream's first window before `read()` is called. */
export function listen(stream: ClientHttp2Stream, listener: StreamListener): void {
  Carrier.put(stream, listener)
  stream.push = onPush
  stream.on('response', onHeaders)
  stream.on('headers', onHeaders)
  stream.on('trailers', onTrailers)
  stream.on('error', onError)
  stream.on('close', onClose)
}

/** Begins to read, or goes on after `onData` has stopped it. */
export function read(stream: ClientHttp2Stream): void {
  if (!stream.destroyed) stream._read(0)
}

/** The body of the request, and the moment for its trailers. */
export function listenToUpload(stream: ClientHttp2Stream, waitsForTrailers: boolean): void {
  stream.on('finish', onFinish)
  if (waitsForTrailers) stream.on('wantTrailers', onWantTrailers)
}

function endNothing(): void {}

function destroyLater(stream: ClientHttp2Stream): void {
  stream.destroy()
}

/**
 * Resets a stream with CANCEL, and lets go of it at once: `close()` alone may leave it alive on a busy session.
 *
 * @param waitsForTrailers whether it was opened with `waitForTrailers`
 */
export function release(stream: ClientHttp2Stream, waitsForTrailers: boolean): void {
  if (stream.destroyed) return
  // close() ends the writable side first, which would send END_STREAM ahead of RST_STREAM: half a body, taken for a whole.
  stream._final = endNothing
  // Never NO_ERROR: node would put RST_STREAM off, destroy() would drop it, and nghttp2 send empty frames for ever.
  stream.close(constants.NGHTTP2_CANCEL)
  // Node 22 and 26 abort the process when a stream that waits for trailers is destroyed at once.
  if (waitsForTrailers) setImmediate(destroyLater, stream)
  else stream.destroy()
}
