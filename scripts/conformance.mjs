/**
 * What of the RFCs, of the Fetch standard and of real servers was checked: `npm run conformance -- --help`.
 */
import { execFileSync } from 'node:child_process'
import { readdirSync, readFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { parseArgs } from 'node:util'
import { GROUPS } from './conformance/areas.mjs'
import { toFile, toMatcher, toPage } from './conformance/page.mjs'
import { play, toBinary } from './conformance/play.mjs'
import { isNamed, toRules } from './conformance/rules.mjs'

/**
 * @typedef {import('./conformance/page.mjs').Count} Count
 * @typedef {import('./conformance/page.mjs').Recorded} Recorded
 * @typedef {import('./conformance/play.mjs').Played} Played
 */

const root = join(import.meta.dirname, '..')
const RECORD = join(root, 'docs/conformance.json')
const PAGE = join(root, 'docs/conformance.md')
const TABLE = readFileSync(join(root, 'test/protocol/README.md'), 'utf8')
const LINES = ['20', '22', '24', '26']

const help = `Usage: npm run conformance -- [--missing] [--page]

Runs the tests of test/protocol/README.md and of scripts/conformance/areas.mjs, on Node ${LINES.join(', ')}, and writes docs/conformance.json and
docs/conformance.md. Takes some twenty minutes.

  --missing   runs only the files that the record hasn't
  --page      makes the page anew of what was recorded, and runs nothing
`

/** How each says its version. @type {Readonly<Record<string, [command: string, version: RegExp]>>} */
const PROGRAMS = {
  nghttpd: ['nghttpd --version', /nghttp2\/([\d.]+)/],
  nginx: ['nginx -v', /nginx\/([\d.]+)/],
  Apache: ['apache2 -v', /Apache\/([\d.]+)/],
  Go: ['go version', /go([\d.]+)/],
  Envoy: [`"$(${join(root, 'scripts/install-envoy.sh')})" --version`, /\/([\d.]+)\//],
  squid: ['squid -v', /Version ([\d.]+)/],
}

/** @returns {Record<string, string>} */
function toVersions() {
  // The servers are in sbin, which isn't in every user's PATH.
  const env = { ...process.env, PATH: `${process.env.PATH}:/usr/local/sbin:/usr/sbin:/sbin` }
  /** @type {Record<string, string>} */
  const versions = {}
  for (const [name, [command, version]] of Object.entries(PROGRAMS)) {
    const said = execFileSync('sh', ['-c', `${command} 2>&1`], { encoding: 'utf8', env })
    const [, found] = version.exec(said) ?? []
    if (found === undefined) throw new Error(`${name} doesn't say its version`)
    versions[name] = found
  }
  return versions
}

/** @returns {string[]} each file of tests, relative to the root */
function toTestFiles() {
  return readdirSync(join(root, 'test'), { recursive: true, encoding: 'utf8' })
    .filter((file) => file.endsWith('.test.ts'))
    .map((file) => `test/${file}`)
    .sort()
}

/** @param {readonly Played[]} played @returns {Count} */
function toCount(played) {
  const passed = played.filter(({ hasPassed }) => hasPassed).length
  return [passed, played.length - passed]
}

/** The files to run: on each line, and on the newest. @param {import('./conformance/rules.mjs').Rule[]} rules */
function toWanted(rules) {
  const all = toTestFiles()
  const inGroups = (/** @type {boolean} */ onAllLines) => {
    const matchers = GROUPS.filter((group) => group.onAllLines === onAllLines)
      .flatMap(({ areas }) => areas.flatMap(({ files }) => files))
      .map(toMatcher)
    return all.filter((file) => matchers.some((matcher) => matcher.test(file)))
  }
  const everywhere = inGroups(true)
  const ofRules = rules.flatMap(({ tests }) => tests.map(({ file }) => file))
  const onNewest = new Set([...everywhere, ...inGroups(false), ...ofRules])
  return { everywhere, onNewest: [...onNewest].sort() }
}

/**
 * @param {Recorded | null} known what needn't be run again; null: nothing
 * @returns {Recorded}
 */
function run(known) {
  const rules = toRules(TABLE)
  const { everywhere, onNewest } = toWanted(rules)
  /** @type {Record<string, string>} */
  const nodes = {}
  const files = { ...known?.files }
  /** @type {Played[]} */
  let newest = []
  for (const line of LINES) {
    const binary = toBinary(line)
    nodes[line] = execFileSync(binary, ['-p', 'process.versions.node'], { encoding: 'utf8' }).trim()
    const all = line === LINES.at(-1) ? onNewest : everywhere
    const wanted = all.filter((file) => known?.files[file]?.[line] === undefined)
    newest = wanted.length === 0 ? [] : [...play(binary, 'node', wanted), ...play(binary, 'wire', wanted)]
    for (const file of wanted) {
      const count = toCount(newest.filter((one) => one.file === file))
      console.log(`Node ${line}: ${file}: ${count[0]} passed, ${count[1]} failed`)
      files[file] = { ...files[file], [line]: count }
    }
  }
  const toRule = (/** @type {import('./conformance/rules.mjs').Rule} */ { tests }) =>
    toCount(
      newest.filter((one) =>
        tests.some(({ file, title }) => file === one.file && isNamed(title, one.titles)),
      ),
    )
  return { nodes, versions: toVersions(), rules: known?.rules ?? rules.map(toRule), files }
}

function main() {
  const flag = /** @type {const} */ ({ type: 'boolean' })
  const { values } = parseArgs({ options: { missing: flag, page: flag, help: flag } })
  if (values.help === true) {
    console.log(help)
    return
  }
  /** @returns {Recorded} */
  const read = () => JSON.parse(readFileSync(RECORD, 'utf8'))
  if (values.page !== true) writeFileSync(RECORD, toFile(run(values.missing === true ? read() : null)))
  const recorded = read()
  writeFileSync(PAGE, toPage(recorded, TABLE))
  const counts = [...recorded.rules, ...Object.values(recorded.files).flatMap((by) => Object.values(by))]
  if (counts.some(([, failed]) => failed > 0)) process.exitCode = 1
}

main()
