/** The fuzzer of the protocol core: real sessions, mutated at random, played to a connection without a socket. */
import { loadModules } from '../support.mjs'

/** Milliseconds between two lines of progress. */
const REPORT_INTERVAL = 10_000

/** @param {{ seconds: number, seed: number, rounds: number }} options @returns {Promise<boolean>} whether all held */
export async function fuzzCore({ seconds, seed, rounds }) {
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
  process.stdout.write(`The protocol core, Node ${process.versions.node}, from seed ${seed}\n`)
  let hasFailed = false
  for (let round = 0; round < rounds && Date.now() < begun + seconds * 1_000; round++) {
    try {
      fuzzOnce(recordings, seed + round, counts)
    } catch (thrown) {
      // The address of what was compiled in memory is all of its text.
      const text = thrown instanceof Error ? thrown.message : String(thrown)
      process.stderr.write(`${text.replaceAll(/data:[^:)]*,[\w+/=]*/g, 'fuzz')}\n`)
      hasFailed = true
      break
    }
    if (Date.now() < reportAt) continue
    report()
    reportAt += REPORT_INTERVAL
  }
  report()
  return !hasFailed
}
