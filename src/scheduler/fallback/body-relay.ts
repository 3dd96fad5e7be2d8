/**
 * The body of a request, as the fallback dispatcher reads it.
 *
 * @module
 */

import { Readable } from 'node:stream'
import { toError } from '../../errors/errors.ts'
import type { StreamBody } from '../../request/body-source.ts'
import { toChunk } from '../../request/chunk-source.ts'

/**
 * Stands between the dispatcher and the source: a dispatcher that stops reading destroys the relay, and the source is
 * left to its call. The source is opened when the relay is first read: an attempt that finds no connection leaves it
 * untouched.
 */
export class BodyRelay extends Readable {
  readonly #body: StreamBody
  /** Null before it was opened. */
  #source: Readable | null = null
  readonly #onData = (chunk: unknown): void => this.#receive(chunk)
  readonly #onEnd = (): void => void this.push(null)

  constructor(body: StreamBody) {
    // A piece at a time: the source reads ahead as far as its own buffer goes.
    super({ objectMode: true, highWaterMark: 1 })
    this.#body = body
  }

  override _read(): void {
    if (this.#source === null) this.#open()
    else this.#source.resume()
  }

  override _destroy(error: Error | null, callback: (error?: Error | null) => void): void {
    const source = this.#source
    if (source !== null) {
      source.off('data', this.#onData)
      source.off('end', this.#onEnd)
      // Without a listener it would go on.
      source.pause()
    }
    callback(error)
  }

  #open(): void {
    try {
      this.#source = this.#body.open()
    } catch (thrown) {
      this.destroy(toError(thrown))
      return
    }
    this.#source.on('data', this.#onData)
    this.#source.on('end', this.#onEnd)
    // The code that made the source may have paused it.
    this.#source.resume()
  }

  #receive(chunk: unknown): void {
    try {
      if (!this.push(toChunk(chunk))) this.#source?.pause()
    } catch (thrown) {
      this.destroy(toError(thrown))
    }
  }
}
