/**
 * A request's body, as the fallback dispatcher reads it.
 *
 * @module
 */

import { Readable } from 'node:stream'
import { toError } from '../../errors/errors.ts'
import type { StreamBody } from '../../request/body-source.ts'
import { toChunk } from '../../request/chunk-source.ts'

/**
 * Stands between the dispatcher and the source: a dispatcher that stops reading destroys the relay, but the source
 * still belongs to its call. The source is opened on the relay's first read, so an attempt that finds no connection
 * doesn't touch it.
 */
export class BodyRelay extends Readable {
  readonly #body: StreamBody
  /** Null until it is opened. */
  #source: Readable | null = null
  readonly #onData = (chunk: unknown): void => this.#receive(chunk)
  readonly #onEnd = (): void => void this.push(null)

  constructor(body: StreamBody) {
    // One piece at a time: the source reads ahead as far as its own buffer allows.
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
      // Without a listener, it would continue.
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
    // The code that created the source may have paused it.
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
