/**
 * Says whether one revision is faster than another: `node bench/e2e/compare.mjs --help`.
 */
import { parseArgs } from 'node:util'
import { ownClients } from './clients/index.mjs'
import { build, toRevision } from './compare-builds.mjs'
import { judge, leastRounds } from './compare-verdict.mjs'
import { describeMachine } from './machine.mjs'
import { measureEntries } from './measure.mjs'
import { runMain, toCount, toNames, toServer, UsageError } from './options.mjs'
import { describe, describeSetting, table } from './print.mjs'
import { scenarios } from './scenarios.mjs'

/**
 * @typedef {import('./scenarios.mjs').Scenario} Scenario
 * @typedef {import('./measure.mjs').Entry} Entry
 * @typedef {import('./measure.mjs').Plan} Plan
 * @typedef {import('./compare-verdict.mjs').Comparison} Comparison
 */

const scenarioNames = scenarios.map(({ name }) => name)
const apiNames = [...new Set(scenarios.flatMap(({ apis }) => apis))]

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

/**
 * @param {Scenario} scenario
 * @param {string[] | undefined} wanted
 * @returns {string[]}
 */
function toApis({ apis }, wanted) {
  const chosen = apis.filter((api) => (wanted ?? ['dispatch', 'request']).includes(api))
  return chosen.length === 0 && wanted === undefined ? apis : chosen
}

function readOptions() {
  const text = /** @type {const} */ ({ type: 'string' })
  /** @type {ReturnType<typeof parseArgs>} */
  let parsed
  try {
    const named = {
      scenario: text,
      apis: text,
      engine: text,
      rounds: text,
      requests: text,
      warmup: text,
      server: text,
      node: text,
    }
    const options = { ...named, help: /** @type {const} */ ({ type: 'boolean', short: 'h' }) }
    parsed = parseArgs({ allowPositionals: true, options })
  } catch (error) {
    throw new UsageError(error instanceof Error ? error.message : String(error))
  }
  const { values, positionals } = parsed
  if (values.help === true) return null
  const given = (/** @type {string} */ name) => (typeof values[name] === 'string' ? values[name] : undefined)
  const [a, b, ...more] = positionals
  if (a === undefined || b === undefined || more.length > 0) throw new UsageError('two revisions are needed')
  const engine = given('engine') ?? 'node'
  if (engine !== 'node' && engine !== 'wire') throw new UsageError('--engine must be node or wire')
  const names = toNames('scenario', given('scenario'), scenarioNames) ?? ['get-1k']
  const apis = toNames('apis', given('apis'), apiNames)
  const chosen = scenarios
    .filter(({ name }) => names.includes(name))
    .map((scenario) => ({ ...scenario, apis: toApis(scenario, apis) }))
    .filter((scenario) => scenario.apis.length > 0)
  if (chosen.length === 0) throw new UsageError('--apis: none of the scenarios has them')
  return {
    revisions: [toRevision(a), toRevision(b)],
    scenarios: chosen,
    engine,
    rounds: toCount('rounds', given('rounds')) ?? 12,
    requests: toCount('requests', given('requests')),
    warmup: toCount('warmup', given('warmup')),
    server: toServer(given('server')),
    node: given('node') ?? process.execPath,
  }
}

/** @typedef {NonNullable<ReturnType<typeof readOptions>>} Options */

/**
 * @param {Scenario} scenario
 * @param {readonly string[]} files the builds A and B
 * @param {Options} options
 * @returns {Promise<{ api: string, a: Entry['rounds'], b: Entry['rounds'] }[]>}
 */
async function measure(scenario, files, { engine, rounds, requests, warmup, server, node }) {
  const [a = '', b = ''] = files
  const client = ownClients[engine]
  /** @type {{ api: string, a: Entry['rounds'], b: Entry['rounds'] }[]} */
  const pairs = scenario.apis.map((api) => ({ api, a: [], b: [] }))
  for (let round = 0; round < rounds; round++) {
    // The builds take turns in going first, which a rotation of all alone wouldn't do: one would nearly always follow
    // the other.
    const turns =
      round % 2 === 0
        ? [
            { label: 'A', entry: a },
            { label: 'B', entry: b },
          ]
        : [
            { label: 'B', entry: b },
            { label: 'A', entry: a },
          ]
    const plans = scenario.apis.flatMap((api) => turns.map((turn) => ({ ...turn, client, api })))
    let count = 0
    const progress = () => {
      process.stderr.write(
        `${scenario.name}: round ${round + 1} of ${rounds}, ${++count} of ${plans.length}\n`,
      )
    }
    const setting = { scenario, plans, rounds: 1, server, node, requests, warmup, progress }
    for (const { label, api, rounds: measured } of await measureEntries(setting)) {
      pairs.find((pair) => pair.api === api)?.[label === 'A' ? 'a' : 'b'].push(...measured)
    }
  }
  return pairs
}

/**
 * @param {{ scenario: Scenario, pairs: Awaited<ReturnType<typeof measure>> }[]} results
 * @returns {{ scenario: string, api: string, figure: string, comparison: Comparison }[]}
 */
function toComparisons(results) {
  return results.flatMap(({ scenario, pairs }) =>
    pairs.flatMap(({ api, ...both }) =>
      figures.flatMap(({ key, label, better, words }) => {
        const [a, b] = [both.a, both.b].map((rounds) => rounds.map((round) => round[key] ?? 0))
        // Zero, or none at all: a ratio says nothing there.
        if (a === undefined || b === undefined || [...a, ...b].some((value) => !(value > 0))) return []
        return [{ scenario: scenario.name, api, figure: label, comparison: { better, words, a, b } }]
      }),
    ),
  )
}

/** @param {number} share */
const toPercent = (share) => (Number.isFinite(share) ? `${(share * 100).toFixed(1)} %` : '-')

/** @param {ReturnType<typeof toComparisons>} comparisons */
function report(comparisons) {
  const judged = judge(comparisons.map(({ comparison }) => comparison))
  const rows = comparisons.map(({ scenario, api, figure }, index) => {
    const {
      ratio = 1,
      low = 0,
      high = Infinity,
      probability = 1,
      verdict = '',
      visible = 0,
    } = judged[index] ?? {}
    const interval = low === 0 ? 'no interval' : `[${low.toFixed(3)}, ${high.toFixed(3)}]`
    return [
      scenario,
      api,
      figure,
      `${ratio.toFixed(3)} ${interval}`,
      probability.toFixed(3),
      toPercent(visible),
      verdict,
    ]
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

async function main() {
  const options = readOptions()
  if (options === null) {
    process.stdout.write(help)
    return
  }
  const { revisions, engine, node, server, rounds } = options
  console.log(`${describeSetting(describeMachine({ node, server }))}; engine ${engine}\n`)
  const files = []
  for (const [index, revision] of revisions.entries()) {
    const letter = index === 0 ? 'A' : 'B'
    console.log(`${letter}: ${revision.title}`)
    process.stderr.write(`building ${letter}\n`)
    files.push(await build(revision, letter))
  }
  const results = []
  for (const scenario of options.scenarios) {
    console.log(describe(scenario))
    results.push({ scenario, pairs: await measure(scenario, files, options) })
  }
  const comparisons = toComparisons(results)
  console.log(`\n${report(comparisons)}\n\n${explain(rounds, comparisons.length)}`)
}

await runMain(main)
