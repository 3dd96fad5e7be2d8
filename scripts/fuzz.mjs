/**
 * Real sessions of HTTP/2, mutated at random, played to the wire engine's protocol core: `npm run fuzz -- --help`.
 *
 * What must hold is in test/protocol/support/fuzz.ts; the tests play a few thousand rounds of it.
 */
import { parseArgs } from 'node:util'
import { loadModules } from './support.mjs'

const help = `Usage: node scripts/fuzz.mjs [options]

  --seconds N   how long (default: 60)
  --seed N      the first seed; each round takes the next one (default: the time of day)
  --rounds N    stops after so many; 1, with the seed of a failure, plays that alone
`

/** Milliseconds between two lines that say how far it is. */
const REPORT_INTERVAL = 10_000

function readOptions() {
  const text = /** @type {const} */ ({ type: 'string' })
  const { values } = parseArgs({
    options: { seconds: text, seed: text, rounds: text, help: { type: 'boolean' } },
  })
  if (values.help === true) return null
  const number = (/** @type {string | undefined} */ value, /** @type {number} */ fallback) => {
    const given = value === undefined ? fallback : Number(value)
    if (!Number.isSafeInteger(given) || given < 0) throw new Error(`Not a whole number: ${value}\n\n${help}`)
    return given
  }
  return {
    seconds: number(values.seconds, 60),
    seed: number(values.seed, Date.now() % 2 ** 31),
    rounds: number(values.rounds, Number.MAX_SAFE_INTEGER),
  }
}

const options = readOptions()
if (options === null) {
  process.stdout.write(help)
} else {
  const { fuzzOnce, toCounts, HAND_MADE, recordNode } = await loadModules(`
    export { fuzzOnce, toCounts } from '../test/protocol/support/fuzz.ts'
    export { HAND_MADE, recordNode } from '../test/protocol/support/recording.ts'
  `)
  const recordings = [HAND_MADE, await recordNode()]
  const counts = toCounts()
  const begun = Date.now()
  const report = () => {
    const faults = [...counts.faults].sort(([one], [other]) => one - other)
    const codes = faults.map(([code, count]) => `${code}: ${count}`).join(', ')
    const megabytes = Math.round(counts.bytes / 1e6)
    process.stdout.write(
      `${counts.rounds} rounds, ${megabytes} MB, ${counts.events} events; faults by code: ${codes}\n`,
    )
  }
  let reportAt = begun + REPORT_INTERVAL
  process.stdout.write(`From seed ${options.seed}\n`)
  for (let round = 0; round < options.rounds && Date.now() < begun + options.seconds * 1_000; round++) {
    try {
      fuzzOnce(recordings, options.seed + round, counts)
    } catch (thrown) {
      // The address of what was compiled in memory is all of its text.
      const text = thrown instanceof Error ? thrown.message : String(thrown)
      process.stderr.write(`${text.replaceAll(/data:[^:)]*,[\w+/=]*/g, 'fuzz')}\n`)
      process.exitCode = 1
      break
    }
    if (Date.now() < reportAt) continue
    report()
    reportAt += REPORT_INTERVAL
  }
  report()
}
