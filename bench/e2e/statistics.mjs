/** @param {readonly number[]} values */
export function median(values) {
  const sorted = values.toSorted((a, b) => a - b)
  const middle = sorted.length >> 1
  const upper = sorted[middle] ?? Number.NaN
  return sorted.length % 2 === 1 ? upper : ((sorted[middle - 1] ?? Number.NaN) + upper) / 2
}

/**
 * A seeded generator (mulberry32): the same raw figures always give the same interval.
 *
 * @param {number} seed
 * @returns {() => number}
 */
function randomFrom(seed) {
  let state = seed
  return () => {
    state = (state + 0x6d2b79f5) | 0
    let t = Math.imul(state ^ (state >>> 15), 1 | state)
    t = (t + Math.imul(t ^ (t >>> 7), 61 | t)) ^ t
    return ((t ^ (t >>> 14)) >>> 0) / 2 ** 32
  }
}

/**
 * The median of the paired ratios `a[i] / b[i]`, with a 95 % interval from a percentile bootstrap over the
 * pairs. Pairs are what makes it robust: both members of one saw the same disturbance.
 *
 * @param {readonly number[]} a
 * @param {readonly number[]} b
 * @returns {{ median: number, low: number, high: number }}
 */
export function pairedRatio(a, b) {
  const ratios = a.map((value, index) => value / (b[index] ?? Number.NaN))
  const random = randomFrom(12)
  const medians = Array.from({ length: 2000 }, () =>
    median(ratios.map(() => ratios[Math.floor(random() * ratios.length)] ?? Number.NaN)),
  ).sort((x, y) => x - y)
  return {
    median: median(ratios),
    low: medians[Math.floor(medians.length * 0.025)] ?? Number.NaN,
    high: medians[Math.ceil(medians.length * 0.975) - 1] ?? Number.NaN,
  }
}
