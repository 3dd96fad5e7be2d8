/**
 * Measures several things in turns, there and back, so that whatever else the machine does meets all of them.
 *
 * @template T @param {readonly T[]} all @param {{ warmup: number, rounds: number }} counts `warmup`: turns of each that don't count
 * @param {(one: T) => Promise<number>} measure
 * @returns {Promise<number[][]>} the figures of each, by the round
 */
export async function inTurns(all, { warmup, rounds }, measure) {
  /** @type {number[][]} */
  const figures = all.map(() => [])
  const order = [...all.keys()]
  for (let round = -warmup; round < rounds; round++) {
    for (const index of round % 2 === 0 ? order : order.toReversed()) {
      const figure = await measure(all[index])
      if (round >= 0) figures[index].push(figure)
    }
  }
  return figures
}

/** The CPU time of each call, in µs, of all threads of this process. @param {() => Promise<unknown>} call @param {number} calls @param {number} atOnce */
export async function cpuOf(call, calls, atOnce) {
  let left = calls
  const lane = async () => {
    while (left-- > 0) await call()
  }
  const before = process.cpuUsage()
  await Promise.all(Array.from({ length: atOnce }, lane))
  const { user, system } = process.cpuUsage(before)
  return (user + system) / calls
}
