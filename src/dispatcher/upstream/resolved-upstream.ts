/**
 * Upstreams as their caller, or a source, has named them: checked and complete.
 *
 * @module
 */

import type { PoolOptions } from '../../../types/client.ts'
import type { UpstreamResolverContext } from '../../../types/upstream.ts'
import type { Origin } from '../../options/options.ts'

/** One upstream. */
export interface ResolvedUpstream {
  /** Its origin, with `#` and the address if it has one: no other upstream has this name. */
  readonly name: string
  readonly origin: Origin
  readonly weight: number
  readonly priority: number
  /** The options that its caller gave for it alone. */
  readonly own: object
  /** The common ones, and its own. */
  readonly pool: PoolOptions
}

/** An answer of a source. */
export interface ResolvedAnswer {
  readonly upstreams: readonly ResolvedUpstream[]
  /** What is wrong with each entry that can't be an upstream: the others serve without it. */
  readonly unusable: readonly Error[]
  /** Milliseconds; null: it doesn't say. */
  readonly ttl: number | null
}

/** What the functions of sources get, beside the signal and `report`. */
export type DiscoveryContext = Pick<UpstreamResolverContext, 'lookup' | 'family'>
