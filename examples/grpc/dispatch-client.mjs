/** A gRPC client that uses `dispatch()`. */

// @ts-check

import { checkHeader, checkStatus, MessageReader, toGrpcError, toMetadata, toRequest } from './protocol.mjs'

/** @typedef {import('dodici').DispatchController} DispatchController */
/** @typedef {import('dodici').DispatchHandler} DispatchHandler */

/**
 * A call of any kind. It starts at once. Read its messages by `for await`, once; leaving the loop cancels the call.
 *
 * @throws {import('./protocol.mjs').GrpcError} if the call has failed, once the messages that came have been read
 * @implements {DispatchHandler}
 * @implements {AsyncIterable<Buffer>}
 */
export class GrpcCall {
  #options
  #reader
  #begun = performance.now()
  /** @type {DispatchController | null} */
  #controller = null
  /** @type {Buffer[]} */
  #messages = []
  /** @type {import('./protocol.mjs').Metadata} */
  #header = []
  /** How the call has ended. null: it hasn't. @type {{ readonly error: Error | null } | null} */
  #end = null
  /** @type {() => void} */
  #wake = () => {}
  #onAbort = () => this.cancel(this.#options.signal?.reason)

  /**
   * @param {import('dodici').Dispatcher} dispatcher a Client or a Pool of the server's origin, or an Agent
   * @param {string} method such as `package.Service/Method`
   * @param {import('./protocol.mjs').Input} input
   * @param {import('./protocol.mjs').CallOptions} options
   */
  constructor(dispatcher, method, input, options = {}) {
    this.#options = options
    this.#reader = new MessageReader(options)
    dispatcher.dispatch(toRequest(method, input, options), this)
  }

  /** @param {Error} [reason] */
  cancel(reason) {
    this.#controller?.abort(reason)
  }

  /** @returns {AsyncGenerator<Buffer>} */
  async *[Symbol.asyncIterator]() {
    try {
      for (;;) {
        const messages = this.#messages
        this.#messages = []
        yield* messages
        if (this.#messages.length > 0) continue
        if (this.#end !== null) break
        await new Promise((resolve) => {
          this.#wake = () => resolve(null)
          this.#controller?.resume()
        })
      }
      if (this.#end.error !== null) throw this.#end.error
    } finally {
      this.cancel()
    }
  }

  /** @param {DispatchController} controller */
  onRequestStart(controller) {
    this.#controller = controller
    const { signal } = this.#options
    if (signal?.aborted) this.#onAbort()
    else signal?.addEventListener('abort', this.#onAbort)
  }

  /** @param {DispatchController} controller @param {number} statusCode */
  onResponseStart(controller, statusCode) {
    // An informational response.
    if (statusCode < 200) return
    this.#header = toMetadata(controller.rawHeaders ?? [])
    // An exception ends the call, and is its error.
    checkHeader(statusCode, this.#header)
    this.#options.onMetadata?.(this.#header)
  }

  /** @param {DispatchController} controller @param {Buffer} piece */
  onResponseData(controller, piece) {
    this.#messages.push(...this.#reader.read(piece))
    if (this.#messages.length === 0) return
    // The next messages come when these have been read: until then the server waits for the stream window.
    controller.pause()
    this.#wake()
  }

  /** @param {DispatchController} controller */
  onResponseEnd(controller) {
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

  /** @param {DispatchController} _controller @param {Error} error */
  onResponseError(_controller, error) {
    this.#finish(error)
  }

  /** @param {unknown} error null: the status is OK */
  #finish(error) {
    this.#options.signal?.removeEventListener('abort', this.#onAbort)
    this.#end = { error: error === null ? null : toGrpcError(error, this.#options, this.#begun) }
    this.#wake()
  }
}
