/**
 * The rules of RFC 9113 and RFC 7541, as test/protocol/README.md has them, and the tests that each names; and what the record keeps of
 * the tests of a file, as they stand in its source and in the tables of cases that it imports, to tell when there are others.
 */
import { createHash } from 'node:crypto'
import { readFileSync } from 'node:fs'
import { dirname, join } from 'node:path'

const root = join(import.meta.dirname, '../..')

/** Comments, which don't count, and what does: literals, and constants by their names in capitals, as a table of tables has them. */
const TOKEN =
  /\/\/[^\n]*|\/\*[\s\S]*?\*\/|'(?:[^'\\\n]|\\.)*'|"(?:[^"\\\n]|\\.)*"|`(?:[^`\\]|\\.)*`|\b(?:\d[\w.]*|true|false|null|[A-Z][A-Z\d]*(?:_[A-Z\d]+)*)\b/g

/** An import of values, and what it names. */
const IMPORT = /^(?:import|export) (?!type\b)([^'"]*?) from '(\.[^']*)'/gm

/** An import of any kind: where it comes from isn't part of a test. */
const ANY_IMPORT = /^(?:import|export) (?:[^'";=]*? from )?'[^']*'/gm

/** A name of a constant: a table is one. */
const CONSTANT = /\b[A-Z][A-Z\d_]+\b/

/** @param {string} text @returns {string} eight digits that are others for another text */
export function toFingerprint(text) {
  return createHash('sha256').update(text).digest('hex').slice(0, 8)
}

/**
 * @param {readonly string[]} sources of a file of tests, and of what it has its cases from
 * @returns {string} another one where a test or a case was removed, added or renamed, and the same where one was moved
 */
export function toTestsFingerprint(sources) {
  const tokens = sources
    .flatMap((source) => source.replace(ANY_IMPORT, '').match(TOKEN) ?? [])
    .filter((token) => !/^\/[/*]/.test(token))
  return toFingerprint(tokens.sort().join('\n'))
}

/**
 * What a file of tests has its cases from: the files below test/ that it imports, and theirs. Of test/support it is those alone of which
 * a constant is imported: most of the others are servers and peers, of which a change would make half of all tests run again.
 *
 * @param {string} file relative to the root @param {(file: string) => string} read @param {Set<string>} found
 * @returns {Set<string>} with the file itself
 */
export function toSources(file, read, found = new Set()) {
  if (found.has(file)) return found
  found.add(file)
  for (const [, names = '', path = ''] of read(file).matchAll(IMPORT)) {
    const imported = join(dirname(file), path)
    const isInSupport = imported.startsWith('test/support/')
    if (imported.startsWith('test/') && (!isInSupport || CONSTANT.test(names)))
      toSources(imported, read, found)
  }
  return found
}

/** @type {Map<string, string>} */
const texts = new Map()

/** @param {string} file relative to the root */
function readText(file) {
  const text = texts.get(file) ?? readFileSync(join(root, file), 'utf8')
  texts.set(file, text)
  return text
}

/** @param {string} file of tests, relative to the root @returns {string} */
export function readFingerprint(file) {
  return toTestsFingerprint([...toSources(file, readText)].map(readText))
}

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

/** @param {string} table the text of test/protocol/README.md @returns {Rule[]} */
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
 * @param {string} title as the table has it @param {readonly string[]} titles of a test that has run
 */
export function isNamed(title, titles) {
  const path = titles.map((one) => one.replace(/^RFC 9113 /, '')).join(' › ')
  const pattern = title.replace(/[.*+?^${}()|[\]\\]/g, '\\$&').replace(PLACE, '.*')
  return new RegExp(`(^| › )${pattern}( › |$)`).test(path)
}
