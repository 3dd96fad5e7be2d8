/**
 * A handler that wraps another one.
 *
 * @module
 */

import type { Duplex } from 'node:stream'
import type { DispatchController, DispatchHandler } from '../../types/handler.ts'
import type { IncomingHttpHeaders } from '../../types/headers.ts'

/** Passes every call on to the inner handler. Subclasses override what they change. */
export abstract class ForwardingHandler implements DispatchHandler {
  protected readonly handler: DispatchHandler

  constructor(handler: DispatchHandler) {
    this.handler = handler
  }

  onRequestStart(controller: DispatchController, context: unknown): void {
    this.handler.onRequestStart?.(controller, context)
  }

  onRequestUpgrade(
    controller: DispatchController,
    statusCode: number,
    headers: IncomingHttpHeaders,
    socket: Duplex,
  ): void {
    this.handler.onRequestUpgrade?.(controller, statusCode, headers, socket)
  }

  onResponseStarted(): void {
    this.handler.onResponseStarted?.()
  }

  onResponseStart(
    controller: DispatchController,
    statusCode: number,
    headers: IncomingHttpHeaders,
    statusMessage?: string,
  ): void {
    this.handler.onResponseStart?.(controller, statusCode, headers, statusMessage)
  }

  onResponseData(controller: DispatchController, chunk: Buffer): void {
    this.handler.onResponseData?.(controller, chunk)
  }

  onResponseEnd(controller: DispatchController, trailers: IncomingHttpHeaders): void {
    this.handler.onResponseEnd?.(controller, trailers)
  }

  onResponseError(controller: DispatchController, error: Error): void {
    this.handler.onResponseError?.(controller, error)
  }

  onBodySent(chunk: Buffer): void {
    this.handler.onBodySent?.(chunk)
  }

  onRequestSent(): void {
    this.handler.onRequestSent?.()
  }
}
