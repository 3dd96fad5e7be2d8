/**
 * A response that is handed on in whole.
 *
 * @module
 */

import type { DispatchController, DispatchHandler } from '../../types/handler.ts'
import type { IncomingHttpHeaders } from '../../types/headers.ts'
import type { Request } from '../core/request.ts'
import { ForwardingHandler } from './forwarding-handler.ts'

/** What is held at most. A larger response is handed on as it comes. Bytes. */
const MAX_HELD = 65_536

/**
 * Holds a 421 back that fetch is told of: it sends its request again by itself, as soon as it sees the header, and
 * drops its connection first. A response that has come in whole by then is over; any other would end in an error, and
 * take the body of the second request with it (undici 6 and 7, over their own dispatchers as well). Once it is over,
 * abort() can't end it any more.
 */
export class BufferedMisdirectedResponse extends ForwardingHandler {
  /**
   * Whether a request may be one of fetch's, with a body of which fetch has the source: it knows the length of these
   * alone.
   */
  static isFor({ body, contentLength }: Request): boolean {
    return contentLength !== null && body.kind === 'stream' && body.fromIterable
  }

  /** Null once it was handed on. */
  #header: Parameters<NonNullable<DispatchHandler['onResponseStart']>> | null = null
  #chunks: Buffer[] = []
  #size = 0

  override onResponseStarted(): void {}

  override onResponseStart(
    controller: DispatchController,
    statusCode: number,
    headers: IncomingHttpHeaders,
    statusMessage?: string,
  ): void {
    this.#header = [controller, statusCode, headers, statusMessage]
    // There is nothing to wait for then.
    if (controller.paused) this.#handOn(controller)
  }

  override onResponseData(controller: DispatchController, chunk: Buffer): void {
    if (this.#header === null) {
      super.onResponseData(controller, chunk)
      return
    }
    this.#chunks.push(chunk)
    this.#size += chunk.length
    if (this.#size > MAX_HELD) this.#handOn(controller)
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
    for (const chunk of this.#chunks) if (!controller.aborted) super.onResponseData(controller, chunk)
    this.#chunks = []
  }
}
