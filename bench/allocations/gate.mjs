/** Holds what a path allocates to what was recorded of it. */
import { readFile, writeFile } from 'node:fs/promises'
import { median } from '../e2e/statistics.mjs'

/** How far from its record a figure may be. Measured again, it is within 0.3 % (see ../NOTES.md). */
export const TOLERANCE = 0.05

/** As few as have a median that one bad run doesn't move. */
export const RUNS = 3

/**
 * @typedef {object} Records
 * @property {string} node the version that they hold for
 * @property {Readonly<Record<string, number>>} bytes heap bytes a request, by path
 */

const file = new URL('../allocations.json', import.meta.url)

/** @returns {Promise<Records>} */
export async function readRecords() {
  return JSON.parse(await readFile(file, 'utf8'))
}

/** @param {Records} records */
export async function writeRecords(records) {
  await writeFile(file, `${JSON.stringify(records, null, 2)}\n`)
}

/**
 * @param {string} path @param {number} bytes @param {number | undefined} recorded
 * @returns {string | null} what is wrong, or null
 */
export function judge(path, bytes, recorded) {
  if (recorded === undefined) return `${path}: ${bytes} bytes a request, and nothing recorded: record it`
  const change = bytes / recorded - 1
  // Not the change itself: 1.05 times a figure is as near as it may be, whatever the floating point says.
  if (Math.abs(bytes - recorded) <= TOLERANCE * recorded) return null
  const facts = `${path}: ${bytes} bytes a request, recorded are ${recorded} (${toPercent(change)})`
  return change > 0 ? `${facts}: find out why` : `${facts}: fine; record it anew, so that it stays so`
}

/** @param {number} change */
export function toPercent(change) {
  return `${change < 0 ? '' : '+'}${(change * 100).toFixed(1)} %`
}

/**
 * One run is enough for a figure that is right. One that isn't gets the median of three.
 *
 * @param {() => Promise<number>} measure @param {string} path @param {number | undefined} recorded
 * @returns {Promise<string | null>} what is wrong, or null
 */
export async function check(measure, path, recorded) {
  const figures = [await measure()]
  if (judge(path, figures[0] ?? Number.NaN, recorded) === null) return null
  while (figures.length < RUNS) figures.push(await measure())
  return judge(path, Math.round(median(figures)), recorded)
}
