/**
 * What may come of a behaviour.
 */

/** From the best to the worst; each as it stands in a cell, and what it means. */
export const VERDICTS = /** @type {const} */ ({
  right: ['✓', 'the request has the outcome that it should have, and the next request gets its response'],
  late: [
    'late',
    'the same, but the request fails only by the limit of time that the client was given: it has not seen the fault',
  ],
  fails: ['fails', 'the request fails, although it has a whole response, or could safely be sent again'],
  'next fails at once': [
    'next fails at once',
    'the next request fails, which the server would have served; a tenth of a second later it has its response',
  ],
  'next fails': ['next fails', 'the next request fails in both cases'],
  accepts: ['accepts', 'a response that is malformed, or not whole, is handed on as a good one'],
  memory: ['memory', 'the process has grown by more than it may'],
  hangs: ['hangs', 'no outcome, also long after the limit of time that the client was given'],
  'sends twice': ['twice', 'the POST has come to the server oftener than it may'],
  'crashes at once': [
    'crashes at once',
    'the process ends by an error that its user can’t catch, unless the next request comes a tenth of a second later',
  ],
  crashes: ['crashes', 'the process ends by such an error in both cases'],
})

const ORDER = Object.keys(VERDICTS)

/**
 * The worst of several plays.
 *
 * @param {readonly import('./play.mjs').Outcome[]} outcomes one at least
 * @returns {import('./play.mjs').Outcome}
 */
export function toWorst(outcomes) {
  const [worst, ...others] = [...outcomes].sort((a, b) => ORDER.indexOf(b.verdict) - ORDER.indexOf(a.verdict))
  if (worst === undefined) throw new Error('Nothing was played')
  return others.every(({ verdict }) => verdict === worst.verdict) ? worst : { ...worst, isUnsteady: true }
}
