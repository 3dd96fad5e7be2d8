/**
 * An answer that is handed on in whole.
 *
 * @module
 */

import type { DispatchController, DispatchHandler } from '../../types/handler.ts'
import type { IncomingHttpHeaders } from '../../types/headers.ts'
import { ForwardingHandler } from './forwarding-handler.ts'

/** What is held at most. A larger answer is handed on as it comes. Bytes. */
const MAX_HELD = 65_536

/**
 * Holds a 421 back whose request can't be sent again by us: fetch sends it again by itself, as soon as it sees the header, and drops
 * its connection first. An answer that has come in whole by then is over; any other would end in an error, and take the second
 * request with it (undici 6 and 7, over their own dispatchers as well).
 */
export class HeldAnswer extends ForwardingHandler {
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
