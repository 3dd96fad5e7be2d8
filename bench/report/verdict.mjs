/** What a chart says, in one sentence: how the best of ours stands to undici, or else to bare node:http2. */
import { toRatioText } from '../e2e/statistics.mjs'
import {
  baseOf,
  isFloor,
  isOurs,
  labelOf,
  peerClient,
  ratioOf,
  referenceClient,
  spreadOf,
} from './figures.mjs'

/**
 * @typedef {import('./figures.mjs').Entry} Entry
 * @typedef {import('./figures.mjs').MeasuredScenario} MeasuredScenario
 * @typedef {import('./figures.mjs').Spread} Spread
 *
 * @typedef {object} Subject
 * @property {import('./figures.mjs').FigureKey} key
 * @property {'more' | 'less'} better
 * @property {string} verb such as: takes
 * @property {string} noun such as: the CPU time
 *
 * @typedef {object} Comparison
 * @property {Entry} own
 * @property {Entry} base
 * @property {Spread} ratio
 * @property {Spread | null} toFloor
 */

/** What most people use comes first. */
const API_ORDER = ['request', 'fetch', 'dispatch', 'stream', 'pipeline']

/** @param {Spread} ratio */
const isClear = ({ low, high }) => low > 1 || high < 1

/**
 * @param {MeasuredScenario} scenario @param {Subject} subject
 * @returns {Comparison | null} null: there is none of ours, or nothing to hold it against
 */
function compare(scenario, { key, better }) {
  const { entries, apis } = scenario
  const order = [...API_ORDER, ...apis, ...entries.map(({ api }) => api)]
  const own = entries
    .filter((entry) => isOurs(entry) && spreadOf(entry, key) !== null)
    .toSorted((a, b) => {
      const [one, other] = [a, b].map((entry) => spreadOf(entry, key)?.median ?? 0)
      const byFigure = better === 'less' ? (one ?? 0) - (other ?? 0) : (other ?? 0) - (one ?? 0)
      return order.indexOf(a.api) - order.indexOf(b.api) || byFigure
    })
  for (const client of [peerClient, referenceClient]) {
    for (const entry of own) {
      const base = baseOf(entry, client, scenario)
      const ratio = ratioOf(entry, base, key)
      if (base !== null && ratio !== null)
        return { own: entry, base, ratio, toFloor: ratioOf(entry, entries.find(isFloor) ?? null, key) }
    }
  }
  return null
}

/** One sentence about one scenario, or none if there is nothing to compare. @param {MeasuredScenario} scenario @param {Subject} subject @returns {string} */
export function toVerdict(scenario, subject) {
  const found = compare(scenario, subject)
  if (found === null) return ''
  const { own, base, ratio, toFloor } = found
  const start = `With ${own.api}, ${labelOf(own)} ${subject.verb}`
  const other = labelOf(base)
  const floor = toFloor === null ? '' : `; ${toRatioText(toFloor)} times that of the floor`
  if (!isClear(ratio))
    return `${start} about ${subject.noun} of ${other}: ${toRatioText(ratio)} times as much, which is no difference that this run can show${floor}.`
  return `${start} ${toRatioText(ratio)} times ${subject.noun} of ${other}${floor}.`
}

/**
 * One sentence about the same comparison in several scenarios.
 *
 * @param {readonly { where: string, scenario: MeasuredScenario }[]} parts `where`: such as over TLS
 * @param {Subject} subject
 * @returns {string}
 */
export function toJointVerdict(parts, subject) {
  const all = parts.map(({ where, scenario }) => ({ where, scenario, found: compare(scenario, subject) }))
  const [first] = all
  if (first === undefined) return ''
  if (first.found === null) return toVerdict(first.scenario, subject)
  const { own, base } = first.found
  const ratios = all.flatMap(({ where, found }) => {
    const isSame = found !== null && found.own.client === own.client && found.own.api === own.api
    return isSame && found.base.client === base.client ? [{ where, ratio: toRatioText(found.ratio) }] : []
  })
  const [begin, ...others] = ratios
  const start = `With ${own.api}, ${labelOf(own)} ${subject.verb} ${begin?.ratio} times ${subject.noun} of ${labelOf(base)} ${begin?.where}`
  return `${[start, ...others.map(({ where, ratio }) => `${ratio} ${where}`)].join(', ')}.`
}
