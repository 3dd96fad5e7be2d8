/**
 * Moves a request's body from its source into a stream of node:http2.
 *
 * @module
 */

import type { ClientHttp2Stream } from 'node:http2'
import type { Readable } from 'node:stream'
import { invalid } from '../core/options.ts'
import { RequestContentLengthMismatchError } from '../errors.ts'
import type { Call } from '../handler/call.ts'

/**
 * Reads the source no faster than the peer's window takes it. The source's end is the stream's end; of its failure the
 * call hears from the body itself. A length that isn't the announced one fails the call before the peer would.
 */
export class NodeBodyWriter {
  readonly #source: Readable
  readonly #stream: ClientHttp2Stream
  readonly #call: Call
  #written = 0
  #isOver = false

  readonly #onData = (chunk: unknown): void => this.#write(chunk)
  readonly #onEnd = (): void => this.#end()
  readonly #onDrain = (): void => {
    this.#call.progress()
    this.#source.resume()
  }

  constructor(source: Readable, stream: ClientHttp2Stream, call: Call) {
    this.#source = source
    this.#stream = stream
    this.#call = call
    source.on('data', this.#onData)
    source.on('end', this.#onEnd)
    stream.on('drain', this.#onDrain)
    // Its maker may have paused it.
    source.resume()
  }

  /** Nobody wants the rest: the source is destroyed. Idempotent, and a no-op once all of it was sent. */
  stop(): void {
    if (this.#isOver) return
    this.#detach()
    this.#source.destroy()
  }

  #write(chunk: unknown): void {
    const bytes = typeof chunk === 'string' ? Buffer.from(chunk) : chunk
    if (!(bytes instanceof Uint8Array)) {
      this.#fail(invalid('chunk of the request body', chunk, 'a string or bytes'))
      return
    }
    this.#written += bytes.byteLength
    const { contentLength } = this.#call.request
    if (contentLength !== null && this.#written > contentLength) {
      this.#fail(this.#toMismatch(contentLength))
      return
    }
    this.#call.progress()
    if (!this.#stream.write(bytes)) this.#source.pause()
  }

  #end(): void {
    const { contentLength } = this.#call.request
    if (contentLength !== null && this.#written !== contentLength) {
      this.#fail(this.#toMismatch(contentLength))
      return
    }
    this.#detach()
    this.#call.progress()
    this.#stream.end()
  }

  #fail(error: Error): void {
    if (this.#isOver) return
    this.#detach()
    this.#source.destroy()
    this.#call.fail(error)
  }

  #toMismatch(contentLength: number): RequestContentLengthMismatchError {
    const counts = `${this.#written} bytes came, content-length says ${contentLength}`
    return new RequestContentLengthMismatchError(
      `The request body has another length than announced: ${counts}`,
    )
  }

  #detach(): void {
    this.#isOver = true
    this.#source.off('data', this.#onData)
    this.#source.off('end', this.#onEnd)
    this.#stream.off('drain', this.#onDrain)
  }
}
