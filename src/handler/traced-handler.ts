/**
 * Publishes what becomes of a request on undici's channels, where somebody listens.
 *
 * @module
 */

import type { Duplex } from 'node:stream'
import type { DispatchController, DispatchHandler } from '../../types/handler.ts'
import type { IncomingHttpHeaders } from '../../types/headers.ts'
import { clientChannels, requestChannels } from '../core/diagnostics.ts'
import { toRawBuffers } from '../core/headers.ts'
import type { Request } from '../core/request.ts'
import { RequestTrace } from '../core/request-trace.ts'
import { ForwardingHandler } from './forwarding-handler.ts'

const CHANNELS = Object.freeze([...Object.values(requestChannels), clientChannels.sendHeaders])

/** Whether somebody listens. */
export function hasSubscribers(): boolean {
  // By index: on the way of each request an iterator is garbage.
  for (let i = 0; i < CHANNELS.length; i++) if (CHANNELS[i]?.hasSubscribers === true) return true
  return false
}

/**
 * Where somebody listens.
 *
 * @param isHttp2 whether HTTP/2 will serve it, as far as anybody can tell; else it is announced when that is known
 */
export function trace(request: Request, handler: DispatchHandler, isHttp2: boolean): DispatchHandler {
  const traced = new RequestTrace(request)
  request.trace = traced
  if (isHttp2) traced.announce()
  return new TracedHandler(traced, handler)
}

/** Passes everything on, and publishes it first, unless somebody else does. */
class TracedHandler extends ForwardingHandler {
  readonly #request: RequestTrace

  constructor(request: RequestTrace, handler: DispatchHandler) {
    super(handler)
    this.#request = request
  }

  override onRequestUpgrade(
    controller: DispatchController,
    statusCode: number,
    headers: IncomingHttpHeaders,
    socket: Duplex,
  ): void {
    this.#publishHeaders(controller, statusCode)
    // What follows is no response any more: a span ends here.
    this.#publishEnd(null)
    super.onRequestUpgrade(controller, statusCode, headers, socket)
  }

  override onResponseStart(
    controller: DispatchController,
    statusCode: number,
    headers: IncomingHttpHeaders,
    statusMessage: string,
  ): void {
    if (statusCode >= 200) this.#publishHeaders(controller, statusCode)
    super.onResponseStart(controller, statusCode, headers, statusMessage)
  }

  override onResponseData(controller: DispatchController, chunk: Buffer): void {
    const { bodyChunkReceived } = requestChannels
    if (this.#hears(bodyChunkReceived)) bodyChunkReceived.publish({ request: this.#request, chunk })
    super.onResponseData(controller, chunk)
  }

  override onResponseEnd(controller: DispatchController, trailers: IncomingHttpHeaders): void {
    this.#publishEnd(controller.rawTrailers)
    super.onResponseEnd(controller, trailers)
  }

  override onResponseError(controller: DispatchController, error: Error): void {
    // It may have failed before it was known who would serve it.
    this.#request.announce()
    this.#request.aborted = true
    if (this.#hears(requestChannels.error)) requestChannels.error.publish({ request: this.#request, error })
    super.onResponseError(controller, error)
  }

  override onBodySent(chunk: Buffer): void {
    const { bodyChunkSent } = requestChannels
    if (this.#hears(bodyChunkSent)) bodyChunkSent.publish({ request: this.#request, chunk })
    super.onBodySent(chunk)
  }

  override onRequestSent(): void {
    const { bodySent } = requestChannels
    if (this.#hears(bodySent)) bodySent.publish({ request: this.#request })
    super.onRequestSent()
  }

  #publishHeaders({ rawHeaders }: DispatchController, statusCode: number): void {
    if (!this.#hears(requestChannels.headers)) return
    const response = { statusCode, statusText: '', headers: toRawBuffers(rawHeaders) }
    requestChannels.headers.publish({ request: this.#request, response })
  }

  #publishEnd(rawTrailers: readonly string[] | null): void {
    this.#request.completed = true
    if (!this.#hears(requestChannels.trailers)) return
    requestChannels.trailers.publish({ request: this.#request, trailers: toRawBuffers(rawTrailers) })
  }

  #hears(channel: { readonly hasSubscribers: boolean }): boolean {
    return channel.hasSubscribers && this.#request.isAnnounced
  }
}
