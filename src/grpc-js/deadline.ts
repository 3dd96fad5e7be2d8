/**
 * Deadlines, and the `grpc-timeout` field.
 *
 * @module
 */

/** A timer's longest delay, in milliseconds. */
const MAX_DELAY = 2 ** 31 - 1

export function toTime(deadline: Date | number): number {
  return deadline instanceof Date ? deadline.getTime() : deadline
}

/** How long a timer has to wait, in milliseconds; Infinity for no timer. */
export function toDelay(deadline: number): number {
  const delay = Math.max(deadline - Date.now(), 0)
  return delay > MAX_DELAY ? Number.POSITIVE_INFINITY : delay
}

const UNITS = [
  ['m', 1],
  ['S', 1_000],
  ['M', 60_000],
  ['H', 3_600_000],
] as const

/** At most eight digits and a unit, rounded up; null for a deadline that is too far away to be written. */
export function toTimeoutField(deadline: number): string | null {
  const rest = Math.max(deadline - Date.now(), 0)
  for (const [unit, size] of UNITS) if (rest / size < 1e8 - 1) return `${Math.ceil(rest / size)}${unit}`
  return null
}
