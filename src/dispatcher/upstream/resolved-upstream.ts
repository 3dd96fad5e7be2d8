/**
 * Upstreams as their caller or a source has named them, checked and complete.
 *
 * @module
 */

import type { PoolOptions } from '../../../types/client.ts'
import type { UpstreamResolverContext } from '../../../types/upstream.ts'
import type { Origin } from '../../options/options.ts'

/** One upstream. */
export interface ResolvedUpstream {
  /** Its origin, followed by `#` and its address if it has one: no other upstream has this name. */
  readonly name: string
  readonly origin: Origin
  readonly weight: number
  readonly priority: number
  /** The options that its caller gave only for it. */
  readonly own: object
  /** The common options, and its own. */
  readonly pool: PoolOptions
}

/** A source's answer. */
export interface ResolvedAnswer {
  readonly upstreams: readonly ResolvedUpstream[]
  /** What is wrong with each entry that can't be an upstream: the others serve without it. */
  readonly unusable: readonly Error[]
  /** In milliseconds; null if it doesn't say. */
  readonly ttl: number | null
}

/** What sources' functions get, in addition to the signal and `report`. */
export type DiscoveryContext = Pick<UpstreamResolverContext, 'lookup' | 'family'>
