/**
 * Requests that check whether upstreams are well.
 *
 * @module
 */

import type { DispatchController, DispatchHandler } from '../../../types/handler.ts'
import type { IncomingHttpHeaders } from '../../../types/headers.ts'
import type { DispatchOptions } from '../../../types/request.ts'
import type { Alarm, Clock } from '../../core/clock.ts'
import { throwUncaught } from '../../core/original-timers.ts'
import { RequestAbortedError } from '../../errors/errors.ts'
import type { Upstream } from './upstream.ts'

/** What a response to a check contains. */
export interface CheckedResponse {
  readonly statusCode: number
  readonly headers: IncomingHttpHeaders
  readonly trailers: IncomingHttpHeaders
  /** The first bytes, up to {@link MAX_BODY}. */
  readonly body: Buffer
}

/** How upstreams are checked. Durations are in milliseconds. */
export interface HealthCheckRules {
  readonly request: DispatchOptions
  readonly interval: number
  readonly timeout: number
  /** Whether a response says that the upstream is well. */
  readonly isGood: (response: CheckedResponse) => boolean
}

/** How many bytes of a body are read. */
const MAX_BODY = 1_024
/** Consecutive failed checks. */
const MAX_FAILURES = 2
/** Many clients should not check at once, so intervals vary by a tenth. */
const JITTER = 0.1

/** The checks of all upstreams in an UpstreamPool. */
export class HealthChecks {
  readonly #rules: HealthCheckRules
  readonly #clock: Clock
  readonly #random: () => number
  readonly #checks = new Map<Upstream, UpstreamCheck>()

  /** @param random returns a number from 0 to below 1 */
  constructor(rules: HealthCheckRules, clock: Clock, random: () => number) {
    this.#rules = rules
    this.#clock = clock
    this.#random = random
  }

  /** Checks an upstream from now on, for the first time at once. */
  add(upstream: Upstream): void {
    this.#checks.set(upstream, new UpstreamCheck(upstream, this.#rules, this.#clock, this.#random))
  }

  delete(upstream: Upstream): void {
    this.#checks.get(upstream)?.stop()
    this.#checks.delete(upstream)
  }

  stop(): void {
    for (const check of this.#checks.values()) check.stop()
    this.#checks.clear()
  }
}

/** One upstream's checks, one after the other. */
class UpstreamCheck {
  readonly #upstream: Upstream
  readonly #rules: HealthCheckRules
  readonly #clock: Clock
  readonly #random: () => number
  /** Consecutive failures while the upstream is healthy. */
  #failures = 0
  /** Fires at the next check; null while one is running, or if no more are wanted. */
  #alarm: Alarm | null = null
  /** The check that is running; null if none is. */
  #running: CheckHandler | null = null
  #isStopped = false

  constructor(upstream: Upstream, rules: HealthCheckRules, clock: Clock, random: () => number) {
    this.#upstream = upstream
    this.#rules = rules
    this.#clock = clock
    this.#random = random
    this.#wait(0)
  }

  stop(): void {
    this.#isStopped = true
    this.#alarm?.cancel()
    this.#alarm = null
    this.#running?.abort()
    this.#running = null
  }

  #wait(delay: number): void {
    this.#alarm = this.#clock.after(delay, () => this.#begin())
  }

  #begin(): void {
    this.#alarm = null
    const { ejection } = this.#upstream
    const { timeout, request, isGood } = this.#rules
    const probe = ejection.begin(this.#clock.now(), timeout)
    // Its ejection isn't over yet.
    if (probe === 0 && !ejection.isHealthy) {
      this.#waitForNext()
      return
    }
    const { ejections } = ejection
    const handler = new CheckHandler(isGood, timeout, this.#clock, (isWell) =>
      this.#end(isWell, probe, ejections),
    )
    this.#running = handler
    try {
      this.#upstream.dispatch(request, handler)
    } catch {
      // The upstream's dispatcher is closed, for example: the check has failed, like any other without a response.
      handler.settle(false)
    }
  }

  #end(isWell: boolean, probe: number, ejections: number): void {
    this.#running = null
    if (this.#isStopped) return
    const now = this.#clock.now()
    const { ejection } = this.#upstream
    if (probe !== 0) {
      this.#upstream.judgeProbe(isWell, probe, ejections, now)
    } else if (ejections === ejection.ejections) {
      this.#failures = isWell ? 0 : this.#failures + 1
      if (this.#failures >= MAX_FAILURES) ejection.eject(now)
    }
    if (!ejection.isHealthy) this.#failures = 0
    this.#waitForNext()
  }

  /** The next check of an ejected upstream runs as soon as its time is over. */
  #waitForNext(): void {
    const { health } = this.#upstream.ejection
    const interval = this.#rules.interval * (1 + JITTER * (2 * this.#random() - 1))
    const due = health.kind === 'healthy' ? interval : Math.max(0, health.until - this.#clock.now())
    this.#wait(Math.ceil(Math.min(interval, due)))
  }
}

/** One check's handler. */
class CheckHandler implements DispatchHandler {
  readonly #isGood: (response: CheckedResponse) => boolean
  readonly #onEnd: (isWell: boolean) => void
  readonly #alarm: Alarm
  #controller: DispatchController | null = null
  #isOver = false
  #statusCode = 0
  #headers: IncomingHttpHeaders = {}
  readonly #pieces: Buffer[] = []
  #size = 0

  /** @param onEnd called once */
  constructor(
    isGood: (response: CheckedResponse) => boolean,
    timeout: number,
    clock: Clock,
    onEnd: (isWell: boolean) => void,
  ) {
    this.#isGood = isGood
    this.#onEnd = onEnd
    this.#alarm = clock.after(timeout, () => this.abort())
  }

  /** The time is over, or no result is wanted any more. */
  abort(): void {
    const controller = this.#controller
    this.settle(false)
    controller?.abort(new RequestAbortedError())
  }

  settle(isWell: boolean): void {
    if (this.#isOver) return
    this.#isOver = true
    this.#alarm.cancel()
    this.#onEnd(isWell)
  }

  onRequestStart(controller: DispatchController): void {
    this.#controller = controller
    // A caller's dispatcher may begin a request late.
    if (this.#isOver) controller.abort(new RequestAbortedError())
  }

  onResponseStart(_controller: DispatchController, statusCode: number, headers: IncomingHttpHeaders): void {
    this.#statusCode = statusCode
    this.#headers = headers
  }

  onResponseData(_controller: DispatchController, chunk: Buffer): void {
    if (this.#size >= MAX_BODY) return
    const piece = chunk.subarray(0, MAX_BODY - this.#size)
    this.#pieces.push(piece)
    this.#size += piece.length
  }

  onResponseEnd(_controller: DispatchController, trailers: IncomingHttpHeaders): void {
    if (this.#isOver) return
    this.settle(this.#toVerdict(trailers))
  }

  /** A caller's function may throw. Its error says nothing about the upstream's health, and must not get lost. */
  #toVerdict(trailers: IncomingHttpHeaders): boolean {
    const body = Buffer.concat(this.#pieces)
    try {
      return this.#isGood({ statusCode: this.#statusCode, headers: this.#headers, trailers, body })
    } catch (thrown) {
      throwUncaught(thrown)
      return false
    }
  }

  onResponseError(): void {
    this.settle(false)
  }
}
