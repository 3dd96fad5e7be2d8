/**
 * Pure: which of several upstreams gets a call.
 *
 * @module
 */

/** An upstream that may be chosen. */
export interface Candidate {
  /** Above 0. */
  readonly weight: number
  /** What one more call costs there at a time: the lower is chosen. */
  cost(now: number): number
}

/** The cost of an upstream that has calls and no latency yet: it gets no more of them until a response has come. */
const UNMEASURED = 1e9

/**
 * The cost of one more call.
 *
 * @param latency in milliseconds; null: it isn't known
 * @param inFlight calls without that one
 */
export function toCost(latency: number | null, inFlight: number, weight: number): number {
  if (latency !== null) return ((inFlight + 1) * latency) / weight
  return inFlight === 0 ? 0 : (UNMEASURED * (inFlight + 1)) / weight
}

/**
 * The power of two choices: two candidates at random, by their weights, and of these the one with the lower cost.
 *
 * @param random a number from 0 to below 1
 * @returns null when there are no candidates
 * @see Mitzenmacher, The Power of Two Choices in Randomized Load Balancing (2001)
 */
export function choose<TCandidate extends Candidate>(
  candidates: readonly TCandidate[],
  now: number,
  random: () => number,
): TCandidate | null {
  const first = pick(candidates, null, random)
  if (first === null || candidates.length === 1) return first
  const second = pick(candidates, first, random)
  return second !== null && second.cost(now) < first.cost(now) ? second : first
}

/** One at random, by weight. */
function pick<TCandidate extends Candidate>(
  candidates: readonly TCandidate[],
  except: TCandidate | null,
  random: () => number,
): TCandidate | null {
  let total = 0
  for (const candidate of candidates) if (candidate !== except) total += candidate.weight
  let left = random() * total
  let last: TCandidate | null = null
  for (const candidate of candidates) {
    if (candidate === except) continue
    last = candidate
    left -= candidate.weight
    if (left < 0) break
  }
  return last
}
