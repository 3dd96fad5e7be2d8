/**
 * The abstract class of all dispatchers: `compose()`, life cycle, events. It inherits the API methods.
 *
 * @module
 */

import type { InspectOptions } from 'node:util'
import { inspect } from 'node:util'
import type { EventSourceOptions, WebSocketOptions } from '../../types/client.ts'
import type {
  CloseOptions,
  Dispatch,
  DispatcherComposeInterceptor,
  Dispatcher as DispatcherType,
} from '../../types/dispatcher.ts'
import type { AnyDispatchHandler } from '../../types/handler.ts'
import type { DispatchOptions } from '../../types/request.ts'
import { markClass } from '../core/class-mark.ts'
import { invalid } from '../core/validate.ts'
import { isFit } from '../handler/check-handler.ts'
import { toTwoShapedHandler } from '../handler/legacy-handler.ts'
import { DEFAULT_RECEIVE_LIMITS } from '../options/receive-limits.ts'
import { ApiDispatcher } from './api-dispatcher.ts'
import { toComposed } from './composed.ts'

/**
 * The abstract dispatcher. The API methods need only `dispatch()`: a subclass that implements `dispatch()` gets all
 * of them.
 */
export abstract class Dispatcher extends ApiDispatcher implements DispatcherType {
  #isBehindOthers = false

  /** Whether interceptors or an Agent wrap it: requests may then have options that are meant for those. */
  protected get isBehindOthers(): boolean {
    return this.#isBehindOthers
  }

  /** Tells a dispatcher that another one wraps it. Does nothing for dispatchers from other packages. */
  protected static putBehind(dispatcher: object): void {
    if (#isBehindOthers in dispatcher) dispatcher.#isBehindOthers = true
  }

  /** The origin, as `URL.origin` writes it. `null`: each request names its own. */
  get origin(): string | null {
    return null
  }

  /** Whether it sends every request to one origin, whatever origin the request names. */
  protected get isOriginless(): boolean {
    return false
  }

  /** How many bytes a response body may have if the request sets no limit. -1: no limit. */
  get maxResponseSize(): number {
    return -1
  }

  /** The limits for a WebSocket over this dispatcher. undici's WebSocket, and the one built into Node, read this. */
  get webSocketOptions(): Required<WebSocketOptions> {
    return DEFAULT_RECEIVE_LIMITS.webSocket
  }

  /**
   * The limits for an EventSource over this dispatcher. undici's EventSource, and the one built into Node, read this.
   */
  get eventSourceOptions(): Required<EventSourceOptions> {
    return DEFAULT_RECEIVE_LIMITS.eventSource
  }

  /**
   * Whether `close()` was called, so that it accepts no more requests. As in undici, `destroy()` alone doesn't count.
   */
  abstract get closed(): boolean

  /** Whether `destroy()` was called, or `close()` has finished. */
  abstract get destroyed(): boolean

  /**
   * Sends one request. The handler gets the outcome, even for invalid options and a closed dispatcher.
   *
   * @returns false if the request has to wait: if you can, send no more until the `drain` event.
   * @throws InvalidArgumentError if the handler isn't a handler.
   */
  abstract dispatch(options: DispatchOptions, handler: AnyDispatchHandler): boolean

  /** Accepts no more requests, and settles when the running ones have settled. */
  abstract close(options?: CloseOptions): Promise<void>
  abstract close(callback: () => void): void

  /** Fails all requests with `error`, by default a ClientDestroyedError, and settles when the connections are gone. */
  abstract destroy(): Promise<void>
  abstract destroy(error: Error | null): Promise<void>
  abstract destroy(callback: () => void): void
  abstract destroy(error: Error | null, callback: () => void): void

  /** For `await using`: the same as `close()`. */
  [Symbol.asyncDispose](): Promise<void> {
    // After destroy() there is nothing to wait for, and close() would fail.
    return this.destroyed ? this.destroy() : this.close()
  }

  /** What `console.log()` shows: the origin, the state, and how busy it is, but no options. */
  [inspect.custom](depth: number | null, options: InspectOptions, show: typeof inspect): string {
    const { name } = this.constructor
    return depth !== null && depth < 0
      ? `[${name}]`
      : `${name} ${show(this.toShown(), { ...options, depth })}`
  }

  /** The members that `console.log()` shows. */
  protected toShown(): object {
    const { origin, closed, destroyed } = this
    const state = destroyed ? 'destroyed' : closed ? 'closing' : 'open'
    return origin === null ? { state } : { origin, state }
  }

  /**
   * Returns a dispatcher whose requests pass through the interceptors, the last one first. It has all members of this
   * one, and the same life cycle and events: a listener added to one also listens to the other.
   *
   * @throws InvalidArgumentError if an interceptor isn't a function, or doesn't return one.
   */
  compose(interceptors: DispatcherComposeInterceptor[]): this
  compose(...interceptors: DispatcherComposeInterceptor[]): this
  compose(...given: DispatcherComposeInterceptor[] | [DispatcherComposeInterceptor[]]): this {
    Dispatcher.putBehind(this)
    let dispatch: Dispatch = (options, handler) => this.dispatch(options, handler)
    const { origin } = this
    // As in undici 8. Null: what the requests name isn't where they go.
    const interceptorOrigin = this.isOriginless ? null : (origin ?? undefined)
    for (const interceptor of given.flat()) {
      if (interceptor === null || interceptor === undefined) continue
      if (typeof interceptor !== 'function') throw invalid('interceptor', interceptor, 'a function')
      const next: unknown = interceptor(dispatch, interceptorOrigin)
      if (typeof next !== 'function' || next.length !== 2) {
        throw invalid('return value of an interceptor', next, 'a dispatch function with two parameters')
      }
      dispatch = next as Dispatch
    }
    return toComposed(this, Dispatcher.prototype, (options, handler) => {
      if (!isFit(options, handler)) return false
      // Interceptors need the origin: those that redirect or cache, for example.
      const isMissing = origin !== null && (options?.origin === undefined || options.origin === null)
      const aimed = isMissing ? { ...options, origin } : options
      // Interceptors of undici 6 use the older shape of handlers, those of undici 8 the newer one.
      return dispatch(aimed, toTwoShapedHandler(aimed, handler))
    })
  }
}

markClass(Dispatcher, 'Dispatcher')

/** Whether a value can dispatch. */
export function isDispatcher(value: unknown): value is DispatcherType {
  return (
    typeof value === 'object' && value !== null && 'dispatch' in value && typeof value.dispatch === 'function'
  )
}
