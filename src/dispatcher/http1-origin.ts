/**
 * An origin for which the caller has chosen HTTP/1.1.
 *
 * @module
 */

import type { PoolOptions } from '../../types/client.ts'
import type { ClientStats } from '../../types/stats.ts'
import { toConnections } from '../options/options.ts'
import { OriginDispatcher } from './origin-dispatcher.ts'

/**
 * An Agent's dispatcher for an `http:` origin without `h2c`: the fallback serves all its requests. Otherwise they are
 * ordinary calls.
 */
export class Http1Origin extends OriginDispatcher {
  constructor(origin: string, options: PoolOptions) {
    super(origin, options, toConnections(options), 'http/1.1')
  }

  /** How busy it is now: a snapshot. It has no sessions. */
  get stats(): ClientStats {
    const { connected, pending, running } = this.scheduler
    const ended = this.scheduler.toSessionEnds()
    const http1 = this.scheduler.toHttp1Stats()
    return { connected: connected > 0, pending, running, size: pending + running, sessions: [], ended, http1 }
  }
}
