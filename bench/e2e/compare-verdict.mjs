/**
 * What the rounds of two builds say about their difference.
 */
import { holm, signedRank, signedRankInterval, visibleShift } from './statistics.mjs'

/** How often a run of equal builds may claim a difference, in any of its comparisons. */
const LEVEL = 0.05

/**
 * @typedef {'faster' | 'slower' | 'less' | 'more' | 'no significant difference'} Verdict of B, held against A
 *
 * @typedef {object} Comparison
 * @property {'more' | 'less'} better
 * @property {{ better: Verdict, worse: Verdict }} words
 * @property {readonly number[]} a a value for each round, above zero
 * @property {readonly number[]} b `b[i]` was measured along with `a[i]`
 *
 * @typedef {object} Judged
 * @property {number} ratio B ÷ A
 * @property {number} low of its 95 % interval; 0: too few rounds for any
 * @property {number} high Infinity: likewise
 * @property {number} probability of so one-sided a picture, or more so, in any of the comparisons, if nothing differed
 * @property {Verdict} verdict
 * @property {number} visible the smallest difference, as a share, that such rounds show four times in five
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
 * @returns {Judged[]}
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
      ratio: Math.exp(centre),
      low: Math.exp(low),
      high: Math.exp(high),
      probability,
      verdict: probability < LEVEL ? words[isBetter ? 'better' : 'worse'] : 'no significant difference',
      visible: Math.expm1(visibleShift(values, LEVEL / comparisons.length)),
    }
  })
}
