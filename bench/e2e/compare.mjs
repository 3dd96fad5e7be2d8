/** Says whether one revision is faster than another: `node bench/e2e/compare.mjs --help`. */
import { copyFileSync, mkdirSync, symlinkSync } from 'node:fs'
import { join } from 'node:path'
import { readOptions, runMain, UsageError } from '../../scripts/options.mjs'
import { outputOf } from '../../scripts/processes.mjs'
import { directory, start } from './children.mjs'
import { ownClients } from './clients/index.mjs'
import { measureEntries } from './measure.mjs'
import { describe, describeSetting, table } from './print.mjs'
import { apiNames, scenarios } from './scenarios.mjs'
import { describeMachine, git, root, toServer } from './servers.mjs'
import { judge, leastRounds } from './statistics.mjs'

/**
 * @typedef {import('./scenarios.mjs').Scenario} Scenario
 * @typedef {import('./measure.mjs').Entry['rounds']} Rounds
 * @typedef {{ api: string, a: Rounds, b: Rounds }} Pair
 * @typedef {{ hash: string | null, title: string }} Revision null: the work tree
 */

const scenarioNames = scenarios.map(({ name }) => name)

const help = `Usage: npm run bench:compare -- A B [options]

A and B are revisions, by any name that git knows; . or worktree is the work tree as it is. Both are built with what is
installed now, and measured by the harness of the work tree.

  --scenario A,B      ${scenarioNames.join(', ')} (default: get-1k)
  --apis A,B          ${apiNames.join(', ')}
                      (default: dispatch and request, or all of a scenario that has neither)
  --engine NAME       node or wire: which engine of the builds (default: node)
  --rounds N          how often each build is measured (default: 12)
  --requests N        requests timed in a measurement (default: the scenario's)
  --warmup N          requests before that (default: the scenario's)
  --server KIND       nghttpd or node (default: nghttpd where it is installed)
  --node FILE         the Node binary that runs the clients (default: this one)
`

/** How long a build may take, in milliseconds. */
const BUILD_LIMIT = 120_000

/** What is compared. */
const figures = /** @type {const} */ ([
  { key: 'cpuMicros', label: 'CPU', better: 'less', words: { better: 'faster', worse: 'slower' } },
  {
    key: 'requestsPerSecond',
    label: 'requests/s',
    better: 'more',
    words: { better: 'faster', worse: 'slower' },
  },
  { key: 'allocatedBytes', label: 'heap bytes', better: 'less', words: { better: 'less', worse: 'more' } },
])

/** @param {string} name @returns {Revision} */
function toRevision(name) {
  if (name === '.' || name === 'worktree') return { hash: null, title: 'the work tree as it is' }
  const hash = git('rev-parse', '--verify', '--quiet', '--end-of-options', `${name}^{commit}`)
  if (hash === null) throw new UsageError(`no such revision: ${name}`)
  return { hash, title: git('log', '-1', '--format=%h %s', hash) ?? '' }
}

/** Runs a program to its end. @param {string} file @param {string[]} args */
async function run(file, ...args) {
  await outputOf(start('server', file, args), BUILD_LIMIT)
}

/**
 * The library alone, as the bundler of its build makes it: declarations, CommonJS and the other entries take most of a build, and nobody measures them.
 *
 * @param {Revision} revision @param {string} name of a directory that goes with the process @returns {Promise<string>} the file to load
 */
async function build({ hash, title }, name) {
  const target = join(directory, name)
  mkdirSync(target)
  try {
    if (hash === null) {
      // It says that what is built are modules.
      copyFileSync(join(root, 'package.json'), join(target, 'package.json'))
    } else {
      const archive = join(directory, `${name}.tar`)
      await run('git', '-C', root, 'archive', '--format=tar', `--output=${archive}`, hash)
      await run('tar', '-C', target, '-xf', archive)
      // What built the work tree builds it: an install of each revision's own takes longer than all else.
      symlinkSync(join(root, 'node_modules'), join(target, 'node_modules'))
    }
    const entry = join(hash === null ? root : target, 'src/index.ts')
    const output = ['--bundle', '--splitting', '--format=esm', `--outdir=${join(target, 'dist')}`]
    const options = ['--platform=node', '--target=node20', '--minify-syntax', '--external:undici']
    await run(join(root, 'node_modules/.bin/esbuild'), entry, ...output, ...options, '--log-level=error')
  } catch (error) {
    throw new Error(`cannot build ${title}: ${error instanceof Error ? error.message : error}`)
  }
  return join(target, 'dist', 'index.js')
}

function toSetting() {
  const options = readOptions(help, true)
  const [a, b, ...more] = options.positionals
  if (a === undefined || b === undefined || more.length > 0) throw new UsageError('two revisions are needed')
  /** @type {Record<string, 'node' | 'wire'>} */
  const engines = { node: 'node', wire: 'wire' }
  const engine = options.choice('engine', engines, 'node')
  const names = options.names('scenario', scenarioNames) ?? ['get-1k']
  const wanted = options.names('apis', apiNames)
  const chosen = scenarios
    .filter(({ name }) => names.includes(name))
    .map((scenario) => {
      const apis = scenario.apis.filter((api) => (wanted ?? ['dispatch', 'request']).includes(api))
      return apis.length === 0 && wanted === undefined ? scenario : { ...scenario, apis }
    })
    .filter(({ apis }) => apis.length > 0)
  if (chosen.length === 0) throw new UsageError('--apis: none of the scenarios has them')
  return {
    revisions: [toRevision(a), toRevision(b)],
    scenarios: chosen,
    engine,
    rounds: options.count('rounds', 12),
    requests: options.count('requests', undefined),
    warmup: options.count('warmup', undefined),
    server: toServer(options),
    node: options.text('node') ?? process.execPath,
  }
}

/** @param {Scenario} scenario @param {readonly string[]} files the builds A and B @param {ReturnType<typeof toSetting>} setting @returns {Promise<Pair[]>} */
async function measure(scenario, files, { engine, rounds, ...setting }) {
  /** @type {Pair[]} */
  const pairs = scenario.apis.map((api) => ({ api, a: [], b: [] }))
  const turns = files.map((entry, index) => ({ label: 'AB'[index], entry }))
  for (let round = 0; round < rounds; round++) {
    // The builds take turns in going first, which a rotation of all alone wouldn't do: one would nearly always follow
    // the other.
    const order = round % 2 === 0 ? turns : turns.toReversed()
    const client = ownClients[engine]
    const plans = scenario.apis.flatMap((api) => order.map((turn) => ({ ...turn, client, api })))
    let count = 0
    const progress = () => {
      const where = `round ${round + 1} of ${rounds}, ${++count} of ${plans.length}`
      process.stderr.write(`${scenario.name}: ${where}\n`)
    }
    for (const { label, api, rounds: own } of await measureEntries({
      ...setting,
      scenario,
      plans,
      rounds: 1,
      progress,
    }))
      pairs.find((pair) => pair.api === api)?.[label === 'A' ? 'a' : 'b'].push(...own)
  }
  return pairs
}

/** @param {{ scenario: Scenario, pairs: Pair[] }[]} results */
const toComparisons = (results) =>
  results.flatMap(({ scenario, pairs }) =>
    pairs.flatMap(({ api, ...both }) =>
      figures.flatMap(({ key, label, better, words }) => {
        const [a, b] = [both.a, both.b].map((rounds) => rounds.map((round) => round[key] ?? 0))
        // Zero, or none at all: a ratio says nothing there.
        if ([...a, ...b].some((value) => !(value > 0))) return []
        return [{ scenario: scenario.name, api, figure: label, better, words, a, b }]
      }),
    ),
  )

/** @param {ReturnType<typeof toComparisons>} comparisons */
function report(comparisons) {
  const judged = judge(comparisons)
  const rows = comparisons.map(({ scenario, api, figure }, index) => {
    const { ratio, low, high, probability, verdict, visible } = judged[index]
    const interval = low === 0 ? 'no interval' : `[${low.toFixed(3)}, ${high.toFixed(3)}]`
    const from = Number.isFinite(visible) ? `${(visible * 100).toFixed(1)} %` : '-'
    return [scenario, api, figure, `${ratio.toFixed(3)} ${interval}`, probability.toFixed(3), from, verdict]
  })
  return table([['scenario', 'API', 'figure', 'B ÷ A [95 %]', 'p', 'visible from', 'B is'], ...rows])
}

/** @param {number} rounds @param {number} comparisons */
function explain(rounds, comparisons) {
  const least = leastRounds(comparisons)
  if (rounds < least)
    return `${rounds} rounds can show no difference at all among ${comparisons} comparisons: take at least ${least}.`
  return [
    `From ${rounds} paired rounds: ratios with the exact interval of the signed-rank test; p is corrected for ${comparisons} comparisons,`,
    'and significant below 0.05. A difference of `visible from` would have been found four times in five; one below may be',
    'there all the same.',
  ].join('\n')
}

await runMain(async () => {
  const setting = toSetting()
  const { revisions, engine, rounds } = setting
  console.log(`${describeSetting(describeMachine(setting))}; engine ${engine}\n`)
  const files = []
  for (const [index, revision] of revisions.entries()) {
    console.log(`${'AB'[index]}: ${revision.title}`)
    process.stderr.write(`building ${'AB'[index]}\n`)
    files.push(await build(revision, 'AB'[index]))
  }
  const results = []
  for (const scenario of setting.scenarios) {
    console.log(describe(scenario))
    results.push({ scenario, pairs: await measure(scenario, files, setting) })
  }
  const comparisons = toComparisons(results)
  console.log(`\n${report(comparisons)}\n\n${explain(rounds, comparisons.length)}`)
})
