/**
 * A fallback that Dodici makes itself.
 *
 * @module
 */

import type { FallbackDispatcher } from '../../../types/client.ts'
import type { AnyDispatchHandler } from '../../../types/handler.ts'
import type { DispatchOptions } from '../../../types/request.ts'
import { noop } from '../../core/noop.ts'
import { ClientDestroyedError } from '../../errors/errors.ts'
import type { SocketExchange } from '../../session/connect/socket-exchange.ts'
import type { FallbackListener } from './fallback-events.ts'

/** The connections of one origin's calls: no other origin, and no other server name, shares them. */
export interface FallbackRoute extends FallbackDispatcher {
  /** Settles when its connections are gone. */
  destroy(error: Error | null): Promise<void>
}

/** What a route has to obey. */
export interface RouteOptions {
  /** How many connections there may be; Infinity for any number. */
  readonly connections: number
  /** Of the origin's sessions; null where connections don't change hands. */
  readonly exchange: SocketExchange | null
  /** Hears of the connections; null where they are none of the origin's, or of no known one. */
  readonly events: FallbackListener | null
}

/** For requests that come by no scheduler: a `factory` of the caller's may send them. */
const ANY: RouteOptions = { connections: Number.POSITIVE_INFINITY, exchange: null, events: null }

/** Makes routes, all with the options of one dispatcher. Their connections are made by our own code. */
export abstract class OwnFallback implements FallbackDispatcher {
  readonly #routes = new Set<FallbackRoute>()
  /** The route of {@link dispatch}; null before its first request. */
  #common: FallbackRoute | null = null
  #isDestroyed = false

  /** A route. {@link open} makes it, and {@link close} ends it. */
  abstract make(options: RouteOptions): FallbackRoute

  /** A route of its own for one origin. It ends by {@link close}, or with the fallback. */
  open(options: RouteOptions): FallbackRoute {
    const route = this.make(options)
    this.#routes.add(route)
    // It has no connection yet: it is destroyed at once.
    if (this.#isDestroyed) this.close(route, null).catch(noop)
    return route
  }

  /** Ends one route. Settles when its connections are gone. */
  async close(route: FallbackRoute, error: Error | null): Promise<void> {
    this.#routes.delete(route)
    await route.destroy(error)
  }

  /** @throws NotSupportedError when no connection can be made as the sessions make theirs; ClientDestroyedError */
  dispatch(options: DispatchOptions, handler: AnyDispatchHandler): boolean {
    if (this.#isDestroyed) throw new ClientDestroyedError()
    this.#common ??= this.open(ANY)
    return this.#common.dispatch(options, handler)
  }

  /** Ends all routes. Settles when their connections are gone. */
  async destroy(error: Error | null): Promise<void> {
    this.#isDestroyed = true
    await Promise.all([...this.#routes].map((route) => this.close(route, error)))
  }
}
