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

/**
 * How a call ended for its upstream. `none` says nothing about the upstream, for example because the caller aborted the
 * call.
 */
export type CallResult = 'success' | 'failure' | 'none'

/** Durations are in milliseconds. */
export interface EjectionRules {
  /** The number of consecutive failures. */
  readonly maxFailures: number
  readonly ejectionTime: number
  readonly maxEjectionTime: number
}

/** How long an upstream must be healthy for one of its ejections to be forgotten, in milliseconds. */
const PARDON = 10_000

const HEALTHY: Health = Object.freeze({ kind: 'healthy', failures: 0, times: 0, since: 0 })

/**
 * Pure: an upstream's health after a call has ended.
 *
 * @param probe the call's number as a probe; 0 if it wasn't one
 * @param mayEject false while most upstreams fail: then this one isn't at fault
 * @returns `health` itself if nothing has changed
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
      // The first probe may be late, and still succeed.
      if (result === 'success') return toHealed(health.times, now)
      if (probe !== health.probe) return health
      // A probe without a result: the next call is the probe.
      if (result === 'none') return { kind: 'ejected', until: now, times: health.times }
      return toEjected(health.times + 1, now, rules)
  }
}

/** How many of a healthy upstream's ejections aren't forgotten yet. */
function toTimes({ times, since }: Health & { kind: 'healthy' }, now: number): number {
  return Math.max(0, times - Math.floor((now - since) / PARDON))
}

function toHealed(times: number, now: number): Health {
  return { kind: 'healthy', failures: 0, times, since: now }
}

function toEjected(times: number, now: number, rules: EjectionRules): Health {
  return { kind: 'ejected', until: now + toDuration(rules.ejectionTime, times, rules), times }
}

/** Doubles each time after the first. */
function toDuration(base: number, times: number, { maxEjectionTime }: EjectionRules): number {
  return Math.min(maxEjectionTime, base * 2 ** (times - 1))
}

/** One upstream's health. */
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

  /** Whether it is healthy, and its last call didn't fail. */
  get isFlawless(): boolean {
    return this.#health.kind === 'healthy' && this.#health.failures === 0
  }

  /**
   * How often it was ejected. A call keeps this number from its beginning: it identifies the calls between two
   * ejections.
   */
  get ejections(): number {
    return this.#ejections
  }

  /** Whether the next call may be the probe, because the upstream's time is over, or the call that probes is late. */
  isDue(now: number): boolean {
    return this.#health.kind !== 'healthy' && now >= this.#health.until
  }

  /** Whether no call has probed for a while, although one could have. */
  isOverdue(now: number): boolean {
    return this.#health.kind !== 'healthy' && now >= this.#health.until + this.#rules.ejectionTime
  }

  /**
   * A call begins.
   *
   * @param patience how long a probe may take, in milliseconds, until its response's header section; the limit doubles
   *   from probe to probe
   * @returns its number as a probe; 0 if it isn't one
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
   * @param probe the return value of {@link begin}
   * @param ejections the number when it began: a call that began before the last ejection says nothing about the time
   *   after
   * @param mayEject as in {@link toHealth}
   */
  record(result: CallResult, probe: number, ejections: number, now: number, mayEject = true): void {
    if (ejections !== this.#ejections) return
    const health = toHealth(this.#health, result, probe, now, this.#rules, mayEject)
    if (health.kind === 'ejected' && health !== this.#health && result === 'failure') this.#ejections++
    this.#health = health
  }

  /** Ejects a healthy upstream for a reason other than consecutive failures. */
  eject(now: number): void {
    if (this.#health.kind !== 'healthy') return
    this.#health = toEjected(toTimes(this.#health, now) + 1, now, this.#rules)
    this.#ejections++
  }
}
