/**
 * Pure: which of several upstreams gets a call.
 *
 * @module
 */

/** An upstream that may be chosen. */
export interface Candidate {
  /** Above 0. */
  readonly weight: number
  /** Its turn in the round, which only {@link choose} changes. 0 at the beginning. */
  turn: number
  /** How many calls it is working on, as far as they count. */
  load(now: number): number
  /** Whether it gets no calls while others do. */
  isLeftOut(now: number): boolean
  /** How long a call takes there, in milliseconds; null if that isn't known. */
  latency(now: number): number | null
  /** Whether most of its calls fail. */
  isFailing(now: number): boolean
  /** The fraction of its share that it gets: below 1 while it starts. Above 0. */
  warmth(now: number): number
}

/** Latencies that differ by at most this factor count as equal, because chance alone makes them differ that much. */
const EQUAL_LATENCIES = 1.5

/** A cold upstream with few calls may be faster than busy ones by this factor. */
const FAR_SLOWER = 4

/** Whether a call should go to `a` rather than `b`. */
export function isCheaper(a: Candidate, b: Candidate, now: number): boolean {
  const [one, two] = [a.latency(now), b.latency(now)]
  if (one === null || two === null) {
    if (one === two) return isLessBusy(a, b, now)
    return one === null ? isWorthTrying(a, b, now) : !isWorthTrying(b, a, now)
  }
  const areEqual = one <= two * EQUAL_LATENCIES && two <= one * EQUAL_LATENCIES
  return areEqual ? isLessBusy(a, b, now) : toLoad(a, now) * one < toLoad(b, now) * two
}

/**
 * An upstream without a latency gets one call, and no more until a response has arrived. It is still better than one
 * whose calls fail.
 */
function isWorthTrying(unknown: Candidate, other: Candidate, now: number): boolean {
  return unknown.load(now) === 0 || other.isFailing(now)
}

/** Idle upstreams take turns. */
function isLessBusy(a: Candidate, b: Candidate, now: number): boolean {
  return a.load(now) + b.load(now) > 0 && toLoad(a, now) < toLoad(b, now)
}

function toLoad(candidate: Candidate, now: number): number {
  return (candidate.load(now) + 1) / candidate.weight
}

/**
 * The power of two choices: the upstream whose turn it is, and another one at random, both by their weights, and of
 * these two the cheaper one.
 *
 * @param tried candidates that must not be chosen; null: none
 * @param isForAll whether candidates that are left out are chosen like all others
 * @param random returns a number from 0 to below 1
 * @returns null if there is no candidate
 * @see Mitzenmacher, The Power of Two Choices in Randomized Load Balancing (2001)
 */
export function choose<TCandidate extends Candidate>(
  candidates: readonly TCandidate[],
  tried: readonly TCandidate[] | null,
  isForAll: boolean,
  now: number,
  random: () => number,
): TCandidate | null {
  // nginx's smooth weighted round robin: each advances by its weight, the first one goes back by the sum of all
  // weights.
  let first: TCandidate | null = null
  let total = 0
  let count = 0
  for (const candidate of candidates) {
    if (!isEligible(candidate, tried, isForAll, now)) continue
    count++
    total += candidate.weight
    candidate.turn += candidate.weight
    if (first === null || candidate.turn > first.turn) first = candidate
  }
  if (first === null) return null
  first.turn -= total
  if (count === 1) return first
  let left = random() * (total - first.weight)
  let second: TCandidate | null = null
  for (const candidate of candidates) {
    if (candidate === first || !isEligible(candidate, tried, isForAll, now)) continue
    second = candidate
    left -= candidate.weight
    if (left < 0) break
  }
  if (second === null) return first
  const [best, other] = isCheaper(second, first, now) ? [second, first] : [first, second]
  const warmth = best.warmth(now)
  if (warmth === 1 || isFarSlower(other, best, now)) return best
  return random() * other.warmth(now) < warmth ? best : other
}

/** An upstream that starts is spared if another one can take the call, unless that would take far longer. */
function isFarSlower(other: Candidate, starting: Candidate, now: number): boolean {
  const [one, two] = [other.latency(now), starting.latency(now)]
  return one !== null && two !== null && one > two * FAR_SLOWER
}

function isEligible<TCandidate extends Candidate>(
  candidate: TCandidate,
  tried: readonly TCandidate[] | null,
  isForAll: boolean,
  now: number,
): boolean {
  return (isForAll || !candidate.isLeftOut(now)) && tried?.includes(candidate) !== true
}
