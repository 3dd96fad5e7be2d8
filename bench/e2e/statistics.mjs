import { makeRandom } from '../../scripts/random.mjs'

/** The same raw figures always give the same interval. */
const SEED = 12

/** @param {readonly number[]} values */
export function median(values) {
  const sorted = values.toSorted((a, b) => a - b)
  const middle = sorted.length >> 1
  const upper = sorted[middle] ?? Number.NaN
  return sorted.length % 2 === 1 ? upper : ((sorted[middle - 1] ?? Number.NaN) + upper) / 2
}

/**
 * The median of the paired ratios `a[i] / b[i]`, with a 95 % interval from a percentile bootstrap over the
 * pairs. Pairs are what makes it robust: both members of one saw the same disturbance.
 *
 * @param {readonly number[]} a @param {readonly number[]} b
 * @returns {{ median: number, low: number, high: number }}
 */
export function pairedRatio(a, b) {
  const ratios = a.map((value, index) => value / (b[index] ?? Number.NaN))
  const random = makeRandom(SEED).next
  const medians = Array.from({ length: 2000 }, () =>
    median(ratios.map(() => ratios[Math.floor(random() * ratios.length)] ?? Number.NaN)),
  ).sort((x, y) => x - y)
  return {
    median: median(ratios),
    low: medians[Math.floor(medians.length * 0.025)] ?? Number.NaN,
    high: medians[Math.ceil(medians.length * 0.975) - 1] ?? Number.NaN,
  }
}

/** @param {{ median: number, low: number, high: number } | null} ratio null: there is none */
export function toRatioText(ratio) {
  if (ratio === null || !Number.isFinite(ratio.median)) return '-'
  const [middle, low, high] = [ratio.median, ratio.low, ratio.high].map((value) => value.toFixed(2))
  return `${middle} [${low}, ${high}]`
}

/**
 * How many of the 2^count ways to give the ranks 1 to `count` a sign have a positive rank sum of 0, 1, 2, …, as shares.
 *
 * @param {number} count
 * @returns {number[]}
 */
function signedRankShares(count) {
  let shares = [1]
  for (let rank = 1; rank <= count; rank++) {
    const previous = shares
    shares = Array.from({ length: previous.length + rank }, (_, sum) => {
      return ((previous[sum] ?? 0) + (previous[sum - rank] ?? 0)) / 2
    })
  }
  return shares
}

/**
 * The means of all pairs of values, of each with itself too, in ascending order (Walsh averages). Their median is the
 * Hodges-Lehmann estimate, and the signed-rank statistic is how many are above zero.
 *
 * @param {readonly number[]} values
 */
function pairMeans(values) {
  return values.flatMap((a, i) => values.slice(i).map((b) => (a + b) / 2)).sort((x, y) => x - y)
}

/**
 * Wilcoxon's signed-rank test, exact and two-sided: how likely values are to be as one-sided as these, or more, when
 * they spread evenly about zero. Zeros count half to either side.
 *
 * @param {readonly number[]} values
 * @returns {number}
 */
export function signedRank(values) {
  const means = pairMeans(values)
  const above = means.filter((mean) => mean > 0).length + means.filter((mean) => mean === 0).length / 2
  const rarer = Math.floor(Math.min(above, means.length - above))
  const shares = signedRankShares(values.length)
  return Math.min(1, 2 * shares.slice(0, rarer + 1).reduce((sum, share) => sum + share, 0))
}

/**
 * The centre of values, and the interval that holds all centres which `signedRank` doesn't refuse at `level`.
 *
 * @param {readonly number[]} values @param {number} [level] how often the interval may miss
 * @returns {{ centre: number, low: number, high: number }} -Infinity and Infinity: too few values for any bound
 */
export function signedRankInterval(values, level = 0.05) {
  const means = pairMeans(values)
  let outside = 0
  let chance = 0
  for (const share of signedRankShares(values.length)) {
    chance += share
    if (chance > level / 2) break
    outside++
  }
  return {
    centre: median(means),
    low: outside === 0 ? -Infinity : (means[outside - 1] ?? Number.NaN),
    high: outside === 0 ? Infinity : (means[means.length - outside] ?? Number.NaN),
  }
}

/**
 * The probabilities of several tests of one run, as they count when one wants to be wrong about none of them (Holm).
 *
 * @param {readonly number[]} probabilities
 * @returns {number[]} in the same order
 */
export function holm(probabilities) {
  const adjusted = probabilities.map(() => 1)
  let least = 0
  const order = probabilities.map((probability, index) => ({ probability, index }))
  order.sort((a, b) => a.probability - b.probability)
  for (const [position, { probability, index }] of order.entries()) {
    least = Math.max(least, Math.min(1, probability * (order.length - position)))
    adjusted[index] = least
  }
  return adjusted
}

/**
 * The smallest shift of the centre that values which scatter like these would show four times in five: found by a
 * bootstrap of what they deviate from their centre.
 *
 * @param {readonly number[]} values @param {number} level of the test that has to notice it
 * @returns {number} Infinity: so few values show nothing at all
 */
export function visibleShift(values, level) {
  const { centre, low } = signedRankInterval(values, level)
  if (low === -Infinity) return Infinity
  // The deviations from an estimate are a little smaller than those from the truth.
  const widen = Math.sqrt(values.length / (values.length - 1))
  const deviations = values.map((value) => (value - centre) * widen)
  const random = makeRandom(SEED).next
  const needed = Array.from({ length: 400 }, () => {
    const drawn = deviations.map(() => deviations[Math.floor(random() * deviations.length)] ?? Number.NaN)
    return -signedRankInterval(drawn, level).low
  }).sort((x, y) => x - y)
  return Math.max(0, needed[319] ?? Number.NaN)
}

/** How often a run of equal builds may claim a difference, in any of its comparisons. */
const LEVEL = 0.05

/**
 * @typedef {'faster' | 'slower' | 'less' | 'more' | 'no significant difference'} Verdict of B, held against A
 * @typedef {{ better: 'more' | 'less', words: { better: Verdict, worse: Verdict }, a: readonly number[], b: readonly number[] }} Comparison `a`
 *   has a value for each round, above zero; `b[i]` was measured along with `a[i]`
 */

/** How many rounds the test needs before it can claim anything. @param {number} comparisons */
export function leastRounds(comparisons) {
  return Math.ceil(1 + Math.log2(comparisons / LEVEL))
}

/**
 * All comparisons of a run at once, since each further one is a further chance of being wrong.
 *
 * The ratios of the rounds are compared as logarithms, so that A ÷ B says what B ÷ A says. That an interval doesn't
 * hold 1 isn't enough: of twenty comparisons of equal builds one has such an interval. And a bootstrap of few rounds is
 * too sure of itself, while the signed-rank test is exact for any number of them.
 *
 * @param {readonly Comparison[]} comparisons
 */
export function judge(comparisons) {
  const logarithms = comparisons.map(({ a, b }) =>
    b.map((value, round) => Math.log(value / (a[round] ?? Number.NaN))),
  )
  const probabilities = holm(logarithms.map(signedRank))
  return comparisons.map(({ better, words }, index) => {
    const values = logarithms[index] ?? []
    const { centre, low, high } = signedRankInterval(values)
    const probability = probabilities[index] ?? 1
    const isBetter = better === 'more' ? centre > 0 : centre < 0
    return {
      // B ÷ A, with its 95 % interval; 0 and Infinity: too few rounds for any.
      ratio: Math.exp(centre),
      low: Math.exp(low),
      high: Math.exp(high),
      // How likely so one-sided a picture is, or a more one-sided one, in any of the comparisons, if nothing differs.
      probability,
      verdict: probability < LEVEL ? words[isBetter ? 'better' : 'worse'] : 'no significant difference',
      // The smallest difference, as a share, that such rounds show four times in five.
      visible: Math.expm1(visibleShift(values, LEVEL / comparisons.length)),
    }
  })
}
