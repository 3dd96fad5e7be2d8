/** docs/conformance.md, of what a run has recorded. */
import { existsSync, readdirSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import { toFile as toRecordFile, toTable } from '../page.mjs'
import { toRules } from './rules.mjs'

/**
 * @typedef {[passed: number, failed: number]} Count
 *
 * @typedef {object} Recorded
 * @property {Record<string, string>} nodes the version of each line
 * @property {Record<string, string>} versions of what the tests start
 * @property {Record<string, Record<string, Count>>} files by path: by line of Node, both engines together
 * @property {Record<string, Record<string, Record<string, Count>>>} parts by path: what of it is counted apart, by line and key
 * @property {Record<string, string>} days by path: on which it ran, the last time
 * @property {Record<string, string>} fingerprints by path: of the tests that ran
 * @property {Record<string, Count>} rules by the keys of the rows that tests are about
 * @property {Vectors[]} vectors
 *
 * @typedef {object} Vectors
 * @property {string} source who made them
 * @property {number} blocks of HPACK, or frames
 * @property {number} [fields] in these blocks
 */

/**
 * @typedef {object} Part tests of an area that have a row of their own: a test is in the first part that has it
 * @property {string} key by which the record has its count
 * @property {string} what
 * @property {RegExp} titles of the tests around it and its own, joined by ` › `
 * @property {boolean} [isDeviation] its tests assert an outcome other than the standard’s, so that passing is no ✓
 *
 * @typedef {object} Area
 * @property {string} what one plain sentence, without its full stop
 * @property {readonly string[]} files of tests; `*` stands for any part of a name
 * @property {readonly Part[]} [parts] what is counted apart
 *
 * @typedef {object} Group
 * @property {string} title
 * @property {string} text
 * @property {boolean} onAllLines on each line of Node, or on the newest alone
 * @property {readonly Area[]} areas
 */

const root = join(import.meta.dirname, '../..')

/** @type {{ groups: (Omit<Group, 'areas'> & { areas: (Omit<Area, 'parts'> & { parts?: (Omit<Part, 'titles'> & { titles: string })[] })[] })[], elsewhere: Record<string, string>, lacking: string[] }} */
const { groups, elsewhere, lacking } = JSON.parse(
  readFileSync(join(import.meta.dirname, 'areas.json'), 'utf8'),
)

/** What the page has, besides the rules of RFC 9113 and RFC 7541: areas, and the tests of each. @type {readonly Group[]} */
export const GROUPS = groups.map(({ areas, ...group }) => ({
  ...group,
  areas: areas.map(({ parts = [], ...area }) => ({
    ...area,
    parts: parts.map(({ titles, ...part }) => ({ ...part, titles: new RegExp(titles) })),
  })),
}))

/** Tests of these folders that belong to no area, and why. */
export const ELSEWHERE = elsewhere

/** @param {string} pattern with `*` for any part of a name, and `{a,b}` for either */
export function toMatcher(pattern) {
  const source = pattern
    .replace(/[.+^$()|[\]\\]/g, '\\$&')
    .replaceAll('*', '[^/]*')
    .replace(/\{([^}]*)\}/g, (_all, /** @type {string} */ parts) => `(${parts.replaceAll(',', '|')})`)
  return new RegExp(`^${source}$`)
}

/** @param {Count | undefined} count @param {'✓' | '≠'} sign of those that passed */
function toCell([passed, failed] = [0, 0], sign = '✓') {
  if (passed + failed === 0) return ''
  return failed === 0 ? `${passed} ${sign}` : `${passed} ${sign}, ${failed} ✗`
}

/** @param {readonly (Count | undefined)[]} counts @returns {Count} */
function toSum(counts) {
  return counts.reduce(
    (/** @type {Count} */ [passed, failed], [more = 0, other = 0] = [0, 0]) => [
      passed + more,
      failed + other,
    ],
    [0, 0],
  )
}

/** @param {string} file of tests @returns {readonly Part[]} what of it is counted apart */
export function toParts(file) {
  const areas = GROUPS.flatMap((group) => group.areas)
  const own = areas.filter(({ files }) => files.some((pattern) => toMatcher(pattern).test(file)))
  return own.flatMap(({ parts = [] }) => parts)
}

/** @param {Count} count @param {Count} part @returns {Count} */
const subtract = ([passed, failed], [partPassed, partFailed]) => [passed - partPassed, failed - partFailed]

/** @param {Recorded} recorded @param {Group} group */
function toGroup({ nodes, files, parts: recordedParts }, { title, text, onAllLines, areas }) {
  const lines = onAllLines ? Object.keys(nodes) : Object.keys(nodes).slice(-1)
  const rows = areas.flatMap(({ what, files: patterns, parts = [] }) => {
    const matchers = patterns.map(toMatcher)
    const counts = Object.entries(files).filter(([file]) => matchers.some((matcher) => matcher.test(file)))
    const links = patterns.map((pattern) => `\`${pattern.replace(/^test\//, '').replace('.test.ts', '')}\``)
    const toPart = (/** @type {string} */ line, /** @type {string} */ key) =>
      toSum(counts.map(([file]) => recordedParts[file]?.[line]?.[key]))
    const toRest = (/** @type {string} */ line) =>
      parts.reduce(
        (rest, { key }) => subtract(rest, toPart(line, key)),
        toSum(counts.map(([, by]) => by[line])),
      )
    return [
      [`${what} (${links.join(', ')})`, ...lines.map((line) => toCell(toRest(line)))],
      ...parts.map(({ key, what: part, isDeviation = false }) => [
        `– ${part}`,
        ...lines.map((line) => toCell(toPart(line, key), isDeviation ? '≠' : '✓')),
      ]),
    ]
  })
  const table = toTable([['', ...lines.map((line) => `Node ${line}`)], ...rows], '--:')
  return `## ${title}\n\n${text === '' ? '' : `${text}\n\n`}${table}`
}

/** The cell of test/protocol/README.md, with links that lead there from docs/. @param {string} where */
const toReason = (where) =>
  where.replace(
    /\]\((\.\.\/)?([\w./-]+)\)/g,
    (_all, /** @type {string | undefined} */ up, /** @type {string} */ path) =>
      up === undefined ? `](../test/protocol/${path})` : `](../test/${path})`,
  )

/** @param {Recorded} recorded @param {string} table */
function toTables({ rules: counts }, table) {
  const rules = toRules(table)
  const unknown = rules.filter(({ isChecked, key }) => isChecked && counts[key] === undefined)
  if (unknown.length > 0) {
    const rows = unknown.map(({ section, what }) => `§${section} ${what}`)
    throw new Error(`The run had not these rows, so npm run conformance -- --missing: ${rows.join('; ')}`)
  }
  const titles = [...new Set(rules.map(({ rfc }) => rfc))]
  return titles.map((rfc) => {
    const rows = rules
      .filter((rule) => rule.rfc === rfc)
      .map(({ key, section, what, isChecked, where }) => [
        section,
        what,
        isChecked ? toCell(counts[key]) : toReason(where),
      ])
    return `### ${rfc}\n\n${toTable([['§', 'What it says', 'Checks'], ...rows])}`
  })
}

/** Those of this repository, and those that are read where they are found beside it. */
const FOLDERS = { ours: 'test/protocol/vectors', published: '../shared/vectors' }

/** How many vectors there are, of each source. @returns {Vectors[]} */
export function toVectors() {
  return Object.entries(FOLDERS).flatMap(([whose, folder]) => {
    const path = join(root, folder)
    if (!existsSync(path)) return []
    const read = (/** @type {string} */ file) => JSON.parse(readFileSync(join(path, file), 'utf8'))
    const frames = { source: `frames, ${whose}`, blocks: read('frames/frames.json').length }
    const files = readdirSync(join(path, 'hpack')).filter((file) => file.endsWith('.json'))
    return [frames, ...files.sort().map((file) => toHpack(`HPACK, ${whose}: ${file}`, read(`hpack/${file}`)))]
  })
}

/** @param {string} source @param {{ cases: { headers: unknown[] }[] }[]} stories */
function toHpack(source, stories) {
  const cases = stories.flatMap((story) => story.cases)
  return { source, blocks: cases.length, fields: cases.reduce((sum, { headers }) => sum + headers.length, 0) }
}

/** @param {Recorded} recorded */
function toDays({ days }) {
  const all = Object.values(days).sort()
  const [first, last] = [all[0], all.at(-1)]
  const count = all.filter((day) => day === last).length
  const when =
    first === last
      ? `All ${count} test files ran on ${last}.`
      : `Of ${all.length} test files, ${count} ran on ${last}, and the others since ${first}: [the record](conformance.json) has the day of each.`
  return `${when} A file runs again when its tests\nchange, or the cases that it imports. The versions are the last day’s.`
}

/** @param {Recorded} recorded @param {string} table the text of test/protocol/README.md @returns {string} Markdown */
export function toPage(recorded, table) {
  const { nodes, versions } = recorded
  const newest = Object.values(nodes).at(-1)
  return `# Conformance

This page shows what tests check of the RFCs, of the Fetch standard and of real servers. \`npm run conformance\` generates it from the tests: edit those,
[the table of rules](../test/protocol/README.md) and scripts/conformance/, not this page.

Each number is how many tests passed. If a test runs on both engines, both runs count. A row that begins with a dash contains tests from the same files as
the row above it, and they count only there. ≠ marks tests that assert a known deviation from the standard.

${toDays(recorded)}

The tests ran on Node ${Object.values(nodes).join(', ')}, with ${Object.entries(versions)
    .map(([name, version]) => `${name} ${version}`)
    .join(', ')}.

## What Dodici doesn’t implement

${lacking.map((line) => `- ${line}`).join('\n')}

${GROUPS.map((group) => toGroup(recorded, group)).join('\n\n')}

## How many vectors

One test decodes all blocks from one source. The \`published\` vectors are from the HTTP/2 Japan Community, and aren’t part of this repository.

${toTable(
  [
    ['From', 'Blocks or frames', 'Fields'],
    ...recorded.vectors.map(({ source, blocks, fields = '' }) => [source, blocks, fields]),
  ],
  '--:',
)}

## Rule by rule

These tables list each MUST, MUST NOT, SHALL and REQUIRED that binds a client, and how many checks of it passed on Node ${newest}.
[The table of rules](../test/protocol/README.md) has the titles of these tests. They test engine \`wire\`; engine \`node\` uses nghttp2’s framing. A test
that covers several rules counts in each of them: for example, one test has all invalid values of SETTINGS. If there is no test, "none" says why.

${toTables(recorded, table).join('\n\n')}
`
}

/** The record as a file: one line for each file of tests. @param {Recorded} recorded */
export function toFile({ files, parts, days, fingerprints, rules, ...others }) {
  const toLines = (/** @type {object} */ entries) =>
    Object.entries(entries)
      .sort(([a], [b]) => (a < b ? -1 : 1))
      .map(([key, value]) => `${JSON.stringify(key)}: ${JSON.stringify(value)}`)
  const sections = Object.entries({ rules, fingerprints, days, parts, files })
  return toRecordFile(
    others,
    Object.fromEntries(sections.map(([name, entries]) => [name, toLines(entries)])),
    '{}',
  )
}
