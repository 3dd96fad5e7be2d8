/**
 * The raw headers and trailers of a call: made on first use, and then kept.
 *
 * @module
 */

import type { RawHeadersSource } from '../request/headers.ts'
import { toRawHeaders } from '../request/headers.ts'

/** The part of a controller that interceptors assign, and whose lists they may change in place. */
export abstract class RawFields {
  /** The source of the raw headers; null before a response. */
  #headersSource: RawHeadersSource = null
  /** Null until first used. */
  #rawHeaders: string[] | null = null
  #trailersSource: RawHeadersSource = null
  #rawTrailers: string[] | null = null

  get rawHeaders(): string[] | null {
    if (this.#rawHeaders === null && this.#headersSource !== null)
      this.#rawHeaders = toRawHeaders(this.#headersSource)
    return this.#rawHeaders
  }

  set rawHeaders(value: RawHeadersSource) {
    this.#headersSource = value ?? null
    this.#rawHeaders = null
  }

  get rawTrailers(): string[] | null {
    if (this.#rawTrailers === null && this.#trailersSource !== null) {
      this.#rawTrailers = toRawHeaders(this.#trailersSource)
    }
    return this.#rawTrailers
  }

  set rawTrailers(value: RawHeadersSource) {
    this.#trailersSource = value ?? null
    this.#rawTrailers = null
  }
}
