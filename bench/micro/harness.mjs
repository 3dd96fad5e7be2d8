/** What the micro benchmarks have in common: the way to the sources, and the measuring. */
import { installPeers } from '../peers.mjs'

/**
 * One thing, done in several ways that come to the same result: ours first, then what one would write without thinking
 * of speed. `run()` does it once; it may be called any number of times, and gives the result or a promise of it.
 *
 * @typedef {{ title: string, ways: Readonly<Record<string, () => unknown>> }} Comparison `ways`: by what each is called
 *
 * @typedef {object} Row
 * @property {string} name
 * @property {number} nanoseconds for doing it once: the median
 * @property {number} margin of error of the mean, in percent
 * @property {number} ratio to our own nanoseconds: an alternative below 1 says that the trick doesn't pay
 */

/**
 * How often a way that is synchronous is run between two looks at the clock, which would otherwise cost as much as it
 * does.
 */
const BATCH = 100

/** Which micro benchmarks there are: each is a file of that name here, which exports its `comparisons`. */
export const benchmarks = ['headers', 'unordered-list', 'caller-context', 'decode']

/** @param {string} name @returns {Promise<readonly Comparison[]>} */
export async function load(name) {
  const { comparisons } = await import(new URL(`${name}.mjs`, import.meta.url).href)
  return comparisons
}

/** @param {() => unknown} run */
function toBatch(run) {
  // A promise takes longer than the look at the clock.
  if (run() instanceof Promise) return { run, operations: 1 }
  const batch = () => {
    let result
    for (let i = 0; i < BATCH; i++) result = run()
    return result
  }
  return { run: batch, operations: BATCH }
}

/** @param {Comparison} comparison @param {number} budget for each way, in milliseconds @returns {Promise<Row[]>} */
export async function measure({ ways }, budget) {
  installPeers()
  const { Bench } = await import('tinybench')
  const bench = new Bench({ time: budget, warmupTime: budget / 4, iterations: 5, warmupIterations: 1 })
  const names = Object.keys(ways)
  const batches = Object.values(ways).map(toBatch)
  for (const [index, { run }] of batches.entries()) bench.add(`${index}`, run)
  await bench.run()
  const figures = bench.tasks.map(({ result }, index) => {
    if (result.state !== 'completed') throw new Error(`${names[index]}: ${result.state}`, { cause: result })
    const { p50, rme } = result.latency
    return { nanoseconds: (p50 * 1e6) / batches[index].operations, margin: rme }
  })
  const own = figures[0].nanoseconds
  return figures.map((figure, index) => ({
    ...figure,
    name: names[index],
    ratio: figure.nanoseconds / own,
  }))
}

/** @param {readonly Comparison[]} comparisons @param {number} budget */
export async function print(comparisons, budget) {
  for (const comparison of comparisons) {
    process.stdout.write(`${comparison.title}\n`)
    for (const { name, nanoseconds, margin, ratio } of await measure(comparison, budget)) {
      const figures = [
        nanoseconds.toFixed(nanoseconds < 100 ? 1 : 0),
        `±${margin.toFixed(1)} %`,
        ratio.toFixed(2),
      ]
      const columns = figures.map((figure) => figure.padStart(10)).join('  ')
      process.stdout.write(`  ${name.padEnd(50)}  ${columns}\n`)
    }
  }
}

/** What stands above the columns of `print()`. */
export function printHead() {
  const columns = ['ns', 'margin', '÷ ours'].map((name) => name.padStart(10)).join('  ')
  process.stdout.write(`Node ${process.version}${' '.repeat(47 - process.version.length)}  ${columns}\n`)
}
