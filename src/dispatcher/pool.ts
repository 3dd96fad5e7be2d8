/**
 * One origin, several sessions, one queue in front of them.
 *
 * @module
 */

import type { PoolOptions } from '../../types/client.ts'
import type { PoolStats } from '../../types/stats.ts'
import { markClass } from '../core/class-mark.ts'
import { toConnections } from '../options/options.ts'
import type { SessionFactory } from '../session/session.ts'
import { OriginDispatcher } from './origin-dispatcher.ts'

/**
 * A dispatcher for one origin over as many HTTP/2 connections as its requests need, up to `connections`.
 *
 * The first request opens a connection. The pool opens another one when all have as many streams as the server allows,
 * and closes it once it has been idle for `keepAliveTimeout`. A request goes to the session with the fewest streams. If
 * no session has room, the request waits for the first one that does.
 *
 * @example
 * ```ts
 * const pool = new Pool('https://localhost:12443', { connections: 2 })
 * const { statusCode, body } = await pool.request({ path: '/', method: 'GET' })
 * console.log(statusCode, await body.text(), pool.stats.connected)
 * await pool.close()
 * ```
 */
export class Pool extends OriginDispatcher {
  /**
   * Creates a dispatcher for one origin, over up to `connections` HTTP/2 connections.
   *
   * @param origin an `http:` or `https:` URL without path, query, fragment or credentials
   * @param options see {@link PoolOptions}
   * @throws InvalidArgumentError that names the option, its value, and what would be accepted
   * @example
   * ```ts
   * const pool = new Pool('https://localhost:12443', { connections: 2 })
   * const { body } = await pool.request({ path: '/', method: 'GET' })
   * ```
   */
  constructor(origin: string | URL, options?: PoolOptions)
  /** Also for an Agent whose origins share sessions. @param toSession creates the sessions @internal */
  constructor(origin: string | URL, options: PoolOptions | undefined, toSession: SessionFactory | undefined)
  constructor(origin: string | URL, options?: PoolOptions, toSession?: SessionFactory) {
    super(origin, options, toConnections(options ?? {}), 'unknown', toSession)
  }

  /** How busy the pool is now: a snapshot. */
  get stats(): PoolStats {
    return this.toPoolStats()
  }
}

markClass(Pool, 'Pool')

export declare namespace Pool {
  /** The name that undici uses for {@link PoolOptions}. */
  export type Options = PoolOptions
  /** The name that undici uses for {@link PoolStats}. */
  export type Stats = PoolStats
}
