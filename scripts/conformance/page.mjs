/**
 * docs/conformance.md, of what a run has recorded.
 */
import { GROUPS, LACKING } from './areas.mjs'
import { toRules } from './rules.mjs'

/**
 * @typedef {[passed: number, failed: number]} Count
 *
 * @typedef {object} Recorded
 * @property {Record<string, string>} nodes the version of each line
 * @property {Record<string, string>} versions of what the tests start
 * @property {Record<string, Record<string, Count>>} files by path: by line of Node, both engines together
 * @property {Count[]} rules one for each row of the table, in its order
 */

/** @param {string} pattern with `*` for any part of a name, and `{a,b}` for either */
export function toMatcher(pattern) {
  const source = pattern
    .replace(/[.+^$()|[\]\\]/g, '\\$&')
    .replaceAll('*', '[^/]*')
    .replace(/\{([^}]*)\}/g, (_all, /** @type {string} */ parts) => `(${parts.replaceAll(',', '|')})`)
  return new RegExp(`^${source}$`)
}

/** @param {Count | undefined} count */
function toCell([passed, failed] = [0, 0]) {
  if (passed + failed === 0) return ''
  return failed === 0 ? `${passed} ✓` : `${passed} ✓, ${failed} ✗`
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

/** @param {string[]} cells */
const toLine = (cells) => `| ${cells.join(' | ')} |`

/** @param {Recorded} recorded @param {import('./areas.mjs').Group} group */
function toGroup({ nodes, files }, { title, text, onAllLines, areas }) {
  const lines = onAllLines ? Object.keys(nodes) : Object.keys(nodes).slice(-1)
  const rows = areas.map(({ what, files: patterns }) => {
    const matchers = patterns.map(toMatcher)
    const counts = Object.entries(files).filter(([file]) => matchers.some((matcher) => matcher.test(file)))
    const links = patterns.map((pattern) => `\`${pattern.replace(/^test\//, '').replace('.test.ts', '')}\``)
    return [
      `${what} (${links.join(', ')})`,
      ...lines.map((line) => toCell(toSum(counts.map(([, by]) => by[line])))),
    ]
  })
  const head = ['', ...lines.map((line) => `Node ${line}`)]
  const rule = ['---', ...lines.map(() => '--:')]
  return `## ${title}\n\n${text === '' ? '' : `${text}\n\n`}${[head, rule, ...rows].map(toLine).join('\n')}`
}

/** @param {Recorded} recorded @param {string} table */
function toTables({ rules: counts }, table) {
  const rules = toRules(table)
  if (rules.length !== counts.length)
    throw new Error('The table of rules is another one than that of the run')
  const titles = [...new Set(rules.map(({ rfc }) => rfc))]
  return titles.map((rfc) => {
    const rows = rules.flatMap(({ section, what, tests, where, ...rule }, index) => {
      if (rule.rfc !== rfc) return []
      const checks = tests.length === 0 ? where.replaceAll('](../', '](../test/') : toCell(counts[index])
      return [[section, what, checks]]
    })
    return `### ${rfc}\n\n${[['§', 'What it says', 'Checks'], ['---', '---', '---'], ...rows].map(toLine).join('\n')}`
  })
}

/**
 * @param {Recorded} recorded
 * @param {string} table the text of test/protocol/README.md
 * @returns {string} Markdown
 */
export function toPage(recorded, table) {
  const { nodes, versions } = recorded
  const newest = Object.values(nodes).at(-1)
  return `# Conformance

Made by \`npm run conformance\`, of tests: edit those, [test/protocol/README.md](../test/protocol/README.md) and scripts/conformance/, not this page.

A number is that of the tests that passed. The tests of engine \`wire\` and of engine \`node\` are counted together, where both have them.

Run on Node ${Object.values(nodes).join(', ')}, with ${Object.entries(versions)
    .map(([name, version]) => `${name} ${version}`)
    .join(', ')}.

## What is lacking, on purpose or not

${LACKING.map((line) => `- ${line}`).join('\n')}

${GROUPS.map((group) => toGroup(recorded, group)).join('\n\n')}

## Rule by rule

Each MUST, MUST NOT, SHALL and REQUIRED that binds a client, and how many checks of it passed on Node ${newest}; the titles of these tests are in
[test/protocol/README.md](../test/protocol/README.md). They ask engine \`wire\`; engine \`node\` has its framing from nghttp2.

${toTables(recorded, table).join('\n\n')}
`
}

/** The record as a file: one line for each file of tests. @param {Recorded} recorded */
export function toFile({ files, rules, ...others }) {
  const head = JSON.stringify(others, null, 2).replace(/\n}$/, '')
  const lines = Object.entries(files).map(
    ([file, by]) => `    ${JSON.stringify(file)}: ${JSON.stringify(by)}`,
  )
  return `${head},\n  "rules": ${JSON.stringify(rules)},\n  "files": {\n${lines.join(',\n')}\n  }\n}\n`
}
