/**
 * Passes the events of node:http2's streams to their attempts.
 *
 * @module
 */

import { errorMonitor } from 'node:events'
import type { ClientHttp2Stream, IncomingHttpHeaders as NodeHeaders } from 'node:http2'
import { Foreign } from '../../core/foreign.ts'
import { noop } from '../../core/noop.ts'
import { originalSetImmediate } from '../../core/original-timers.ts'
import { RUNTIME } from '../../core/runtime.ts'
import { ErrorCode } from '../../errors/error-codes.ts'

/** Is told about one stream. */
export interface NodeStreamListener {
  onHeaders(headers: NodeHeaders, flags: unknown, raw: unknown): void
  /** @returns false to stop reading; data that Node has already read still arrives */
  onData(chunk: Buffer): boolean
  onTrailers(headers: NodeHeaders, raw: unknown): void
  /**
   * No more data arrives. Called once or twice.
   *
   * @param isClosed true because the stream is closed; false because of END_STREAM
   * @returns whether Node may release the stream as soon as it is closed, and emit `close`
   */
  onEnd(isClosed: boolean): boolean
  onFinish(): void
  onWantTrailers(): void
  onError(error: Error): void
  onClose(): void
}

/**
 * Links Node's stream to its attempt, for listeners that all streams share: a closure for each of a request's events
 * would cost more. A private field is neither enumerable nor reachable from elsewhere.
 */
class ListenerSlot extends Foreign {
  #listener: NodeStreamListener | null
  /** EventEmitter's method, or what an instrumentation has put there. */
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
   * Removes the link. Up to Node 24, the stream from `session.request()` stays alive until the next full garbage
   * collection (docs/internals/node-http2.md): the call, its handler and all that they hold must not stay alive with
   * it.
   */
  static clear(stream: ClientHttp2Stream): void {
    ;(stream as unknown as ListenerSlot).#listener = null
  }
}

/**
 * Replaces `Readable.push()`, with which Node gives a stream its data: the data goes straight to the attempt, without a
 * buffer, two events and their ticks. It also distinguishes END_STREAM from a reset with NO_ERROR, which Node's `end`
 * event doesn't.
 */
function onPush(this: ClientHttp2Stream, chunk: Buffer | null): boolean {
  if (chunk !== null) return ListenerSlot.get(this)?.onData(chunk) === true
  // Node pushes a last null while it destroys the stream, which isn't END_STREAM.
  if (this.destroyed) return false
  const mayGo = ListenerSlot.get(this)?.onEnd(this.closed) === true
  // Otherwise node would wait for an `end` that never comes, and the stream would have to be destroyed one tick later.
  if (mayGo) this.readable = false
  return false
}

/**
 * Replaces `emit()`: a listener for each of a request's events would cost more, because Node runs code for each
 * listener that is added. Other code that gets the stream (Node's diagnostics channels publish it) may add listeners as
 * usual.
 */
function onEmit(
  this: ClientHttp2Stream,
  event: string | symbol,
  first: never,
  flags: never,
  raw: never,
): boolean {
  const emit = ListenerSlot.emitOf(this)
  let isHeard = false
  try {
    // Without another listener, EventEmitter would throw the error.
    if (event === 'error' && this.listenerCount(event) === 0) emit.call(this, errorMonitor, first)
    // biome-ignore lint/complexity/noArguments: as many as there are, and no array of them for each event
    else isHeard = Reflect.apply(emit, this, arguments)
  } finally {
    // The attempt comes last: it removes what isn't a field, such as `:status`, from the header object.
    isHeard = tell(this, event, first, flags, raw) || isHeard
  }
  return isHeard
}

/**
 * Passes an event to the attempt.
 *
 * @returns false for an event that attempts don't handle
 */
function tell(
  stream: ClientHttp2Stream,
  event: string | symbol,
  first: never,
  flags: unknown,
  raw: unknown,
): boolean {
  const listener = ListenerSlot.get(stream)
  switch (event) {
    case 'response':
    case 'headers':
      listener?.onHeaders(first, flags, raw)
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
      // nghttp2 closes the streams above a GOAWAY's last stream before the session is told about the GOAWAY; one turn
      // later it has been.
      if (stream.rstCode === ErrorCode.REFUSED_STREAM) originalSetImmediate(tellClose, stream)
      else tellClose(stream)
      return true
    default:
      return false
  }
}

function tellClose(stream: ClientHttp2Stream): void {
  ListenerSlot.get(stream)?.onClose()
  ListenerSlot.clear(stream)
}

/** The response, with its data. Node reads no more than the stream's first window before `read()` is called. */
export function listen(stream: ClientHttp2Stream, listener: NodeStreamListener): void {
  ListenerSlot.put(stream, listener)
  stream.push = onPush
  stream.emit = onEmit
  // Without a listener, Bun reports neither a RST_STREAM's code nor the connection's loss.
  if (RUNTIME === 'Bun') stream.on('error', noop)
}

/** Starts to read, or continues after `onData` has stopped it. */
export function read(stream: ClientHttp2Stream): void {
  if (!stream.destroyed) stream._read(0)
}

/** Ends a stream; for `nextTick`. */
export function endLater(stream: { end(): void }): void {
  stream.end()
}

function destroyLater(stream: ClientHttp2Stream): void {
  stream.destroy()
}

/**
 * Resets a stream, and destroys it at once: `close()` alone may leave it alive on a busy session.
 *
 * @param waitsForTrailers whether it was opened with `waitForTrailers`
 * @param code RST_STREAM's code (RFC 9113 §7), never NO_ERROR
 */
export function resetStream(stream: ClientHttp2Stream, waitsForTrailers: boolean, code: number): void {
  if (stream.destroyed) return
  // close() ends the writable side first, which would send END_STREAM before RST_STREAM: the server would take half a
  // body for the whole.
  stream._final = noop
  // Never NO_ERROR: node would delay RST_STREAM, destroy() would drop it, and nghttp2 would send empty frames for ever.
  stream.close(code)
  // Node 22 and 26 abort the process when a stream that waits for trailers is destroyed at once.
  if (waitsForTrailers) originalSetImmediate(destroyLater, stream)
  else stream.destroy()
}
