/**
 * An UpstreamPool without its Pools: the real choice, health, budget and calls, over servers of the simulation.
 *
 * @module
 */

import { RetryBudget } from '../../src/dispatcher/upstream/retry-budget.ts'
import { Upstream } from '../../src/dispatcher/upstream/upstream.ts'
import type { UpstreamCallOwner } from '../../src/dispatcher/upstream/upstream-call.ts'
import { toUpstreamCall } from '../../src/dispatcher/upstream/upstream-call.ts'
import { toUpstreamPoolOptions } from '../../src/dispatcher/upstream/upstream-options.ts'
import { UpstreamSet } from '../../src/dispatcher/upstream/upstream-set.ts'
import { FakeDispatcher } from '../../test/support/clients/fake-dispatcher.ts'
import { INERT } from '../../test/support/clients/inert-controller.ts'
import type { OnDone, Policy } from './policies.ts'
import { send } from './transport.ts'
import type { Server, VirtualTime } from './world.ts'

const GET = { path: '/', method: 'GET' } as const

/** With the default options. */
export class Dodici implements Policy {
  readonly #time: VirtualTime
  readonly #options = toUpstreamPoolOptions(undefined)
  readonly #owner: UpstreamCallOwner
  readonly upstreams: UpstreamSet

  constructor(time: VirtualTime, random: () => number) {
    this.#time = time
    this.upstreams = new UpstreamSet(time, random, this.#options.rules)
    this.#owner = {
      ...this.#options,
      upstreams: this.upstreams,
      budget: new RetryBudget(this.#options.retryBudget),
      repeats: 0,
      maxOverload: this.#options.rules.maxEjectionTime,
      mayRetry: true,
      discoveries: null,
      redirects: null,
      onCallSettled: () => {},
    }
  }

  add(server: Server): void {
    const upstream = new Upstream(
      server.name,
      1,
      new FakeDispatcher(),
      (_options, handler) => {
        handler.onRequestStart?.(INERT, null)
        send(this.#time, server, (status, retryAfter, error) => {
          if (error !== null) {
            handler.onResponseError?.(INERT, error)
            return
          }
          const headers: Record<string, string> =
            retryAfter === null ? {} : { 'retry-after': `${retryAfter}` }
          handler.onResponseStart?.(INERT, status, headers, '')
          handler.onResponseEnd?.(INERT, {})
        })
        return true
      },
      this.#options.rules,
      this.#time.now(),
    )
    this.upstreams.add(upstream)
  }

  call(onDone: OnDone): void {
    let isGood = false
    toUpstreamCall(this.#owner, GET, {
      onResponseStart: (_controller, status) => {
        isGood = status >= 200 && status < 300
      },
      onResponseEnd: () => onDone(isGood),
      onResponseError: () => onDone(false),
    }).start()
  }
}
