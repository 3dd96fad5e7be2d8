/** All micro benchmarks, one after another; with names, only those: `npm run bench:micro -- headers decode --time 200`. */
import { readdirSync } from 'node:fs'
import { readOptions, runMain, UsageError } from '../../scripts/options.mjs'
import { table } from '../e2e/print.mjs'
import { median, pairedRatio, toRatioText } from '../e2e/statistics.mjs'

/**
 * One thing, done in several ways that come to the same result: ours first, then what one would write without thinking
 * of speed. `run()` does it once; it may be called any number of times, and gives the result or a promise of it.
 *
 * @typedef {{ title: string, ways: Readonly<Record<string, () => unknown>> }} Comparison `ways`: by what each is called
 */

/** Each is a file here, which exports its `comparisons`. */
const benchmarks = readdirSync(import.meta.dirname)
  .map((file) => file.replace('.mjs', ''))
  .filter((name) => name !== 'run')

const help = `Compares each optimization with the obvious way: nanoseconds (median), and the ratio to ours, with its 95 % interval.

  npm run bench:micro -- [names] [options]
  --time MS   for each way, in milliseconds (default: 500)

There are: ${benchmarks.join(', ')}.
`

/** The ways take so many turns; a quarter as many before that warm up. */
const ROUNDS = 40
/** How often a way is run between two looks at the clock. */
const BATCH = 100

/** @param {() => unknown} run @param {number} budget milliseconds @returns {Promise<number>} nanoseconds for doing it once */
async function measure(run, budget) {
  const begun = performance.now()
  let count = 0
  let passed = 0
  do {
    for (let i = 0; i < BATCH; i++) {
      const result = run()
      if (result instanceof Promise) await result
    }
    count += BATCH
    passed = performance.now() - begun
  } while (passed < budget)
  return (passed * 1e6) / count
}

/** @param {Comparison} comparison @param {number} budget */
async function compare({ title, ways }, budget) {
  const all = Object.entries(ways).map(([name, run]) => ({ name, run, times: /** @type {number[]} */ ([]) }))
  for (let round = -ROUNDS / 4; round < ROUNDS; round++)
    for (const { run, times } of round % 2 === 0 ? all : all.toReversed()) {
      const time = await measure(run, budget / ROUNDS)
      if (round >= 0) times.push(time)
    }
  const rows = all.map(({ name, times }) => [
    `  ${name}`,
    '',
    median(times).toFixed(1),
    toRatioText(pairedRatio(times, all[0].times)),
  ])
  console.log(`${table([[title, '', 'ns', '÷ ours'], ...rows])}\n`)
}

await runMain(async () => {
  const options = readOptions(help, true)
  const budget = options.count('time', 500)
  const unknown = options.positionals.filter((name) => !benchmarks.includes(name))
  if (unknown.length > 0)
    throw new UsageError(`There is no ${unknown.join(', ')}, but ${benchmarks.join(', ')}`)
  console.log(`Node ${process.version}\n`)
  for (const name of options.positionals.length > 0 ? options.positionals : benchmarks) {
    /** @type {{ comparisons: readonly Comparison[] }} */
    const { comparisons } = await import(new URL(`${name}.mjs`, import.meta.url).href)
    for (const comparison of comparisons) await compare(comparison, budget)
  }
})
