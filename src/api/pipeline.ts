/**
 * `pipeline()`: a request as a Duplex, to put between streams.
 *
 * @module
 */

import { Duplex, Readable } from 'node:stream'
import type { DispatchController, DispatchHandler } from '../../types/handler.ts'
import type { IncomingHttpHeaders } from '../../types/headers.ts'
import type { HeaderForm, PipelineOptions } from '../../types/request.ts'
import type { PipelineHandler } from '../../types/response.ts'
import { CallerContext } from '../core/caller-context.ts'
import { noop } from '../core/noop.ts'
import { originalNextTick } from '../core/original-timers.ts'
import { toCompact } from '../core/piece-list.ts'
import { invalid, showKind } from '../core/validate.ts'
import { InvalidReturnValueError, RequestAbortedError, toError } from '../errors/errors.ts'
import { REQUEST_OPTIONS } from '../options/known-options.ts'
import { warnOfIdleOption } from '../options/unknown-options.ts'
import type { Dispatching, Trailers } from './api-handler.ts'
import {
  ApiHandler,
  checkApiOptions,
  checkNoTunnel,
  HIGH_WATER_MARK,
  toNoHeaderError,
} from './api-handler.ts'
import { iterate } from './body-iterator.ts'
import type { BodyOwner } from './body-readable.ts'
import { BodyReadable } from './body-readable.ts'

type Callback = (error?: Error | null) => void

/** The request body: provides the session, on demand, with the pieces that are written to the duplex. */
class PipelineRequest extends Readable {
  /** The callback of the write that waits for the session; null if none waits. */
  #onTaken: Callback | null = null

  override _read(): void {
    const onTaken = this.#onTaken
    this.#onTaken = null
    onTaken?.()
  }

  override _destroy(error: Error | null, callback: Callback): void {
    // What is written from now on is dropped: writers need not wait. The duplex tells them of the failure.
    this._read()
    callback(error)
  }

  write(chunk: unknown, callback: Callback): void {
    // A tick later: otherwise a writer that writes in a loop would block the event loop.
    if (this.destroyed) originalNextTick(callback)
    else if (this.push(chunk)) callback()
    else this.#onTaken = callback
  }
}

/** The owner of a duplex. */
interface DuplexOwner {
  readonly request: PipelineRequest
  /** There is room for more of the response. */
  resumeResponse(): void
  /** @param reason null if both sides have ended */
  onDestroyed(reason: Error | null): void
}

/** The caller's duplex: its writable side is the request, its readable side what the caller's handler returns. */
class PipelineDuplex extends Duplex {
  /** Null once destroyed: the duplex may live on (docs/internals/node-streams.md), but the call must not. */
  #owner: DuplexOwner | null

  constructor(owner: DuplexOwner, objectMode: boolean) {
    super({ readableObjectMode: objectMode })
    this.#owner = owner
  }

  override _read(): void {
    if (this.readableLength === 0) this.#owner?.resumeResponse()
  }

  /** A reader that asks for a number of bytes may wait for more, although Node's buffer contains some. */
  override read(size?: number): ReturnType<Duplex['read']> {
    const chunk: unknown = super.read(size)
    const mayWait = size !== undefined || this.readableLength === 0
    if (size !== 0 && mayWait) this.#owner?.resumeResponse()
    return chunk
  }

  /**
   * Iterates over what the handler's stream provides. Leaving the loop before the end destroys the duplex, as in
   * undici.
   */
  override [Symbol.asyncIterator](): AsyncGenerator<unknown, undefined, undefined> {
    return iterate(this)
  }

  override _write(chunk: unknown, _encoding: BufferEncoding, callback: Callback): void {
    // Node writes nothing to a duplex that is destroyed.
    this.#owner?.request.write(chunk, callback)
  }

  override _final(callback: Callback): void {
    this.#owner?.request.push(null)
    callback()
  }

  override _destroy(error: Error | null, callback: Callback): void {
    const reason = error ?? (this.readableEnded ? null : new RequestAbortedError())
    const owner = this.#owner
    this.#owner = null
    owner?.onDestroyed(reason)
    callback(reason)
  }
}

/** A call of `pipeline()`. */
class PipelineCall<TOpaque>
  extends ApiHandler<TOpaque, null>
  implements DispatchHandler, DuplexOwner, BodyOwner
{
  readonly request = new PipelineRequest()
  readonly duplex: PipelineDuplex
  readonly #toResponse: PipelineHandler<TOpaque, HeaderForm>
  readonly #callerContext = new CallerContext()
  readonly isHead: boolean
  readonly target: string
  /** 0 until the header section of the final response has arrived. */
  statusCode = 0
  readonly #trailers: Trailers
  /** The body as it arrives; null until there is a response. */
  #body: BodyReadable | null = null
  /** Whether the whole response has arrived. */
  #isComplete = false
  /** The Readable that the caller's handler has returned; null until then. */
  #response: Readable | null = null

  constructor(options: PipelineOptions<TOpaque>, toResponse: PipelineHandler<TOpaque, HeaderForm>) {
    super(options, noop)
    this.#toResponse = toResponse
    this.target = options.path
    this.isHead = options.method === 'HEAD'
    this.#trailers = this.makeTrailers()
    this.duplex = new PipelineDuplex(this, options.objectMode === true)
  }

  protected override abort(reason: Error): void {
    this.duplex.destroy(reason)
  }

  resumeResponse(): void {
    this.#response?.resume?.()
  }

  onDestroyed(reason: Error | null): void {
    this.removeSignal()
    if (reason === null && this.#isComplete) return
    // The caller's handler may have ended the duplex without reading the response.
    const error = reason ?? new RequestAbortedError('The pipeline ended before the response')
    this.controller?.abort(error)
    this.#body?.on('error', noop).destroy(error)
    this.#response?.destroy?.(reason ?? undefined)
    this.request.on('error', noop).destroy(error)
  }

  onResponseStart(controller: DispatchController, statusCode: number, headers: IncomingHttpHeaders): void {
    if (statusCode < 200) {
      this.inform(controller, statusCode, headers)
      return
    }
    const highWaterMark = this.options.highWaterMark ?? HIGH_WATER_MARK
    const body = new BodyReadable(controller, headers, highWaterMark, this)
    this.statusCode = statusCode
    this.#body = body
    const response: unknown = this.#callerContext.runInAsyncScope(this.#toResponse, null, {
      statusCode,
      headers: this.toHanded(controller, headers),
      opaque: this.opaque,
      body,
      trailers: this.#trailers,
      context: this.context as object,
    })
    if (!isOpenReadable(response)) {
      throw new InvalidReturnValueError(
        `The handler returned ${showKind(response)}, expected an open Readable`,
      )
    }
    if (this.duplex.destroyed) {
      // The handler has ended the call, itself or by its signal.
      response.on('error', noop)
      response.destroy?.()
      return
    }
    this.#response = response
    this.#forward(response)
  }

  /** Written by hand, because `pipe()` forwards neither failures nor objects. */
  #forward(response: Readable): void {
    const { duplex } = this
    // Not `readableEnded`: a stream of an older kind has none, but may close after its end, too.
    let hasEnded = false
    // Node's buffer gets no second piece: it takes an entry of more than 100 bytes for each, and pins its chunk.
    response.on('data', (chunk: unknown) => {
      const isKept = duplex.readableFlowing !== true && Buffer.isBuffer(chunk)
      if (!duplex.push(isKept ? toCompact(chunk) : chunk) || duplex.readableLength > 0) response.pause?.()
    })
    response.on('end', () => {
      hasEnded = true
      duplex.push(null)
    })
    response.on('error', (error) => duplex.destroy(error))
    response.on('close', () => {
      if (!hasEnded) duplex.destroy(new RequestAbortedError('The response was closed before it ended'))
    })
  }

  onResponseData(controller: DispatchController, chunk: Buffer): void {
    if (this.#body?.receive(chunk) === false) controller.pause()
  }

  onResponseEnd(controller: DispatchController, trailers: IncomingHttpHeaders): void {
    if (this.#body === null) {
      this.duplex.destroy(toNoHeaderError())
      return
    }
    this.fillTrailers(this.#trailers, controller, trailers)
    this.#isComplete = true
    this.#body.finish()
  }

  onResponseError(_controller: DispatchController, error: Error): void {
    // The first failure counts. The body fails with it, too, and so does the stream that reads the body. If it was that
    // stream that ended the body, the stream itself says first why.
    const isByReader = this.#body?.destroyed === true
    this.#body?.fail(error)
    if (isByReader) originalNextTick(() => this.duplex.destroy(error))
    else this.duplex.destroy(error)
  }
}

function isOpenReadable(value: unknown): value is Readable {
  if (typeof value !== 'object' || value === null) return false
  const { on, pipe, destroyed, readableEnded } = value as Partial<Readable>
  // As in undici, it may be of an older kind, which can't pause: such a one comes without back-pressure.
  if (typeof on !== 'function' || typeof pipe !== 'function') return false
  // A stream that is destroyed or has ended emits no more events.
  return destroyed !== true && readableEnded !== true
}

const IDLE_BODY = 'The pipeline() option "body" has no effect: the body is what you write to the duplex'

/**
 * Returns a Duplex for `stream.pipeline()`: what is written to it is the request body, what is read from it is what
 * `handler` returns: the response body, or what it makes of it.
 *
 * @param handler called once, with the header section and the body of the final response, and with its trailers,
 *   which are filled when the body ends. It returns a Readable.
 * @returns the Duplex. Any failure destroys it, even invalid options: InvalidArgumentError, InvalidReturnValueError
 *   if the handler returns no Readable, what the handler throws, and the error of a failed call
 */
export function pipeline<TOpaque>(
  dispatcher: Dispatching,
  options: PipelineOptions<TOpaque>,
  handler: PipelineHandler<TOpaque, HeaderForm>,
): Duplex {
  let call: PipelineCall<TOpaque> | null = null
  try {
    checkApiOptions(options)
    checkNoTunnel(options)
    // undici takes it, too, and drops it in silence.
    if (options.body !== undefined && options.body !== null) warnOfIdleOption(IDLE_BODY, REQUEST_OPTIONS)
    if (typeof handler !== 'function') throw invalid('handler', handler, 'a function that returns a Readable')
    call = new PipelineCall(options, handler)
    call.dispatchBy(dispatcher, { ...options, body: call.request })
  } catch (thrown) {
    const duplex = call?.duplex ?? new Duplex()
    return duplex.destroy(toError(thrown))
  }
  return call.duplex
}
