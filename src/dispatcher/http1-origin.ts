/**
 * An origin for which the caller has chosen HTTP/1.1.
 *
 * @module
 */

import type { PoolOptions } from '../../types/client.ts'
import type { PoolStats } from '../../types/stats.ts'
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

  /** How busy it is now: a snapshot, like a Pool's. It has no sessions. */
  get stats(): PoolStats {
    return this.toPoolStats()
  }
}
