/**
 * A request as subscribers of undici's channels know it.
 *
 * @module
 */

import { requestChannels } from '../core/diagnostics.ts'
import { NotSupportedError } from '../errors/errors.ts'
import type { HeaderTarget } from './headers.ts'
import { addHeaders } from './headers.ts'

/** What a trace needs of its request. */
export interface TracedRequest extends HeaderTarget {
  readonly origin: { readonly href: string }
  readonly method: string
  readonly path: string
}

/**
 * - `held`: it isn't known yet whether HTTP/2 will serve the request
 * - `announced`: subscribers know of it
 * - `withdrawn`: the fallback serves it, and tells subscribers of it
 */
type TraceState = 'held' | 'announced' | 'withdrawn'

/** One object for the whole life of a request, over all its attempts: instrumentation uses it as a key. */
export class RequestTrace {
  /** As `URL.origin` writes it. */
  readonly origin: string
  readonly method: string
  /** Path and query. */
  readonly path: string
  /** The response has come to its end. */
  completed = false
  /** The call has failed. */
  aborted = false
  readonly #request: TracedRequest
  /** Entries of `wire` before subscribers have added any. */
  #fields = 0
  #headerSize = 0
  #state: TraceState = 'held'

  constructor(request: TracedRequest) {
    this.origin = request.origin.href
    this.method = request.method
    this.path = request.path
    this.#request = request
  }

  get isAnnounced(): boolean {
    return this.#state === 'announced'
  }

  /** Publishes the request, once: before it is sent, or fails. In its caller's context, where the current span is. */
  announce(): void {
    if (this.#state !== 'held') return
    this.#state = 'announced'
    this.#fields = this.#request.wire.length
    this.#headerSize = this.#request.headerSize
    if (requestChannels.create.hasSubscribers) requestChannels.create.publish({ request: this })
  }

  /**
   * The fallback serves the request, with a trace of its own.
   *
   * @param error why the attempts that were published have failed; null for no special reason
   */
  withdraw(error: Error | null): void {
    if (this.#state === 'announced') {
      if (requestChannels.error.hasSubscribers) {
        const reason = error ?? new NotSupportedError(`${this.origin} serves this request by HTTP/1.1`)
        requestChannels.error.publish({ request: this, error: reason })
      }
      // The fields that subscribers added belong to the failed attempts. Subscribers can add new ones.
      this.#request.wire.length = this.#fields
      this.#request.headerSize = this.#headerSize
    }
    this.#state = 'withdrawn'
  }

  /** The fallback can't serve the request after all. */
  hold(): void {
    if (this.#state === 'withdrawn') this.#state = 'held'
  }

  /** The fields that are sent, as a flat list. Credentials for a proxy are left out: they aren't the caller's. */
  get headers(): string[] {
    const { wire } = this.#request
    return wire.filter((_, index) => {
      const name = wire[index - (index % 2)]
      return name?.startsWith(':') === false && name !== 'proxy-authorization'
    })
  }

  /**
   * Adds a field, such as `traceparent`, to what is sent from now on.
   *
   * @throws InvalidArgumentError when it is none
   */
  addHeader(name: string, value: string): this {
    addHeaders(this.#request, [name, value])
    return this
  }
}
