/**
 * Real sessions of HTTP/2, mutated at random, played to the wire engine's protocol core: `npm run fuzz -- --help`.
 *
 * What must hold is in test/protocol/support/fuzz.ts; the tests play a few thousand rounds of it.
 */
import { fileURLToPath } from 'node:url'
import { parseArgs } from 'node:util'
import { build } from 'esbuild'

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

/**
 * Modules of the tests' own support, compiled in memory. Beside what builds frames, theirs has what cleans up after a test: here
 * there is none.
 *
 * @param {string} code
 */
async function loadSupport(code) {
  /** @type {import('esbuild').Plugin} */
  const withoutVitest = {
    name: 'without-vitest',
    setup({ onResolve, onLoad }) {
      onResolve({ filter: /^vitest$/ }, () => ({ path: 'vitest', namespace: 'nothing' }))
      onLoad({ filter: /.*/, namespace: 'nothing' }, () => ({
        contents: 'export const onTestFinished = null',
      }))
    },
  }
  const { outputFiles } = await build({
    stdin: {
      contents: code,
      resolveDir: fileURLToPath(new URL('../test/protocol/support', import.meta.url)),
    },
    bundle: true,
    write: false,
    format: 'esm',
    platform: 'node',
    target: 'node20',
    plugins: [withoutVitest],
  })
  const [output] = outputFiles
  if (output === undefined) throw new Error('Nothing came of the support modules')
  return import(`data:text/javascript;base64,${Buffer.from(output.contents).toString('base64')}`)
}

const options = readOptions()
if (options === null) {
  process.stdout.write(help)
} else {
  const { fuzzOnce, toCounts, HAND_MADE, recordNode } = await loadSupport(
    `export { fuzzOnce, toCounts } from './fuzz.ts'; export { HAND_MADE, recordNode } from './recording.ts'`,
  )
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
