/**
 * Publishes the events of a request on undici's diagnostics channels, if they have subscribers.
 *
 * @module
 */

import type { Duplex } from 'node:stream'
import type { DispatchController, DispatchHandler } from '../../types/handler.ts'
import type { IncomingHttpHeaders } from '../../types/headers.ts'
import { clientChannels, requestChannels } from '../core/diagnostics.ts'
import { toRawBuffers } from '../request/headers.ts'
import type { Request } from '../request/request.ts'
import { RequestTrace } from '../request/request-trace.ts'
import { ForwardingHandler } from './forwarding-handler.ts'

const CHANNELS = Object.freeze([...Object.values(requestChannels), clientChannels.sendHeaders])

/** Whether one of the channels has a subscriber. */
export function hasSubscribers(): boolean {
  // By index: this runs for each request, and an iterator would be garbage.
  for (let i = 0; i < CHANNELS.length; i++) if (CHANNELS[i]?.hasSubscribers === true) return true
  return false
}

/**
 * Publishes the request, and returns a handler that publishes its further events. Only called when there are
 * subscribers.
 *
 * @param isHttp2 whether HTTP/2 is expected to serve it; otherwise it is announced when that is known
 */
export function trace(request: Request, handler: DispatchHandler, isHttp2: boolean): DispatchHandler {
  const traced = new RequestTrace(request)
  request.trace = traced
  if (isHttp2) traced.announce()
  return new TracedHandler(traced, handler)
}

/** Passes everything on, and publishes it first, unless an undici dispatcher that serves the request publishes it. */
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
    // The response ends with the upgrade, and so does a trace's span.
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
    // It may have failed before it was known which protocol would serve it.
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
