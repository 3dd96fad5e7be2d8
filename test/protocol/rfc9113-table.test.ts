/** README.md says which test is about which rule of the RFCs: that it names tests that exist, and all of ours. */

import { existsSync, readdirSync, readFileSync } from 'node:fs'
import { describe, expect, it } from 'vitest'

const HERE = new URL('./', import.meta.url)
const SEPARATOR = ' › '

/** A literal that `it()`, `describe()`, or what their `each()` returns, is called with first. */
const TITLE = /(?:\b(?:it|describe)|\))\(\s*(?:'((?:[^'\\\n]|\\.)*)'|"((?:[^"\\\n]|\\.)*)"|`([^`]*)`)/g
/** The table leaves the RFC's own name out. */
const RFC = 'RFC 9113 '
const SECTION = /^RFC 9113 §[\d.]+: /
/** `[name](file) › title`, up to the end of a line in a cell. */
const REFERENCE = /\[[\w ]+\]\(([^)]+\.test\.ts)\) › (.+?)(?=<br>| \|)/g

interface Reference {
  readonly file: string
  readonly title: string
}

/** The titles of a file, as they stand in its source. */
function readTitles(file: string): string[] {
  const source = readFileSync(new URL(file, HERE), 'utf8')
  return [...source.matchAll(TITLE)].map(([, single, double, template]) =>
    (single ?? double ?? template ?? '').replaceAll("\\'", "'"),
  )
}

function toCited(title: string): string {
  return SECTION.test(title) ? title.slice(RFC.length) : title
}

/** Whether it is a title, or several of them one within the other; a title may have the separator itself. */
function isPath(path: string, titles: readonly string[]): boolean {
  return titles.some((title) => {
    if (path === title) return true
    return path.startsWith(title + SEPARATOR) && isPath(path.slice(title.length + SEPARATOR.length), titles)
  })
}

const rows = readFileSync(new URL('README.md', HERE), 'utf8')
  .split('\n')
  .filter((line) => /^\| \d/.test(line))

function toReferences(row: string): Reference[] {
  return [...row.matchAll(REFERENCE)].map(([, file = '', title = '']) => ({ file, title }))
}

const references = rows.flatMap(toReferences)
const ours = readdirSync(HERE).filter((name) => /^rfc9113-.*\.test\.ts$/.test(name))
const cited = new Map(
  [...new Set(references.map(({ file }) => file))].map((file) => [
    file,
    existsSync(new URL(file, HERE)) ? readTitles(file).map(toCited) : [],
  ]),
)

describe('the table of README.md', () => {
  it.each([...cited.keys()])('names titles of %s that exist', (file) => {
    const titles = cited.get(file) ?? []
    const missing = references.filter((one) => one.file === file && !isPath(one.title, titles))
    expect(missing.map(({ title }) => title)).toEqual([])
  })

  it.each(ours)('names every test of %s that is about a section', (file) => {
    const titles = readTitles(file)
      .filter((title) => SECTION.test(title))
      .map(toCited)
    const known = new Set(references.filter((one) => one.file === file).map(({ title }) => title))
    expect(titles.filter((title) => !known.has(title))).toEqual([])
    // One of two tests with the same title could be removed, and this test would not notice.
    expect(titles.filter((title, at) => titles.indexOf(title) !== at)).toEqual([])
  })

  it('has a test in each row, or says why there is none', () => {
    const bare = rows.filter(
      (row) => toReferences(row).length === 0 && !/ (?:none[:;]|[^|]*none of ours)/.test(row),
    )
    expect(bare).toEqual([])
    expect(rows.length).toBeGreaterThan(100)
  })

  it('would notice a title that is not there', () => {
    const titles = readTitles('rfc9113-table.test.ts')
    expect(isPath('the table of README.md › would notice a title that is not there', titles)).toBe(true)
    expect(isPath('the table of README.md › would notice a title that is', titles)).toBe(false)
    expect(isPath('', titles)).toBe(false)
  })
})
