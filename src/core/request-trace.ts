/**
 * A request as subscribers of undici's channels know it.
 *
 * @module
 */

import { AsyncResource } from 'node:async_hooks'
import { NotSupportedError } from '../errors.ts'
import { requestChannels } from './diagnostics.ts'
import type { HeaderTarget } from './headers.ts'
import { addHeaders } from './headers.ts'

/** What it is told of. */
export interface TracedRequest extends HeaderTarget {
  readonly origin: { readonly href: string }
  readonly method: string
  readonly path: string
}

/**
 * - `held`: nobody knows yet whether HTTP/2 will serve it
 * - `announced`: subscribers know of it
 * - `withdrawn`: somebody else serves it, and tells subscribers of it
 */
type TraceState = 'held' | 'announced' | 'withdrawn'

/** One object for the whole life of a request, over all its attempts: instrumentation keeps its own state by it. */
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
  /** How much is sent without what subscribers add. */
  #fields = 0
  #headerSize = 0
  #state: TraceState = 'held'
  /** Who dispatched it: subscribers ask for the span that it belongs to. */
  readonly #caller = new AsyncResource('DODICI_TRACE')

  constructor(request: TracedRequest) {
    this.origin = request.origin.href
    this.method = request.method
    this.path = request.path
    this.#request = request
  }

  get isAnnounced(): boolean {
    return this.#state === 'announced'
  }

  /** Tells subscribers of it, once: before it is sent, or fails. */
  announce(): void {
    if (this.#state !== 'held') return
    this.#state = 'announced'
    this.#fields = this.#request.wire.length
    this.#headerSize = this.#request.headerSize
    if (requestChannels.create.hasSubscribers)
      this.#caller.runInAsyncScope(() => requestChannels.create.publish({ request: this }))
  }

  /**
   * Somebody else serves it, with a trace of its own.
   *
   * @param error why the attempts that subscribers know of have failed; null for no special reason
   */
  withdraw(error: Error | null): void {
    if (this.#state === 'announced') {
      if (requestChannels.error.hasSubscribers) {
        const reason = error ?? new NotSupportedError(`${this.origin} serves this request by HTTP/1.1`)
        requestChannels.error.publish({ request: this, error: reason })
      }
      // They are asked anew: what they have added speaks of the attempts that have failed.
      this.#request.wire.length = this.#fields
      this.#request.headerSize = this.#headerSize
    }
    this.#state = 'withdrawn'
  }

  /** Does something in the async context of whoever dispatched it. */
  asCaller(act: () => void): void {
    this.#caller.runInAsyncScope(act)
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
