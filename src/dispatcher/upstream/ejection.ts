/**
 * Whether an upstream takes calls: a circuit breaker with half-open probing.
 *
 * @module
 */

/**
 * The moves:
 *
 * ```
 *            maxFailures in a row            its time is over, a call begins
 *  healthy ───────────────────────▶ ejected ─────────────────────────────────▶ probing
 *     ▲                              │   ▲                                      │   │
 *     └───── a call succeeds ────────┘   └──── the probe fails: twice as long ──┘   │
 *     └─────────────────────────── the probe succeeds ──────────────────────────────┘
 * ```
 *
 * An ejected upstream gets calls before its time is over only if all upstreams are ejected.
 */
export type Health =
  | { readonly kind: 'healthy'; readonly failures: number }
  /** `until`: when it may be probed; `times`: how often it was ejected without a success between. */
  | { readonly kind: 'ejected'; readonly until: number; readonly times: number }
  | { readonly kind: 'probing'; readonly times: number }

/** How a call ended for its upstream. `none` tells nothing of the upstream: the caller aborted it, for example. */
export type CallResult = 'success' | 'failure' | 'none'

/** Durations are in milliseconds. */
export interface EjectionRules {
  /** Failures in a row. */
  readonly maxFailures: number
  readonly ejectionTime: number
  readonly maxEjectionTime: number
}

const HEALTHY: Health = Object.freeze({ kind: 'healthy', failures: 0 })

/** Pure: the health of an upstream after a call has ended. @returns `health` itself where nothing has changed */
export function toHealth(
  health: Health,
  result: CallResult,
  isProbe: boolean,
  now: number,
  rules: EjectionRules,
): Health {
  switch (health.kind) {
    case 'healthy':
      if (result === 'none') return health
      if (result === 'success') return health.failures === 0 ? health : HEALTHY
      return health.failures + 1 < rules.maxFailures
        ? { kind: 'healthy', failures: health.failures + 1 }
        : toEjected(1, now, rules)
    case 'ejected':
      return result === 'success' ? HEALTHY : health
    case 'probing':
      if (result === 'success') return HEALTHY
      if (!isProbe) return health
      // A probe without a result: the next call is the probe.
      if (result === 'none') return { kind: 'ejected', until: now, times: health.times }
      return toEjected(health.times + 1, now, rules)
  }
}

function toEjected(times: number, now: number, { ejectionTime, maxEjectionTime }: EjectionRules): Health {
  return { kind: 'ejected', until: now + Math.min(maxEjectionTime, ejectionTime * 2 ** (times - 1)), times }
}

/** The health of one upstream. */
export class Ejection {
  readonly #rules: EjectionRules
  #health: Health = HEALTHY
  #ejections = 0

  constructor(rules: EjectionRules) {
    this.#rules = rules
  }

  get health(): Health {
    return this.#health
  }

  get isHealthy(): boolean {
    return this.#health.kind === 'healthy'
  }

  /** How often it was ejected. A call keeps the number of its beginning: it marks the calls of one life. */
  get ejections(): number {
    return this.#ejections
  }

  /** Whether its time is over: the next call is the probe. */
  isDue(now: number): boolean {
    return this.#health.kind === 'ejected' && now >= this.#health.until
  }

  /** A call begins. @returns whether it is the probe */
  begin(now: number): boolean {
    if (this.#health.kind !== 'ejected' || now < this.#health.until) return false
    this.#health = { kind: 'probing', times: this.#health.times }
    return true
  }

  /**
   * A call has ended.
   *
   * @param ejections the number at its beginning: what began before the last ejection tells nothing of the time after
   */
  record(result: CallResult, isProbe: boolean, ejections: number, now: number): void {
    if (ejections !== this.#ejections) return
    const health = toHealth(this.#health, result, isProbe, now, this.#rules)
    if (health.kind === 'ejected' && health !== this.#health && result === 'failure') this.#ejections++
    this.#health = health
  }
}
