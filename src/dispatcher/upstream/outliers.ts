/**
 * Pure: which upstreams fail far more calls than the others.
 *
 * @module
 */

/** One upstream's calls within an interval. */
export interface CallCounts {
  readonly successes: number
  readonly failures: number
}

/** Envoy's numbers: how many calls an upstream needs to be judged, and how many such upstreams a comparison needs. */
const MIN_CALLS = 100
const MIN_UPSTREAMS = 5
/** How many standard deviations below the mean are far. Envoy's number. */
const DEVIATIONS = 1.9
/** How much below the mean is far: among upstreams that hardly ever fail, a single failure is many deviations. */
const MIN_GAP = 0.05

/**
 * The rule of Envoy's outlier detection by success rate, applied to upstreams that are used.
 *
 * @param counts each upstream's counts
 * @returns the success rate below which an upstream with enough calls is an outlier; 0 if there is none
 */
export function toOutlierThreshold(counts: readonly CallCounts[]): number {
  const rates = counts.filter(hasEnoughCalls).map(toSuccessRate)
  if (rates.length < MIN_UPSTREAMS) return 0
  const mean = rates.reduce((sum, rate) => sum + rate, 0) / rates.length
  const variance = rates.reduce((sum, rate) => sum + (rate - mean) ** 2, 0) / rates.length
  return Math.max(0, mean - Math.max(MIN_GAP, DEVIATIONS * Math.sqrt(variance)))
}

/** @param threshold the result of {@link toOutlierThreshold} */
export function isOutlier(counts: CallCounts, threshold: number): boolean {
  return hasEnoughCalls(counts) && toSuccessRate(counts) < threshold
}

function hasEnoughCalls({ successes, failures }: CallCounts): boolean {
  return successes + failures >= MIN_CALLS
}

function toSuccessRate({ successes, failures }: CallCounts): number {
  return successes / (successes + failures)
}
