/** What runs of a long list of cases (see TEST_SCOPE in vitest.config.ts). */

/** Whether only a sample of the cases runs. */
export const isSample = process.env.TEST_SCOPE === 'sample'

/**
 * All of the cases; as a sample each `step`th from `start` on, the same ones each time. At least one, where there is
 * one.
 *
 * @param start lists that begin elsewhere have, side by side, cases of all kinds
 */
export function sample<T>(cases: readonly T[], step: number, start = 0): readonly T[] {
  if (!isSample) return cases
  const first = Math.min(start % step, Math.max(0, cases.length - 1))
  return cases.filter((_case, at) => at >= first && (at - first) % step === 0)
}
