/**
 * The rules of RFC 9113 and RFC 7541, as test/protocol/README.md has them, and the tests that each names.
 */
import { toFingerprint } from './titles.mjs'

/**
 * @typedef {object} Rule
 * @property {string} key of what the row says, by which the record has its count
 * @property {string} rfc such as `RFC 9113, HTTP/2`
 * @property {string} section
 * @property {string} what
 * @property {{ file: string, title: string }[]} tests
 * @property {boolean} isChecked whether tests are about it; otherwise the table says why not, and may name tests of what comes near
 * @property {string} where the cell itself
 */

/** `[name](file) › title`, up to the end of a line in a cell. */
const REFERENCE = /\[[\w ]+\]\(([^)]+\.test\.ts)\) › (.+?)(?=<br>|$)/g

/** @param {string} file as test/protocol/README.md links to it */
const toPath = (file) => (file.startsWith('../') ? `test/${file.slice(3)}` : `test/protocol/${file}`)

/**
 * @param {string} table the text of test/protocol/README.md
 * @returns {Rule[]}
 */
export function toRules(table) {
  /** @type {Rule[]} */
  const rules = []
  let rfc = ''
  for (const line of table.split('\n')) {
    if (line.startsWith('## ')) rfc = line.slice(3)
    const [, section = '', what = '', where = ''] = /^\| (\d[^|]*) \| (.*?) \| (.*) \|$/.exec(line) ?? []
    if (section === '') continue
    const tests = [...where.matchAll(REFERENCE)].map(([, file = '', title = '']) => ({
      file: toPath(file),
      // A title that names its section is that of the row's own section: a table of cases may have those of several.
      title: title.replaceAll('${section}', `§${section}`),
    }))
    const isChecked = tests.length > 0 && !where.startsWith('none:')
    rules.push({ key: toFingerprint(line), rfc, section, what, tests, isChecked, where })
  }
  return rules
}

/** What stands for a part of a title that each case of a table has anew. */
const PLACE = /%[sidfjo]|\\\$\\\{[^}]*\\\}|\\\$[\w.]+/g

/**
 * Whether a test, by the titles around it and its own, is one that the table names.
 *
 * @param {string} title as the table has it
 * @param {readonly string[]} titles of a test that has run
 */
export function isNamed(title, titles) {
  const path = titles.map((one) => one.replace(/^RFC 9113 /, '')).join(' › ')
  const pattern = title.replace(/[.*+?^${}()|[\]\\]/g, '\\$&').replace(PLACE, '.*')
  return new RegExp(`(^| › )${pattern}( › |$)`).test(path)
}
