/**
 * Buffers a 421 response for undici's fetch.
 *
 * @module
 */

import type { DispatchController, DispatchHandler } from '../../types/handler.ts'
import type { IncomingHttpHeaders } from '../../types/headers.ts'
import { KeptPieces } from '../core/kept-pieces.ts'
import type { Request } from '../request/request.ts'
import { ForwardingHandler } from './forwarding-handler.ts'

/** RFC 9110 §15.5.20: Misdirected Request. */
export const MISDIRECTED = 421

/** How many bytes are held at most. A larger response is passed on as it arrives. */
const MAX_HELD = 65_536

/** The handler to use for a 421: the handler itself, unless fetch made the request and would send it again. */
export function toMisdirectedHandler(
  handler: DispatchHandler,
  { body, contentLength }: Request,
): DispatchHandler {
  // The only fetch bodies with a known length are those whose source fetch itself has.
  const isOfFetch = contentLength !== null && body.kind === 'stream' && body.fromIterable
  return isOfFetch ? new BufferedMisdirectedResponse(handler) : handler
}

/**
 * Holds a 421 back from fetch, which itself sends its request again as soon as it sees the header section, and drops
 * its connection first. A response that is complete by then is over; any other would end in an error, and take the body
 * of the second request with it (undici 6 and 7 do that over their own dispatchers, too). Once it is over, abort()
 * can't end it any more.
 */
class BufferedMisdirectedResponse extends ForwardingHandler {
  /** Null once it was passed on. */
  #header: Parameters<NonNullable<DispatchHandler['onResponseStart']>> | null = null
  readonly #kept = new KeptPieces()

  override onResponseStarted(): void {}

  override onResponseStart(
    controller: DispatchController,
    statusCode: number,
    headers: IncomingHttpHeaders,
    statusMessage?: string,
  ): void {
    this.#header = [controller, statusCode, headers, statusMessage]
    // A paused response would never become complete.
    if (controller.paused) this.#handOn(controller)
  }

  override onResponseData(controller: DispatchController, chunk: Buffer): void {
    if (this.#header === null) {
      super.onResponseData(controller, chunk)
      return
    }
    this.#kept.add(chunk)
    if (this.#kept.size > MAX_HELD) this.#handOn(controller)
  }

  override onResponseEnd(controller: DispatchController, trailers: IncomingHttpHeaders): void {
    this.#handOn(controller)
    super.onResponseEnd(controller, trailers)
  }

  override onResponseError(controller: DispatchController, error: Error): void {
    if (!controller.aborted) this.#handOn(controller)
    super.onResponseError(controller, error)
  }

  #handOn(controller: DispatchController): void {
    const header = this.#header
    if (header === null) return
    this.#header = null
    super.onResponseStarted()
    super.onResponseStart(...header)
    for (let piece = this.#kept.shift(); piece !== null; piece = this.#kept.shift()) {
      if (!controller.aborted) super.onResponseData(controller, piece)
    }
  }
}
