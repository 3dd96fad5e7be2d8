/**
 * `stream()`: a request whose response body is written straight to a Writable.
 *
 * @module
 */

import type { Writable } from 'node:stream'
import type { Callback } from '../../types/api-methods.ts'
import type { DispatchController, DispatchHandler } from '../../types/handler.ts'
import type { IncomingHttpHeaders } from '../../types/headers.ts'
import type { HeaderForm, RequestOptions } from '../../types/request.ts'
import type { StreamData, StreamFactory } from '../../types/response.ts'
import { CallerContext } from '../core/caller-context.ts'
import { Foreign } from '../core/foreign.ts'
import { noop } from '../core/noop.ts'
import { invalid, showKind } from '../core/validate.ts'
import { InvalidReturnValueError, RequestAbortedError } from '../errors/errors.ts'
import type { Dispatching, Trailers } from './api-handler.ts'
import { ApiHandler, checkApiOptions, checkNoTunnel, perform, toNoHeaderError } from './api-handler.ts'
import type { FeedOwner } from './writable-feed.ts'
import { WritableFeed } from './writable-feed.ts'

type Data<TOpaque> = StreamData<TOpaque, HeaderForm>

function isOpenWritable(value: unknown): value is Writable {
  if (typeof value !== 'object' || value === null) return false
  const { write, end, on, destroyed, writableEnded } = value as Partial<Writable>
  if (typeof write !== 'function' || typeof end !== 'function' || typeof on !== 'function') return false
  return destroyed !== true && writableEnded !== true
}

/** Older streams, such as the readable-stream package's, show it only in their state. */
function needsDrain(writable: Writable & { _writableState?: { needDrain?: boolean } }): boolean {
  const { writableNeedDrain }: Partial<Writable> = writable
  return writableNeedDrain ?? writable._writableState?.needDrain === true
}

/** Node's error for a stream that was closed before its end, as from `stream.pipeline()` and undici. */
function toPrematureClose(): Error {
  return Object.assign(new Error('Premature close'), { code: 'ERR_STREAM_PREMATURE_CLOSE' })
}

/**
 * A call's controller, attached to the object that the call's factory gets. Not in a WeakMap: V8's scavenges keep
 * each value of a WeakMap in the old space, and so each call since the last full collection.
 */
class ControllerSlot extends Foreign {
  readonly #controller: DispatchController

  constructor(data: object, controller: DispatchController) {
    super(data)
    this.#controller = controller
  }

  static find(data: object): DispatchController | null {
    return #controller in data ? data.#controller : null
  }
}

/** The controller of the call whose factory got this object; null for any other object. */
export function findController(data: object): DispatchController | null {
  return ControllerSlot.find(data)
}

/**
 * The link from a Writable's listeners to the handler, which ends with the call. Since Node 24, a Writable may live
 * until the next full garbage collection (docs/internals/node-streams.md), and no part of the call may live on with
 * it.
 */
class Link<TOpaque> {
  /** Null once the call has settled. */
  handler: StreamHandler<TOpaque> | null

  constructor(handler: StreamHandler<TOpaque>) {
    this.handler = handler
  }
}

/** Creates a Writable as soon as the header section has arrived, and writes the body to it. */
class StreamHandler<TOpaque>
  extends ApiHandler<TOpaque, Data<TOpaque>>
  implements DispatchHandler, FeedOwner
{
  readonly #factory: StreamFactory<TOpaque, HeaderForm>
  readonly #callerContext = new CallerContext()
  /** Null until the whole response has arrived. */
  #trailers: Trailers | null = null
  /** Null until the factory has returned it. */
  #writable: Writable | null = null
  /** What the Writable's listeners hold; null before there are any. */
  #link: Link<TOpaque> | null = null
  /** Passes the pieces to the Writable; null as long as it writes each piece at once. */
  #feed: WritableFeed | null = null
  /** Whether the Writable has to drain before it gets more. */
  #isHeldBack = false
  #hearsDrain = false

  constructor(
    options: RequestOptions<TOpaque>,
    factory: StreamFactory<TOpaque, HeaderForm>,
    callback: Callback<Data<TOpaque>>,
  ) {
    super(options, callback)
    this.#factory = factory
  }

  protected override abort(reason: Error): void {
    if (this.#writable === null) super.abort(reason)
    else this.onBroken(reason)
  }

  onResponseStart(controller: DispatchController, statusCode: number, headers: IncomingHttpHeaders): void {
    if (statusCode < 200) {
      this.inform(controller, statusCode, headers)
      return
    }
    const data = {
      statusCode,
      headers: this.toHanded(controller, headers),
      opaque: this.opaque,
      context: this.context as object,
    }
    new ControllerSlot(data, controller)
    const writable: unknown = this.#callerContext.runInAsyncScope(this.#factory, null, data)
    if (!isOpenWritable(writable)) {
      throw new InvalidReturnValueError(
        `The factory returned ${showKind(writable)}, expected an open Writable`,
      )
    }
    if (this.isSettled) {
      // The factory has ended the call, for example by its signal.
      writable.on('error', noop).destroy()
      return
    }
    this.#writable = writable
    const link = new Link(this)
    this.#link = link
    writable.on('finish', () => link.handler?.onFinish())
    writable.on('error', (error) => link.handler?.onBroken(error))
    // Making an error is slow, and the usual end needs none.
    writable.on('close', () => link.handler?.onBroken(writable.errored ?? toPrematureClose()))
    if (needsDrain(writable)) this.#holdBack(controller, writable)
  }

  onResponseData(controller: DispatchController, chunk: Buffer): void {
    const writable = this.#writable
    if (writable === null) return
    if (this.#feed === null && writable.writableLength > 0) this.#feed = new WritableFeed(writable, this)
    const takesMore = this.#feed === null ? writable.write(chunk) : this.#feed.write(chunk)
    if (takesMore === false) this.#holdBack(controller, writable)
  }

  /** Most responses fit into the Writable, and never get here. */
  #holdBack(controller: DispatchController, writable: Writable): void {
    controller.pause()
    // Not `controller.paused`: the controller of an interceptor may lack it, or be paused by the interceptor.
    if (this.#isHeldBack) return
    this.#isHeldBack = true
    const link = this.#link
    if (this.#hearsDrain || link === null) return
    this.#hearsDrain = true
    writable.on('drain', () => link.handler?.onRoom())
  }

  /** The Writable, or its feed, accepts more. */
  onRoom(): void {
    if (!this.#isHeldBack) return
    this.#isHeldBack = false
    this.controller?.resume()
  }

  onResponseEnd(controller: DispatchController, trailers: IncomingHttpHeaders): void {
    if (this.#writable === null) {
      this.onBroken(toNoHeaderError())
      return
    }
    this.#trailers = this.makeTrailers()
    this.fillTrailers(this.#trailers, controller, trailers)
    this.#feed?.end()
    this.#writable.end()
  }

  onResponseError(_controller: DispatchController, error: Error): void {
    this.onBroken(error)
  }

  /** The Writable has accepted the whole body, unless the caller has ended it too early. */
  onFinish(): void {
    if (this.isSettled) return
    if (this.#trailers === null) {
      this.onBroken(new RequestAbortedError('The stream ended before the response'))
      return
    }
    this.removeSignal()
    this.#unlink()
    // A Duplex whose readable side has ended, or never was: as in undici, it isn't left open.
    const writable: { readable?: boolean; destroyed?: boolean; destroy?: () => unknown } | null =
      this.#writable
    // A stream of an older kind may have no destroy().
    if (writable?.readable !== true && writable?.destroyed === false) writable.destroy?.()
    this.succeed({ opaque: this.opaque, trailers: this.#trailers })
  }

  #unlink(): void {
    if (this.#link !== null) this.#link.handler = null
  }

  /**
   * Ends the call and the Writable. Only the first reason counts. The listener for `error` stays: an error from a
   * destroyed Writable must not end the process.
   */
  onBroken(error: Error): void {
    if (this.isSettled) return
    this.#unlink()
    this.fail(error)
    if (this.#writable?.destroyed === false) this.#writable.destroy(error)
    this.controller?.abort(error)
  }
}

/**
 * Sends a request and writes the response body to a Writable, with back-pressure.
 *
 * @param factory called once, with the header section of the final response; it returns the Writable
 * @returns `opaque` and the trailers, once the Writable has finished
 * @throws InvalidArgumentError (the promise rejects) for invalid options, InvalidReturnValueError if the factory
 *   returns no Writable, what the factory throws, the Writable's own error, and the error of a failed call
 */
export function stream<TOpaque>(
  dispatcher: Dispatching,
  options: RequestOptions<TOpaque>,
  factory: StreamFactory<TOpaque, HeaderForm>,
  callback?: Callback<Data<TOpaque>>,
): Promise<Data<TOpaque>> | undefined {
  return perform<Data<TOpaque>>(options, callback, (settle) => {
    checkApiOptions(options)
    checkNoTunnel(options)
    if (typeof factory !== 'function') throw invalid('factory', factory, 'a function that returns a Writable')
    const handler = new StreamHandler(options, factory, settle)
    handler.dispatchBy(dispatcher, options)
  })
}
