/**
 * The upstreams that take calls, and which of them takes the next one.
 *
 * @module
 */

import type { DispatchOptions } from '../../../types/request.ts'
import type { Clock } from '../../core/clock.ts'
import { choose } from './choice.ts'
import { isReplayableBody, isSafeToRepeat } from './failure.ts'
import type { Upstream } from './upstream.ts'

/** The upstreams of a service, without those that were removed. */
export class UpstreamSet {
  readonly #clock: Clock
  readonly #random: () => number
  readonly #upstreams: Upstream[] = []

  /** @param random a number from 0 to below 1 */
  constructor(clock: Clock, random: () => number) {
    this.#clock = clock
    this.#random = random
  }

  get all(): readonly Upstream[] {
    return this.#upstreams
  }

  /** Milliseconds of the clock. */
  now(): number {
    return this.#clock.now()
  }

  find(origin: string): Upstream | null {
    return this.#upstreams.find((upstream) => upstream.origin === origin) ?? null
  }

  add(upstream: Upstream): void {
    this.#upstreams.push(upstream)
  }

  delete(upstream: Upstream): void {
    const index = this.#upstreams.indexOf(upstream)
    if (index !== -1) this.#upstreams.splice(index, 1)
  }

  /**
   * The upstream for a request: one whose ejection is over, if the request may probe it; else one of those that are
   * healthy; else, as a last resort, any.
   *
   * @param tried upstreams that have got the request already; null: none
   * @returns null when there is no other upstream
   */
  choose(options: DispatchOptions, tried: readonly Upstream[] | null, now: number): Upstream | null {
    let healthy = 0
    let due: Upstream | null = null
    for (const upstream of this.#upstreams) {
      if (upstream.ejection.isHealthy) healthy++
      else if (upstream.ejection.isDue(now)) due ??= upstream
    }
    // The usual case makes no list.
    if (tried === null && healthy === this.#upstreams.length)
      return choose(this.#upstreams, now, this.#random)
    // A request that may be lost, or has failed once already, is no probe, unless nothing is healthy.
    if (due !== null && tried === null && isSafeToRepeat(options) && isReplayableBody(options.body))
      return due
    const others = this.#upstreams.filter((upstream) => tried?.includes(upstream) !== true)
    const best = others.filter(({ ejection }) => ejection.isHealthy)
    return choose(best.length > 0 ? best : others, now, this.#random)
  }
}
