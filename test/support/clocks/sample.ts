/** What runs of long lists of cases: TEST_SCOPE in vitest.config.ts. */

const scope = process.env.TEST_SCOPE ?? ''

/** Whether each case of each list runs. */
export const isFull = scope === 'full'

/** Whether as few run as a line of Node between the oldest and the newest needs. */
export const isSample = scope === 'sample'

/** Whether the same run has been on another line of Node: TEST_SCOPE=line, or `sample`. */
const isLine = isSample || scope === 'line'

/** Of how many cases one runs. */
interface Steps {
  readonly usual: number
  /** On a line of Node other than the default one. */
  readonly sample: number
}

/**
 * All of the cases with TEST_SCOPE=full; otherwise each `step`th from `start` on, the same ones each time. At least one, where there is
 * one.
 *
 * @param start lists that begin elsewhere have, side by side, cases of all kinds
 */
export function sample<T>(cases: readonly T[], steps: Steps, start = 0): readonly T[] {
  if (isFull) return cases
  const step = isLine ? steps.sample : steps.usual
  const first = Math.min(start % step, Math.max(0, cases.length - 1))
  return cases.filter((_case, at) => at >= first && (at - first) % step === 0)
}

/**
 * All of the cases with TEST_SCOPE=full; otherwise the one whose turn it is. Of three lists, with `i + j` as the turn of the third, each case
 * of one meets each of another.
 */
export function inTurn<T>(cases: readonly T[], turn: number): readonly T[] {
  return isFull ? cases : cases.slice(turn % cases.length, (turn % cases.length) + 1)
}

/** All of the cases, or the first alone with TEST_SCOPE=sample. */
export function firstOfSample<T>(cases: readonly T[]): readonly T[] {
  return isSample ? cases.slice(0, 1) : cases
}

/** How often something is done: as often as it takes to meet a rare case with TEST_SCOPE=full, and otherwise less often. */
export function toRounds(full: number, usual: number): number {
  return isFull ? full : usual
}
