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
 * A dispatcher for one origin over one HTTP/2 connection, opened by the first request.
 *
 * `https:` origins speak HTTP/2 by ALPN, `http:` origins by prior knowledge (h2c). Calls above the peer's limit of
 * concurrent streams wait in a queue. A session that the peer retires (GOAWAY), or that aborted calls have filled,
 * finishes its streams while the next one takes over; one that dies is replaced.
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
   * @param origin an `http:` or `https:` URL without path, query, fragment or credentials
   * @param options see {@link ClientOptions}
   * @throws InvalidArgumentError that names the option, its value, and what would be accepted
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
  /** undici's name for {@link ClientOptions}. */
  export type Options = ClientOptions
}
