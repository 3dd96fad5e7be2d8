/**
 * Publishes a request's events on undici's and Dodici's diagnostics channels, if they have subscribers, and logs
 * them.
 *
 * @module
 */

import type { Duplex } from 'node:stream'
import type { DispatchController, DispatchHandler } from '../../types/handler.ts'
import type { IncomingHttpHeaders } from '../../types/headers.ts'
import { requestLog } from '../core/debug-log.ts'
import { callChannels, clientChannels, requestChannels } from '../core/diagnostics.ts'
import { toRawBuffers } from '../request/headers.ts'
import type { Request } from '../request/request.ts'
import { RequestTrace } from '../request/request-trace.ts'
import { ForwardingHandler } from './forwarding-handler.ts'

const OWN_CHANNELS = Object.freeze(Object.values(callChannels))
const CHANNELS = Object.freeze([
  ...Object.values(requestChannels),
  clientChannels.sendHeaders,
  ...OWN_CHANNELS,
])

/** Whether one of the channels has subscribers, or the log is on. */
export function hasSubscribers(
  channels: readonly { readonly hasSubscribers: boolean }[] = CHANNELS,
): boolean {
  // By index: this runs for each request, and an iterator would be garbage.
  for (let i = 0; i < channels.length; i++) if (channels[i]?.hasSubscribers === true) return true
  return requestLog !== null
}

/** The same for the channels that report every request, whatever its protocol. */
export function hasOwnSubscribers(): boolean {
  return hasSubscribers(OWN_CHANNELS)
}

/**
 * Publishes the request, and returns a handler that publishes its further events. Only called if there are
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
    this.#request.ended(controller.connection ?? null, null)
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
    // A subscriber may have ended the call: then the handler has been told.
    if (controller.aborted) return
    super.onResponseStart(controller, statusCode, headers, statusMessage)
  }

  override onResponseData(controller: DispatchController, chunk: Buffer): void {
    const { bodyChunkReceived } = requestChannels
    if (this.#hears(bodyChunkReceived)) bodyChunkReceived.publish({ request: this.#request, chunk })
    if (controller.aborted) return
    super.onResponseData(controller, chunk)
  }

  override onResponseEnd(controller: DispatchController, trailers: IncomingHttpHeaders): void {
    this.#request.ended(controller.connection ?? null, null)
    this.#publishEnd(controller.rawTrailers)
    super.onResponseEnd(controller, trailers)
  }

  override onResponseError(controller: DispatchController, error: Error): void {
    // It may have failed before it was known which protocol would serve it.
    this.#request.announce()
    this.#request.aborted = true
    this.#request.ended(controller.connection ?? null, error)
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

  #publishHeaders(controller: DispatchController, statusCode: number): void {
    this.#request.responded(controller.connection ?? null, statusCode)
    if (!this.#hears(requestChannels.headers)) return
    const response = { statusCode, statusText: '', headers: toRawBuffers(controller.rawHeaders) }
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
