/**
 * An answer that is handed on in whole.
 *
 * @module
 */

import type { DispatchController, DispatchHandler } from '../../types/handler.ts'
import type { IncomingHttpHeaders } from '../../types/headers.ts'

/** What is held at most. A larger answer is handed on as it comes. Bytes. */
const MAX_HELD = 65_536

/**
 * Holds a 421 back whose request can't be sent again by us: fetch sends it again by itself, as soon as it sees the header, and drops
 * its connection first. An answer that has come in whole by then is over; any other would end in an error, and take the second
 * request with it (undici 6 and 7, over their own dispatchers as well).
 */
export class HeldAnswer implements DispatchHandler {
  readonly #handler: DispatchHandler
  /** Null once it was handed on. */
  #header: Parameters<NonNullable<DispatchHandler['onResponseStart']>> | null = null
  #chunks: Buffer[] = []
  #size = 0

  constructor(handler: DispatchHandler) {
    this.#handler = handler
  }

  onResponseStart(
    controller: DispatchController,
    statusCode: number,
    headers: IncomingHttpHeaders,
    statusMessage?: string,
  ): void {
    this.#header = [controller, statusCode, headers, statusMessage]
  }

  onResponseData(controller: DispatchController, chunk: Buffer): void {
    if (this.#header === null) {
      this.#handler.onResponseData?.(controller, chunk)
      return
    }
    this.#chunks.push(chunk)
    this.#size += chunk.length
    if (this.#size > MAX_HELD) this.#handOn(controller)
  }

  onResponseEnd(controller: DispatchController, trailers: IncomingHttpHeaders): void {
    this.#handOn(controller)
    this.#handler.onResponseEnd?.(controller, trailers)
  }

  onResponseError(controller: DispatchController, error: Error): void {
    this.#handler.onResponseError?.(controller, error)
  }

  onBodySent(chunk: Buffer): void {
    this.#handler.onBodySent?.(chunk)
  }

  onRequestSent(): void {
    this.#handler.onRequestSent?.()
  }

  #handOn(controller: DispatchController): void {
    const header = this.#header
    if (header === null) return
    this.#header = null
    this.#handler.onResponseStarted?.()
    this.#handler.onResponseStart?.(...header)
    for (const chunk of this.#chunks)
      if (!controller.aborted) this.#handler.onResponseData?.(controller, chunk)
    this.#chunks = []
  }
}
