/**
 * A request as subscribers of undici's channels know it.
 *
 * @module
 */

import type { HeaderTarget } from './headers.ts'
import { addHeaders } from './headers.ts'

/** What it is told of. */
export interface TracedRequest extends HeaderTarget {
  readonly origin: { readonly href: string }
  readonly method: string
  readonly path: string
}

/** One object for the whole life of a request, over all its attempts: instrumentation keeps its own state by it. */
export class RequestTrace {
  /** As `URL.origin` writes it. */
  readonly origin: string
  readonly method: string
  /** Path and query. */
  readonly path: string
  /** The answer has come to its end. */
  completed = false
  /** The call has failed. */
  aborted = false
  readonly #request: TracedRequest

  constructor(request: TracedRequest) {
    this.origin = request.origin.href
    this.method = request.method
    this.path = request.path
    this.#request = request
  }

  /** The fields that are sent, as a flat list. */
  get headers(): string[] {
    const { wire } = this.#request
    return wire.filter((_, index) => !wire[index - (index % 2)]?.startsWith(':'))
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
