/**
 * One origin, one session at a time, a queue.
 *
 * @module
 */

import type { ClientOptions } from '../../types/client.ts'
import type { ClientStats } from '../../types/stats.ts'
import { markClass } from '../core/class-mark.ts'
import { OriginDispatcher } from './origin-dispatcher.ts'

/**
 * A dispatcher for one origin over one HTTP/2 connection, which the first request opens.
 *
 * `https:` origins negotiate HTTP/2 via ALPN; `http:` origins need prior knowledge (h2c). When the server allows no
 * more streams, calls wait in a queue. When the server retires a session (GOAWAY), or aborted calls have used it up, it
 * finishes its streams while the next session takes over. A lost session is replaced.
 *
 * @example
 * ```ts
 * const client = new Client('https://localhost:12443')
 * const { statusCode, body } = await client.request({ path: '/', method: 'GET' })
 * console.log(statusCode, await body.text())
 * await client.close()
 * ```
 */
export class Client extends OriginDispatcher {
  /**
   * Creates a dispatcher for one origin, over one HTTP/2 connection.
   *
   * @param origin an `http:` or `https:` URL without path, query, fragment or credentials
   * @param options see {@link ClientOptions}
   * @throws InvalidArgumentError that names the option, its value, and what would be accepted
   * @example
   * ```ts
   * const client = new Client('https://localhost:12443')
   * const { body } = await client.request({ path: '/', method: 'GET' })
   * ```
   */
  constructor(origin: string | URL, options?: ClientOptions) {
    super(origin, options, { sessions: 1, http1: 1 })
  }

  /** How busy the client is now: a snapshot. */
  get stats(): ClientStats {
    const { connected, pending, running } = this.scheduler
    const sessions = this.scheduler.toSessionStats()
    const ended = this.scheduler.toSessionEnds()
    const http1 = this.scheduler.toHttp1Stats()
    return { connected: connected > 0, pending, running, size: pending + running, sessions, ended, http1 }
  }
}

markClass(Client, 'Client')

export declare namespace Client {
  /** The name that undici uses for {@link ClientOptions}. */
  export type Options = ClientOptions
}
