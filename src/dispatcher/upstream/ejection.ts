/**
 * Whether an upstream takes calls: a circuit breaker with half-open probing.
 *
 * @module
 */

/**
 * The moves:
 *
 * ```
 *      maxFailures in a row, or a             its time is over, a call begins
 *      success rate below the others'
 *  healthy ───────────────────────▶ ejected ─────────────────────────────────▶ probing ◀─┐
 *     ▲                              │   ▲                                      │   │  │  │ the probe is late,
 *     └───── a call succeeds ────────┘   └──── the probe fails: twice as long ──┘   │  └──┘ a further call begins
 *     └─────────────────────────── the probe succeeds ──────────────────────────────┘
 * ```
 *
 * Before its time is over, an ejected upstream gets calls only while too many upstreams are ejected.
 *
 * `times` says how often it was ejected: it counts down while the upstream is healthy, once in each `PARDON`.
 */
export type Health =
  | { readonly kind: 'healthy'; readonly failures: number; readonly times: number; readonly since: number }
  /** `until`: when it may be probed. */
  | { readonly kind: 'ejected'; readonly until: number; readonly times: number }
  /** `probe`: the number of the call that probes; `until`: when that call is late, and another one may probe. */
  | { readonly kind: 'probing'; readonly probe: number; readonly until: number; readonly times: number }

/** How a call ended for its upstream. `none` tells nothing of the upstream: the caller aborted it, for example. */
export type CallResult = 'success' | 'failure' | 'none'

/** Durations are in milliseconds. */
export interface EjectionRules {
  /** Failures in a row. */
  readonly maxFailures: number
  readonly ejectionTime: number
  readonly maxEjectionTime: number
}

/** So long an upstream must be healthy for one of its ejections to be forgotten. Milliseconds. */
const PARDON = 10_000

const HEALTHY: Health = Object.freeze({ kind: 'healthy', failures: 0, times: 0, since: 0 })

/**
 * Pure: the health of an upstream after a call has ended.
 *
 * @param probe the number of the call as a probe; 0: it was none
 * @param mayEject false while most upstreams fail: then it isn't this one that is at fault
 * @returns `health` itself where nothing has changed
 */
export function toHealth(
  health: Health,
  result: CallResult,
  probe: number,
  now: number,
  rules: EjectionRules,
  mayEject: boolean,
): Health {
  switch (health.kind) {
    case 'healthy':
      if (result === 'none') return health
      if (result === 'success') return health.failures === 0 ? health : { ...health, failures: 0 }
      return health.failures + 1 < rules.maxFailures || !mayEject
        ? { ...health, failures: health.failures + 1 }
        : toEjected(toTimes(health, now) + 1, now, rules)
    case 'ejected':
      return result === 'success' ? toHealed(health.times, now) : health
    case 'probing':
      // The first probe may be late, and succeed all the same.
      if (result === 'success') return toHealed(health.times, now)
      if (probe !== health.probe) return health
      // A probe without a result: the next call is the probe.
      if (result === 'none') return { kind: 'ejected', until: now, times: health.times }
      return toEjected(health.times + 1, now, rules)
  }
}

/** How many ejections of a healthy upstream aren't forgotten. */
function toTimes({ times, since }: Health & { kind: 'healthy' }, now: number): number {
  return Math.max(0, times - Math.floor((now - since) / PARDON))
}

function toHealed(times: number, now: number): Health {
  return { kind: 'healthy', failures: 0, times, since: now }
}

function toEjected(times: number, now: number, rules: EjectionRules): Health {
  return { kind: 'ejected', until: now + toDuration(rules.ejectionTime, times, rules), times }
}

/** Doubled by each time after the first. */
function toDuration(base: number, times: number, { maxEjectionTime }: EjectionRules): number {
  return Math.min(maxEjectionTime, base * 2 ** (times - 1))
}

/** The health of one upstream. */
export class Ejection {
  readonly #rules: EjectionRules
  #health: Health = HEALTHY
  #ejections = 0
  #probes = 0

  constructor(rules: EjectionRules) {
    this.#rules = rules
  }

  get health(): Health {
    return this.#health
  }

  get isHealthy(): boolean {
    return this.#health.kind === 'healthy'
  }

  /** Whether it is healthy, and its last call was no failure. */
  get isFlawless(): boolean {
    return this.#health.kind === 'healthy' && this.#health.failures === 0
  }

  /** How often it was ejected. A call keeps the number of its beginning: it marks the calls of one life. */
  get ejections(): number {
    return this.#ejections
  }

  /** Whether the next call may be the probe: the upstream's time is over, or the call that probes is late. */
  isDue(now: number): boolean {
    return this.#health.kind !== 'healthy' && now >= this.#health.until
  }

  /** Whether no call has probed for a while, although one might have. */
  isOverdue(now: number): boolean {
    return this.#health.kind !== 'healthy' && now >= this.#health.until + this.#rules.ejectionTime
  }

  /**
   * A call begins.
   *
   * @param patience how long a probe may take until its response's header; the limit doubles from probe to probe.
   *   Milliseconds
   * @returns its number as a probe; 0: it is none
   */
  begin(now: number, patience: number): number {
    const health = this.#health
    if (health.kind === 'healthy' || now < health.until) return 0
    const times = health.kind === 'probing' ? health.times + 1 : health.times
    const until = now + toDuration(patience, times, this.#rules)
    this.#health = { kind: 'probing', probe: ++this.#probes, until, times }
    return this.#probes
  }

  /**
   * A call has ended.
   *
   * @param probe what {@link begin} returned
   * @param ejections the number at its beginning: what began before the last ejection tells nothing of the time after
   * @param mayEject as of {@link toHealth}
   */
  record(result: CallResult, probe: number, ejections: number, now: number, mayEject = true): void {
    if (ejections !== this.#ejections) return
    const health = toHealth(this.#health, result, probe, now, this.#rules, mayEject)
    if (health.kind === 'ejected' && health !== this.#health && result === 'failure') this.#ejections++
    this.#health = health
  }

  /** Ejects a healthy upstream for another reason than failures in a row. */
  eject(now: number): void {
    if (this.#health.kind !== 'healthy') return
    this.#health = toEjected(toTimes(this.#health, now) + 1, now, this.#rules)
    this.#ejections++
  }
}
