/**
 * The events of node's streams, brought to the attempts that they belong to.
 *
 * @module
 */

import { errorMonitor } from 'node:events'
import type { ClientHttp2Stream, IncomingHttpHeaders as NodeHeaders } from 'node:http2'
import { ErrorCode } from '../../core/error-codes.ts'
import { originalSetImmediate } from '../../core/original-timers.ts'

/** Who hears of one stream. */
export interface NodeStreamListener {
  onHeaders(headers: NodeHeaders, raw: unknown): void
  /** @returns false to stop the reading; what is on its way still comes */
  onData(chunk: Buffer): boolean
  onTrailers(headers: NodeHeaders, raw: unknown): void
  /**
   * No more data; called once or twice. `isClosed`: because the stream is closed, as opposed to END_STREAM.
   *
   * @returns whether node may let go of the stream as soon as it is closed, and tell so
   */
  onEnd(isClosed: boolean): boolean
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
class ListenerSlot extends Foreign {
  #listener: NodeStreamListener | null
  /** That of EventEmitter, or what an instrumentation has put there. */
  readonly #emit: ClientHttp2Stream['emit']

  private constructor(stream: ClientHttp2Stream, listener: NodeStreamListener) {
    super(stream)
    this.#listener = listener
    this.#emit = stream.emit
  }

  static put(stream: ClientHttp2Stream, listener: NodeStreamListener): void {
    new ListenerSlot(stream, listener)
  }

  /** Null once the stream has closed. */
  static get(stream: unknown): NodeStreamListener | null {
    return (stream as ListenerSlot).#listener
  }

  static emitOf(stream: unknown): ClientHttp2Stream['emit'] {
    return (stream as ListenerSlot).#emit
  }

  /**
   * Up to Node 24 what `session.request()` makes keeps the stream alive until the next full collection
   * (docs/differences.md): the call with its handler and all that it has made shall not be a part of that.
   */
  static drop(stream: ClientHttp2Stream): void {
    ;(stream as unknown as ListenerSlot).#listener = null
  }
}

/**
 * Takes the place of `Readable.push()`, by which node hands a stream its data: straight to the attempt, past a buffer,
 * two events and their ticks that nobody needs. And it tells END_STREAM from a reset with NO_ERROR, which node's `end`
 * doesn't.
 */
function onPush(this: ClientHttp2Stream, chunk: Buffer | null): boolean {
  if (chunk !== null) return ListenerSlot.get(this)?.onData(chunk) === true
  // Node pushes a last null while it destroys the stream: that is no news.
  if (this.destroyed) return false
  const mayGo = ListenerSlot.get(this)?.onEnd(this.closed) === true
  // Otherwise node would wait for an `end` that never comes, and we would have to destroy the stream a tick later.
  if (mayGo) this.readable = false
  return false
}

/**
 * Takes the place of `emit()`: a listener for each event of each request would cost more, since node hears of each.
 * Whoever got hold of the stream (node's diagnostics channels hand it out) may listen as ever.
 */
function onEmit(
  this: ClientHttp2Stream,
  event: string | symbol,
  first: never,
  _flags: never,
  raw: never,
): boolean {
  const emit = ListenerSlot.emitOf(this)
  let isHeard = false
  try {
    // With nobody else to hear of it, EventEmitter would throw it.
    if (event === 'error' && this.listenerCount(event) === 0) emit.call(this, errorMonitor, first)
    // biome-ignore lint/complexity/noArguments: as many as there are, and no array of them for each event
    else isHeard = Reflect.apply(emit, this, arguments)
  } finally {
    // Last: the attempt takes out of a header what is none, such as `:status`.
    isHeard = tell(this, event, first, raw) || isHeard
  }
  return isHeard
}

/** False for what its attempt doesn't want to hear of. */
function tell(stream: ClientHttp2Stream, event: string | symbol, first: never, raw: unknown): boolean {
  const listener = ListenerSlot.get(stream)
  switch (event) {
    case 'response':
    case 'headers':
      listener?.onHeaders(first, raw)
      return true
    case 'trailers':
      listener?.onTrailers(first, raw)
      return true
    case 'finish':
      listener?.onFinish()
      return true
    case 'wantTrailers':
      listener?.onWantTrailers()
      return true
    case 'error':
      listener?.onError(first)
      return true
    case 'close':
      // nghttp2 closes what lies above a GOAWAY before anybody hears of the GOAWAY: in the next turn everybody knows.
      if (stream.rstCode === ErrorCode.REFUSED_STREAM) originalSetImmediate(tellClose, stream)
      else tellClose(stream)
      return true
    default:
      return false
  }
}

function tellClose(stream: ClientHttp2Stream): void {
  ListenerSlot.get(stream)?.onClose()
  ListenerSlot.drop(stream)
}

/** The response, data and all. Node reads no more than the stream's first window before `read()` is called. */
export function listen(stream: ClientHttp2Stream, listener: NodeStreamListener): void {
  ListenerSlot.put(stream, listener)
  stream.push = onPush
  stream.emit = onEmit
}

/** Begins to read, or goes on after `onData` has stopped it. */
export function read(stream: ClientHttp2Stream): void {
  if (!stream.destroyed) stream._read(0)
}

function endNothing(): void {}

/** To be called in the next tick. */
export function endLater(stream: { end(): void }): void {
  stream.end()
}

function destroyLater(stream: ClientHttp2Stream): void {
  stream.destroy()
}

/**
 * Resets a stream, and lets go of it at once: `close()` alone may leave it alive on a busy session.
 *
 * @param waitsForTrailers whether it was opened with `waitForTrailers`
 * @param code what the peer hears. Never NO_ERROR: node would put RST_STREAM off, destroy() would drop it, and nghttp2
 *   send empty frames for ever.
 */
export function release(stream: ClientHttp2Stream, waitsForTrailers: boolean, code: number): void {
  if (stream.destroyed) return
  // close() ends the writable side first, which would send END_STREAM ahead of RST_STREAM: half a body, taken for a
  // whole.
  stream._final = endNothing
  stream.close(code)
  // Node 22 and 26 abort the process when a stream that waits for trailers is destroyed at once.
  if (waitsForTrailers) originalSetImmediate(destroyLater, stream)
  else stream.destroy()
}
