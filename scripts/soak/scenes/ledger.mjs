/** The calls of a scene by number: how each ended, against what the servers say that they have executed. */
import { readFileSync } from 'node:fs'

/**
 * - `open`: it hasn't settled
 * - `executed`: a response says so
 * - `declined`: a response came that needs no execution
 * - `no`, `maybe`, `yes`: it failed, and the error says this of its `processed`
 * - `left`: its caller has aborted it
 *
 * @typedef {'open' | 'executed' | 'declined' | 'no' | 'maybe' | 'yes' | 'left'} Fate
 */

export class Ledger {
  /** By number. @type {Fate[]} */
  #fates = []
  /** Numbers of calls that may be sent twice. @type {Set<number>} */
  #safe = new Set()

  /** @param {boolean} isSafe @returns {number} of a new call */
  begin(isSafe) {
    const call = this.#fates.push('open') - 1
    if (isSafe) this.#safe.add(call)
    return call
  }

  /** @param {number} call @param {Fate} fate */
  end(call, fate) {
    this.#fates[call] = fate
  }

  /** @param {string} journal of the servers @param {import('../watch.mjs').Watch} watch */
  judge(journal, watch) {
    const bytes = readFileSync(journal)
    const executions = new Uint8Array(this.#fates.length)
    for (let at = 0; at < bytes.length; at += 4) executions[bytes.readUInt32LE(at)]++
    /** @type {Record<Fate, number>} */
    const counts = { open: 0, executed: 0, declined: 0, no: 0, maybe: 0, yes: 0, left: 0 }
    let doubled = 0
    this.#fates.forEach((fate, call) => {
      counts[fate]++
      const times = executions[call]
      const isDoubled = times > 1 && !this.#safe.has(call)
      if (isDoubled) doubled++
      if (isDoubled) watch.violate(`doubled: call ${call} (${fate}) was executed ${times} times`)
      if (fate === 'open') watch.violate(`lost: call ${call} has never settled`)
      if (fate === 'executed' && times === 0)
        watch.violate(`lost: call ${call} was answered, and not executed`)
      if (fate === 'no' && times > 0)
        watch.violate(`call ${call} failed with processed: 'no', and was executed`)
    })
    const ends = Object.entries(counts).map(([fate, count]) => `${count} ${fate}`)
    console.log(
      `${this.#fates.length} calls: ${ends.join(', ')}; ${bytes.length / 4} executions, ${doubled} doubled, ${counts.open} lost`,
    )
    return counts
  }
}
