/**
 * A call's raw headers and trailers: created on first use, and then kept.
 *
 * @module
 */

import type { RawHeadersSource } from '../request/headers.ts'
import { toRawHeaders } from '../request/headers.ts'

/** A list that was created: from now on it is the controller's own, whatever happens to the source. */
class Made {
  readonly list: string[]

  constructor(list: string[]) {
    this.list = list
  }
}

/** The part of a controller that interceptors assign to, and whose lists they may change in place. */
export abstract class RawFields {
  /** Null before a response. */
  #headers: RawHeadersSource | Made = null
  #trailers: RawHeadersSource | Made = null

  get rawHeaders(): string[] | null {
    if (this.#headers === null) return null
    if (!(this.#headers instanceof Made)) this.#headers = new Made(toRawHeaders(this.#headers))
    return this.#headers.list
  }

  set rawHeaders(value: RawHeadersSource) {
    this.#headers = value ?? null
  }

  get rawTrailers(): string[] | null {
    if (this.#trailers === null) return null
    if (!(this.#trailers instanceof Made)) this.#trailers = new Made(toRawHeaders(this.#trailers))
    return this.#trailers.list
  }

  set rawTrailers(value: RawHeadersSource) {
    this.#trailers = value ?? null
  }
}
