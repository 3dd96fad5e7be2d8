/**
 * The titles of a file of tests, as they stand in its source: what the record keeps of it, to tell when the file has changed.
 */
import { createHash } from 'node:crypto'
import { readFileSync } from 'node:fs'
import { join } from 'node:path'

const root = join(import.meta.dirname, '../..')

/** A literal that `it()`, `test()`, `describe()`, or what their `each()` returns, is called with first. */
const TITLE = /(?:\b(?:it|test|describe)|\))\(\s*(?:'((?:[^'\\\n]|\\.)*)'|"((?:[^"\\\n]|\\.)*)"|`([^`]*)`)/g

/** @param {string} text @returns {string} eight digits that are others for another text */
export function toFingerprint(text) {
  return createHash('sha256').update(text).digest('hex').slice(0, 8)
}

/**
 * @param {string} source of a file of tests
 * @returns {string} another one where a test was removed, added or renamed, and the same where one was moved
 */
export function toTitlesFingerprint(source) {
  const titles = [...source.matchAll(TITLE)].map(
    ([, single, double, template]) => single ?? double ?? template ?? '',
  )
  return toFingerprint(titles.sort().join('\n'))
}

/** @param {string} file relative to the root @returns {string} */
export function readTitles(file) {
  return toTitlesFingerprint(readFileSync(join(root, file), 'utf8'))
}
