/**
 * Adapts the two shapes of handlers to each other: undici 8's, which Dodici also uses, and the shape in undici 6 and
 * 7, which the built-in fetch of Node 20, 22 and 24 also uses.
 *
 * @module
 */

import type { Duplex } from 'node:stream'
import type {
  AnyDispatchHandler,
  DispatchController,
  DispatchHandler,
  LegacyDispatchHandler,
} from '../../types/handler.ts'
import type { IncomingHttpHeaders } from '../../types/headers.ts'
import type { DispatchOptions } from '../../types/request.ts'
import { noop } from '../core/noop.ts'
import { RequestAbortedError } from '../errors/errors.ts'
import { toHeaderObject } from '../request/header-object.ts'
import { toRawBuffers, toRawHeaders } from '../request/headers.ts'
import { FetchHandler, isFetchHandler } from './fetch-handler.ts'
import { ForwardingHandler } from './forwarding-handler.ts'
import { RawFields } from './raw-fields.ts'

/** Whether a handler has the older shape. One with both counts as the newer one. */
export function isLegacyHandler(handler: object): handler is LegacyDispatchHandler {
  return !('onRequestStart' in handler && typeof handler.onRequestStart === 'function')
}

/** Creates a handler of Dodici's shape from a handler of either shape. */
export function toNativeHandler(options: DispatchOptions, handler: AnyDispatchHandler): DispatchHandler {
  const native = isLegacyHandler(handler) ? new LegacyHandler(options, handler) : handler
  return isFetchHandler(handler) ? new FetchHandler(native) : native
}

/** Creates a handler that can be called in either shape, from a handler of either shape. */
export function toTwoShapedHandler(options: DispatchOptions, handler: AnyDispatchHandler): TwoShapedHandler {
  return handler instanceof TwoShapedHandler
    ? handler
    : new TwoShapedHandler(toNativeHandler(options, handler))
}

/** A handler of Dodici's shape that calls a handler of the older shape. */
class LegacyHandler implements DispatchHandler {
  readonly #options: DispatchOptions
  readonly #handler: LegacyDispatchHandler

  constructor(options: DispatchOptions, handler: LegacyDispatchHandler) {
    this.#options = options
    this.#handler = handler
  }

  onRequestStart(controller: DispatchController, context: unknown): void {
    this.#handler.onConnect?.((reason) => controller.abort(reason), (context ?? undefined) as object)
  }

  onResponseStarted(): void {
    this.#handler.onResponseStarted?.()
  }

  onResponseStart(
    controller: DispatchController,
    statusCode: number,
    headers: IncomingHttpHeaders,
    statusMessage = '',
  ): void {
    const raw = toRawBuffers(toRaw(controller.rawHeaders, headers))
    const mayGoOn = this.#handler.onHeaders?.(statusCode, raw, () => controller.resume(), statusMessage)
    // For an informational response, undici 7's fetch returns false, although there is no body to hold back.
    if (mayGoOn === false && statusCode >= 200) controller.pause()
  }

  onResponseData(controller: DispatchController, chunk: Buffer): void {
    if (this.#handler.onData?.(chunk) === false) controller.pause()
  }

  onResponseEnd(controller: DispatchController, trailers: IncomingHttpHeaders): void {
    const raw = toRawBuffers(toRaw(controller.rawTrailers, trailers))
    if (this.#handler.onComplete !== undefined) Reflect.apply(this.#handler.onComplete, this.#handler, [raw])
  }

  onResponseError(_controller: DispatchController, error: Error): void {
    this.#handler.onError?.(error)
  }

  onRequestUpgrade(
    controller: DispatchController,
    statusCode: number,
    headers: IncomingHttpHeaders,
    socket: Duplex,
  ): void {
    // undici 7's fetch has this method of our shape, too: it supports tunnels over HTTP/2.
    if (this.#handler.onRequestUpgrade !== undefined) {
      this.#handler.onRequestUpgrade(controller, statusCode, headers, socket)
      return
    }
    const raw = toRaw(controller.rawHeaders, headers)
    const isExtendedConnect = this.#options.method !== 'CONNECT' && statusCode !== 101
    if (isExtendedConnect)
      this.#handler.onUpgrade?.(101, toRawBuffers([...this.#toUpgradeFields(), ...raw]), socket)
    else this.#handler.onUpgrade?.(statusCode, toRawBuffers(raw), socket)
  }

  onBodySent(chunk: Buffer): void {
    if (this.#handler.onBodySent !== undefined)
      Reflect.apply(this.#handler.onBodySent, this.#handler, [chunk])
  }

  onRequestSent(): void {
    this.#handler.onRequestSent?.()
  }

  /** The fields of an upgrade response over HTTP/1.1, which is all that the older shape supports. */
  #toUpgradeFields(): string[] {
    const { upgrade } = this.#options
    return ['connection', 'upgrade', 'upgrade', typeof upgrade === 'string' ? upgrade : 'websocket']
  }
}

/** The raw list of fields. A response from an interceptor may have none. */
function toRaw(raw: string[] | null | undefined, headers: IncomingHttpHeaders): string[] {
  return raw ?? toRawHeaders(headers)
}

/**
 * The controller of a call whose dispatcher uses the older shape. Handlers get it: it has only the members of
 * DispatchController.
 */
class LegacyController extends RawFields implements DispatchController {
  readonly #abort: (reason?: Error) => void
  #resume: (() => void) | null = null
  #paused = false
  #reason: Error | null = null

  constructor(abort: (reason?: Error) => void) {
    super()
    this.#abort = abort
  }

  get aborted(): boolean {
    return this.#reason !== null
  }

  get paused(): boolean {
    return this.#paused
  }

  get reason(): Error | null {
    return this.#reason
  }

  abort(reason?: Error): void {
    if (this.#reason !== null) return
    this.#reason = reason ?? new RequestAbortedError()
    this.#abort(this.#reason)
  }

  pause(): void {
    this.#paused = true
  }

  resume(): void {
    if (!this.#paused) return
    this.#paused = false
    this.#resume?.()
  }

  /** A response has begun. */
  static begin(it: LegacyController, rawHeaders: Buffer[], resume: () => void): void {
    it.rawHeaders = rawHeaders
    it.#resume = resume
  }
}

/**
 * A handler of both shapes that calls a handler of Dodici's shape. Callers use the shape that they know: a dispatcher
 * or an interceptor from undici 6 the older one, from undici 8 the newer one, from undici 7 either.
 */
export class TwoShapedHandler extends ForwardingHandler {
  /** The inner handler. */
  get target(): DispatchHandler {
    return this.handler
  }

  /** Null until a method of the older shape is called. */
  #controller: LegacyController | null = null

  onConnect(abort: (reason?: Error) => void, context?: object): void {
    this.#controller = new LegacyController(abort)
    this.handler.onRequestStart?.(this.#controller, context ?? null)
  }

  onHeaders(statusCode: number, headers: Buffer[], resume: () => void, statusText: string): boolean {
    const controller = this.#toController()
    LegacyController.begin(controller, headers, resume)
    this.handler.onResponseStart?.(controller, statusCode, toObject(controller.rawHeaders), statusText)
    return !controller.paused
  }

  onData(chunk: Buffer): boolean {
    const controller = this.#toController()
    this.handler.onResponseData?.(controller, chunk)
    return !controller.paused
  }

  onComplete(trailers: Buffer[] | string[] | null): void {
    const controller = this.#toController()
    controller.rawTrailers = trailers
    this.handler.onResponseEnd?.(controller, toObject(controller.rawTrailers))
  }

  onError(error: Error): void {
    this.handler.onResponseError?.(this.#toController(), error)
  }

  onUpgrade(statusCode: number, headers: Buffer[] | string[] | null, socket: Duplex): void {
    const controller = this.#toController()
    controller.rawHeaders = headers
    this.handler.onRequestUpgrade?.(controller, statusCode, toObject(controller.rawHeaders), socket)
  }

  /** The controller. A refused call has none yet, so it is created here. */
  #toController(): LegacyController {
    this.#controller ??= new LegacyController(noop)
    return this.#controller
  }
}

function toObject(raw: readonly string[] | null): IncomingHttpHeaders {
  return toHeaderObject(toRawHeaders(raw))
}
