/**
 * An UpstreamPool without its Pools: the real choice, health, budget and calls, over servers of the simulation.
 *
 * @module
 */

import { Deadlines } from '../../src/core/clock.ts'
import { HedgedCall } from '../../src/dispatcher/upstream/hedged-call.ts'
import { RetryBudget } from '../../src/dispatcher/upstream/retry-budget.ts'
import { Upstream } from '../../src/dispatcher/upstream/upstream.ts'
import type { UpstreamCallOwner } from '../../src/dispatcher/upstream/upstream-call.ts'
import { toUpstreamCall } from '../../src/dispatcher/upstream/upstream-call.ts'
import type { ResolvedUpstreamPoolOptions } from '../../src/dispatcher/upstream/upstream-options.ts'
import { toUpstreamPoolOptions } from '../../src/dispatcher/upstream/upstream-options.ts'
import { UpstreamSet } from '../../src/dispatcher/upstream/upstream-set.ts'
import { RequestAbortedError } from '../../src/errors/errors.ts'
import { FakeDispatcher } from '../../test/support/clients/fake-dispatcher.ts'
import { INERT } from '../../test/support/clients/inert-controller.ts'
import type { DispatchHandler, UpstreamPoolOptions } from '../../types/index.ts'
import type { OnDone, Policy } from './policies.ts'
import { send } from './transport.ts'
import type { Server, VirtualTime } from './world.ts'

const GET = { path: '/', method: 'GET' } as const
const STREAM = { path: '/stream', method: 'GET' } as const

/** With the default options, and maybe with hedging. */
export class Dodici implements Policy {
  readonly #time: VirtualTime
  readonly #options: ResolvedUpstreamPoolOptions
  readonly #owner: UpstreamCallOwner
  readonly #hedges: Deadlines
  readonly upstreams: UpstreamSet

  constructor(time: VirtualTime, random: () => number, options?: UpstreamPoolOptions) {
    this.#time = time
    this.#options = toUpstreamPoolOptions(options)
    this.#hedges = new Deadlines(time).listFor(1)
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
      ({ path }, handler) => {
        const abort = (reason?: Error): void => reset(reason ?? new RequestAbortedError())
        const controller = { ...INERT, abort }
        let reset: (error: Error) => void = () => {}
        handler.onRequestStart?.(controller, null)
        if (path === STREAM.path) {
          handler.onResponseStart?.(controller, 200, {}, '')
          return true
        }
        reset = send(this.#time, server, (status, retryAfter, error) => {
          if (error !== null) {
            handler.onResponseError?.(controller, error)
            return
          }
          const headers: Record<string, string> =
            retryAfter === null ? {} : { 'retry-after': `${retryAfter}` }
          handler.onResponseStart?.(controller, status, headers, '')
          handler.onResponseEnd?.(controller, {})
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
    const handler: DispatchHandler = {
      onResponseStart: (_controller, status) => {
        isGood = status >= 200 && status < 300
      },
      onResponseEnd: () => onDone(isGood),
      onResponseError: () => onDone(false),
    }
    const { hedge } = this.#options
    const delay = hedge === null ? null : this.upstreams.toLateness(hedge.after, this.#time.now())
    if (delay === null) toUpstreamCall(this.#owner, GET, handler).start()
    else new HedgedCall(this.#owner, this.#hedges, GET, handler, delay).start()
  }

  openStream(): void {
    toUpstreamCall(this.#owner, STREAM, {}).start()
  }
}
