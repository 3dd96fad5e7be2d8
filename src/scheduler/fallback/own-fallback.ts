/**
 * A fallback that Dodici creates itself.
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

/** The connections for one origin's calls, not shared with any other origin or server name. */
export interface FallbackRoute extends FallbackDispatcher {
  /** Settles when its connections are gone. */
  destroy(error: Error | null): Promise<void>
}

/** The conditions for one route. */
export interface RouteOptions {
  /** How many connections are allowed; Infinity for any number. */
  readonly connections: number
  /** The exchange of the origin's sessions; null if connections don't change hands. */
  readonly exchange: SocketExchange | null
  /** Is told about the connections; null if they don't belong to the origin, or to none that is known. */
  readonly events: FallbackListener | null
}

/** For requests without a scheduler: a caller's `factory` may send them. */
const ANY: RouteOptions = { connections: Number.POSITIVE_INFINITY, exchange: null, events: null }

/** Creates routes, all with one dispatcher's options. Dodici's own code opens their connections. */
export abstract class OwnFallback implements FallbackDispatcher {
  readonly #routes = new Set<FallbackRoute>()
  /** The route for {@link dispatch}; null before its first request. */
  #common: FallbackRoute | null = null
  #isDestroyed = false

  /** Creates a route. Called by {@link open}; {@link close} ends the route. */
  abstract make(options: RouteOptions): FallbackRoute

  /** Opens a separate route for one origin. It ends with {@link close}, or with the fallback. */
  open(options: RouteOptions): FallbackRoute {
    const route = this.make(options)
    this.#routes.add(route)
    // It has no connection yet, so it is destroyed at once.
    if (this.#isDestroyed) this.close(route, null).catch(noop)
    return route
  }

  /** Ends one route. Settles when its connections are gone. */
  async close(route: FallbackRoute, error: Error | null): Promise<void> {
    this.#routes.delete(route)
    await route.destroy(error)
  }

  /**
   * @throws NotSupportedError when no connection can be opened the way the sessions open theirs; ClientDestroyedError
   */
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
