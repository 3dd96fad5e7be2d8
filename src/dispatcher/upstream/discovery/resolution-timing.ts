/**
 * Pure: when a source is asked again. Times are in milliseconds.
 *
 * @module
 */

/** The least time between two questions to a source, whatever happens. */
export const MIN_PAUSE = 5_000

/** How long an answer is valid if it doesn't say so. */
export const DEFAULT_TTL = 30_000

/** A source that hasn't answered after this time has failed. */
export const PATIENCE = 30_000

/** Many clients notice an event, or receive a TTL, at the same time: they should not ask at the same time. */
const MAX_JITTER = 500
/** Intervals vary by a tenth. */
const JITTER = 0.1

/**
 * When to ask again after an answer that is valid for `ttl`: within the last tenth of that time, so that no client's
 * answer expires before it has asked again, but no sooner than {@link MIN_PAUSE}.
 *
 * @param random from 0 to below 1
 */
export function toNext(ttl: number, now: number, random: number): number {
  return now + Math.max(MIN_PAUSE, ttl * (1 - JITTER * random))
}

/** When to ask again after this many consecutive failures: later each time, up to {@link DEFAULT_TTL}. */
export function toRetry(failures: number, now: number, random: number): number {
  const pause = Math.min(DEFAULT_TTL, MIN_PAUSE * 2 ** Math.min(failures - 1, 10))
  return now + pause + MAX_JITTER * random
}

/** When to ask because the answer may be out of date: soon, but not too soon after the last question. */
export function toRefresh(askedAt: number, now: number, random: number): number {
  return Math.max(now, askedAt + MIN_PAUSE) + MAX_JITTER * random
}
