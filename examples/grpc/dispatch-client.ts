/** A gRPC client over `dispatch()`. */

import type { DispatchController, Dispatcher, DispatchHandler } from 'dodici'
import type { CallOptions, Input, Metadata } from './protocol.ts'
import { checkHeader, checkStatus, MessageReader, toGrpcError, toMetadata, toRequest } from './protocol.ts'

/**
 * A call of any kind. It starts at once. Read its messages by `for await`, once; leaving the loop cancels the call.
 *
 * @throws GrpcError if the call has failed, once the messages that came have been read
 */
export class GrpcCall implements DispatchHandler, AsyncIterable<Buffer> {
  readonly #options: CallOptions
  readonly #reader: MessageReader
  readonly #begun = performance.now()
  #controller: DispatchController | null = null
  #messages: Buffer[] = []
  #header: Metadata = []
  /** How the call has ended. null: it hasn't. */
  #end: { readonly error: Error | null } | null = null
  #wake: () => void = () => {}
  readonly #onAbort = (): void => this.cancel(this.#options.signal?.reason)

  /**
   * @param dispatcher a Client or a Pool of the server's origin, or an Agent
   * @param method such as `package.Service/Method`
   */
  constructor(dispatcher: Dispatcher, method: string, input: Input, options: CallOptions = {}) {
    this.#options = options
    this.#reader = new MessageReader(options)
    dispatcher.dispatch(toRequest(method, input, options), this)
  }

  cancel(reason?: Error): void {
    this.#controller?.abort(reason)
  }

  async *[Symbol.asyncIterator](): AsyncGenerator<Buffer> {
    try {
      for (;;) {
        const messages = this.#messages
        this.#messages = []
        yield* messages
        if (this.#messages.length > 0) continue
        if (this.#end !== null) break
        await new Promise<void>((resolve) => {
          this.#wake = resolve
          this.#controller?.resume()
        })
      }
      if (this.#end.error !== null) throw this.#end.error
    } finally {
      this.cancel()
    }
  }

  onRequestStart(controller: DispatchController): void {
    this.#controller = controller
    const { signal } = this.#options
    if (signal?.aborted) this.#onAbort()
    else signal?.addEventListener('abort', this.#onAbort)
  }

  onResponseStart(controller: DispatchController, statusCode: number): void {
    // An informational response.
    if (statusCode < 200) return
    this.#header = toMetadata(controller.rawHeaders ?? [])
    // An exception ends the call, and is its error.
    checkHeader(statusCode, this.#header)
    this.#options.onMetadata?.(this.#header)
  }

  onResponseData(controller: DispatchController, piece: Buffer): void {
    this.#messages.push(...this.#reader.read(piece))
    if (this.#messages.length === 0) return
    // The next messages come when these have been read: until then the server waits for the stream window.
    controller.pause()
    this.#wake()
  }

  onResponseEnd(controller: DispatchController): void {
    try {
      const trailers = toMetadata(controller.rawTrailers ?? [])
      this.#options.onTrailers?.(trailers)
      this.#reader.end()
      checkStatus(this.#header, trailers)
      this.#finish(null)
    } catch (error) {
      this.#finish(error)
    }
  }

  onResponseError(_controller: DispatchController, error: Error): void {
    this.#finish(error)
  }

  #finish(error: unknown): void {
    this.#options.signal?.removeEventListener('abort', this.#onAbort)
    this.#end = { error: error === null ? null : toGrpcError(error, this.#options, this.#begun) }
    this.#wake()
  }
}
