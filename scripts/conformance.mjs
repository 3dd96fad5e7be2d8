/** What of the RFCs, of the Fetch standard and of real servers was checked: `npm run conformance -- --help`. */
import { execFileSync, spawnSync } from 'node:child_process'
import { readdirSync, readFileSync, writeFileSync } from 'node:fs'
import { dirname, join, relative } from 'node:path'
import { GROUPS, toFile, toMatcher, toPage, toParts, toVectors } from './conformance/page.mjs'
import { isNamed, readFingerprint, toRules } from './conformance/rules.mjs'
import { readOptions, runMain } from './options.mjs'
import { makeFolder, say } from './processes.mjs'
import { PROGRAM_ENV } from './program-env.mjs'

/**
 * @typedef {import('./conformance/page.mjs').Count} Count
 * @typedef {import('./conformance/page.mjs').Recorded} Recorded
 * @typedef {{ file: string, titles: string[], hasPassed: boolean }} Played
 * @typedef {import('./conformance/rules.mjs').Rule} Rule
 */

const root = join(import.meta.dirname, '..')
const RECORD = join(root, 'docs/conformance.json')
const PAGE = join(root, 'docs/conformance.md')
const TABLE = readFileSync(join(root, 'test/protocol/README.md'), 'utf8')
const LINES = ['20', '22', '24', '26']

const help = `Usage: npm run conformance -- [--missing] [--page]

Runs the tests of test/protocol/README.md and of scripts/conformance/areas.json, on Node ${LINES.join(', ')}, and writes docs/conformance.json and
docs/conformance.md. Takes some twenty minutes.

  --missing   runs only the files that the record hasn't, or of which a test or a case was added, removed or renamed since
  --page      makes the page anew of what was recorded, and runs nothing
`

/** The servers of the POM, and what each is there. */
const JAVA = {
  Undertow: 'undertow-core',
  Helidon: 'helidon-webserver-http2',
  Jetty: 'jetty-http2-server',
  Tomcat: 'tomcat-embed-core',
}

/** How each says its version. @type {Readonly<Record<string, [command: string, version: RegExp]>>} */
const PROGRAMS = {
  nghttpd: ['nghttpd --version', /nghttp2\/([\d.]+)/],
  nginx: ['nginx -v', /nginx\/([\d.]+)/],
  Apache: ['apache2 -v', /Apache\/([\d.]+)/],
  Go: ['go version', /go([\d.]+)/],
  Envoy: [`"$(${join(root, 'scripts/install-envoy.sh')})" --version`, /\/([\d.]+)\//],
  squid: ['squid -v', /Version ([\d.]+)/],
  nghttpx: ['nghttpx --version', /nghttp2\/([\d.]+)/],
  // It has no option for that.
  microsocks: ["dpkg-query -W -f '${Version}' microsocks", /([\d.]+)/],
  ...Object.fromEntries(
    Object.entries(JAVA).map(([name, artifact]) => [
      name,
      [
        `cat ${join(root, 'test/interop/java/pom.xml')}`,
        new RegExp(`>${artifact}</artifactId>\\s*<version>([\\d.]*\\d)`),
      ],
    ]),
  ),
  Bun: [`"$(${join(root, 'scripts/install-runtimes.sh')} bun)" --version`, /^([\d.]+)$/m],
  'x/net': [`cat ${join(root, 'test/interop/xnet-2022/go.mod')}`, /golang\.org\/x\/net v([\d.]+)/],
  'grpc-go': [`cat ${join(root, 'test/interop/grpc-go/go.mod')}`, /google\.golang\.org\/grpc v([\d.]+)/],
}

/** Of npm, by their folders. @type {Readonly<Record<string, readonly string[]>>} */
const PACKAGES = {
  'grpc-js': ['@grpc/grpc-js'],
  'connect-es': ['@connectrpc/connect'],
  undici: ['undici-6', 'undici', 'undici-8'],
}

/** @param {string} folder */
function toPackageVersion(folder) {
  /** @type {{ version: string }} */
  const { version } = JSON.parse(readFileSync(join(root, 'node_modules', folder, 'package.json'), 'utf8'))
  return version
}

/** @returns {Record<string, string>} */
function toVersions() {
  /** @type {Record<string, string>} */
  const versions = {}
  for (const [name, [command, version]] of Object.entries(PROGRAMS)) {
    const said = execFileSync('sh', ['-c', `${command} 2>&1`], { encoding: 'utf8', env: PROGRAM_ENV })
    const [, found] = version.exec(said) ?? []
    if (found === undefined) throw new Error(`${name} doesn't say its version`)
    versions[name] = found
  }
  for (const [name, folders] of Object.entries(PACKAGES))
    versions[name] = folders.map(toPackageVersion).join(' and ')
  return versions
}

/** @returns {string[]} each file of tests, relative to the root */
function toTestFiles() {
  return readdirSync(join(root, 'test'), { recursive: true, encoding: 'utf8' })
    .filter((file) => file.endsWith('.test.ts') && !file.includes('node_modules'))
    .map((file) => `test/${file}`)
    .sort()
}

/**
 * @param {string} binary of Node @param {readonly string[]} projects of the tests, which have the same default engine
 * @param {readonly string[]} files
 * @returns {Played[]} one for each test
 */
function play(binary, projects, files) {
  const { folder, remove } = makeFolder('conformance')
  const report = join(folder, 'report.json')
  const args = [
    'run',
    ...projects.flatMap((project) => ['--project', project]),
    '--reporter=json',
    `--outputFile=${report}`,
    '--passWithNoTests',
    ...files,
  ]
  // Each case is counted. Tests that start `node` get the same line.
  const env = {
    ...process.env,
    CI: 'true',
    TEST_SCOPE: 'full',
    PATH: `${dirname(binary)}:${process.env.PATH}`,
  }
  const { status } = spawnSync(binary, [join(root, 'node_modules/vitest/vitest.mjs'), ...args], {
    cwd: root,
    env,
    stdio: ['ignore', 'ignore', 'inherit'],
  })
  /** @type {{ testResults: { name: string, assertionResults: { ancestorTitles: string[], title: string, status: string }[] }[] }} */
  const { testResults } = JSON.parse(readFileSync(report, 'utf8'))
  remove()
  const played = testResults.flatMap(({ name, assertionResults }) =>
    assertionResults.map(({ ancestorTitles, title, status }) => ({
      file: relative(root, name),
      titles: [...ancestorTitles, title],
      hasPassed: status === 'passed',
    })),
  )
  // A file that doesn't load, an unhandled error, a crash: no count of tests would show it.
  if (status !== 0 && played.every(({ hasPassed }) => hasPassed))
    throw new Error(`The tests of ${projects.join(' and ')} ended with ${status}, though no test failed`)
  return played
}

/** @param {readonly Played[]} played @returns {Count} */
function toCount(played) {
  const passed = played.filter(({ hasPassed }) => hasPassed).length
  return [passed, played.length - passed]
}

/** What of a file is counted apart. @param {string} file @param {readonly Played[]} played @returns {Record<string, Count>} */
function toPartCounts(file, played) {
  const parts = toParts(file)
  const toKey = (/** @type {Played} */ { titles }) =>
    parts.find((part) => part.titles.test(titles.join(' › ')))?.key
  return Object.fromEntries(
    parts.map(({ key }) => [key, toCount(played.filter((one) => toKey(one) === key))]),
  )
}

/** The files to run: on each line, and on the newest. @param {readonly Rule[]} rules */
function toWanted(rules) {
  const all = toTestFiles()
  const inGroups = (/** @type {boolean} */ onAllLines) => {
    const matchers = GROUPS.filter((group) => group.onAllLines === onAllLines)
      .flatMap(({ areas }) => areas.flatMap(({ files }) => files))
      .map(toMatcher)
    return all.filter((file) => matchers.some((matcher) => matcher.test(file)))
  }
  const everywhere = inGroups(true)
  const onNewest = new Set([...everywhere, ...inGroups(false), ...rules.flatMap(toFiles)])
  return { everywhere, onNewest: [...onNewest].sort() }
}

/** @param {Rule} rule */
const toFiles = ({ tests }) => tests.map(({ file }) => file)

/** How many of the tests that a rule names have passed. @param {Rule} rule @param {readonly Played[]} played */
function toRuleCount({ tests }, played) {
  const named = played.filter((one) =>
    tests.some(({ file, title }) => file === one.file && isNamed(title, one.titles)),
  )
  return toCount(named)
}

/** @param {Recorded | null} known what needn't be run again; null: nothing @returns {Recorded} */
function run(known) {
  const rules = toRules(TABLE).filter(({ isChecked }) => isChecked)
  const { everywhere, onNewest } = toWanted(rules)
  /** @type {Record<string, string>} */
  const fingerprints = Object.fromEntries(onNewest.map((file) => [file, readFingerprint(file)]))
  const isKnown = (/** @type {string} */ file, /** @type {string} */ line) =>
    known?.files[file]?.[line] !== undefined &&
    known.fingerprints[file] === fingerprints[file] &&
    toParts(file).every(({ key }) => known.parts[file]?.[line]?.[key] !== undefined)
  const newestLine = LINES.at(-1) ?? ''
  // The tests of one rule are in several files: all of them run, where one has changed.
  const stale = rules.filter(
    (rule) =>
      known?.rules[rule.key] === undefined || !toFiles(rule).every((file) => isKnown(file, newestLine)),
  )
  const ofStale = new Set(stale.flatMap(toFiles))
  /** @type {Record<string, string>} */
  const nodes = {}
  /** @type {Recorded['files']} */
  const files = Object.fromEntries(onNewest.map((file) => [file, {}]))
  /** @type {Recorded['parts']} */
  const parts = {}
  /** @type {Recorded['days']} */
  const days = {}
  const today = new Date().toISOString().slice(0, 10)
  /** @type {Played[]} */
  let newest = []
  for (const line of LINES) {
    const binary = say(join(root, 'scripts/install-node.sh'), line)
    nodes[line] = execFileSync(binary, ['-p', 'process.versions.node'], { encoding: 'utf8' }).trim()
    const isNewest = line === newestLine
    const all = isNewest ? onNewest : everywhere
    const wanted = all.filter((file) => !isKnown(file, line) || (isNewest && ofStale.has(file)))
    newest =
      wanted.length === 0
        ? []
        : [
            ...play(binary, ['pure', 'node', 'around'], wanted),
            ...play(binary, ['wire', 'wire-pure', 'around-wire'], wanted),
          ]
    for (const file of all) {
      const own = newest.filter((one) => one.file === file)
      const count = wanted.includes(file) ? toCount(own) : known?.files[file]?.[line]
      if (count === undefined || count[0] + count[1] === 0) throw new Error(`No test of ${file} has run`)
      if (wanted.includes(file)) console.log(`Node ${line}: ${file}: ${count[0]} passed, ${count[1]} failed`)
      files[file] = { ...files[file], [line]: count }
      days[file] = wanted.includes(file) ? today : (days[file] ?? known?.days[file] ?? today)
      if (toParts(file).length === 0) continue
      const apart = wanted.includes(file) ? toPartCounts(file, own) : known?.parts[file]?.[line]
      parts[file] = { ...parts[file], [line]: apart ?? {} }
    }
  }
  const counts = rules.map((rule) => [
    rule.key,
    (stale.includes(rule) ? undefined : known?.rules[rule.key]) ?? toRuleCount(rule, newest),
  ])
  return {
    nodes,
    versions: toVersions(),
    vectors: toVectors(),
    rules: Object.fromEntries(counts),
    fingerprints,
    days,
    parts,
    files,
  }
}

await runMain(async () => {
  const options = readOptions(help)
  /** @returns {Recorded} */
  const read = () => JSON.parse(readFileSync(RECORD, 'utf8'))
  if (!options.flag('page')) writeFileSync(RECORD, toFile(run(options.flag('missing') ? read() : null)))
  const recorded = read()
  writeFileSync(PAGE, toPage(recorded, TABLE))
  const counts = [...Object.values(recorded.rules), ...Object.values(recorded.files).flatMap(Object.values)]
  if (counts.some(([, failed]) => failed > 0)) process.exitCode = 1
})
