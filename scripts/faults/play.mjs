/** Plays a behaviour to a client, and judges what came of it. */
import { setTimeout as delay } from 'node:timers/promises'
import { fileURLToPath } from 'node:url'
import { createFaultServer } from 'dodici/testing'
import { Child } from '../children.mjs'

/**
 * @typedef {import('./behaviours.mjs').Behaviour} Behaviour
 * @typedef {import('../../test/interop/fault-clients.ts').Answer} Answer
 * @typedef {keyof typeof VERDICTS} Verdict
 *
 * @typedef {object} Outcome
 * @property {Verdict} verdict
 * @property {string} detail the error of the POST or of the GET, or the response that was taken
 * @property {boolean} [isUnsteady] another play had another verdict, a better one
 *
 * @typedef {{ answers: Answer[], grown: number }} Told what came of an order; `grown`: by how much the process was larger, at the most,
 *   than at its beginning, in KiB
 */

/** What may come of a behaviour, from the best to the worst; each as it stands in a cell, and what it means. */
export const VERDICTS = /** @type {const} */ ({
  right: ['✓', 'the request ends as it should, and the next request gets its response'],
  late: [
    'late',
    'the same, but the request fails only when its timeout is over, because the client hasn’t noticed the fault',
  ],
  fails: [
    'fails',
    'the request fails, although its response was complete, or although the client could safely have sent it again',
  ],
  'next fails at once': [
    'next fails at once',
    'the next request fails, although the server would have answered it; 100 ms later it succeeds',
  ],
  'next fails': ['next fails', 'the next request fails in both cases'],
  accepts: ['accepts', 'the client passes a malformed or incomplete response on as if it were good'],
  memory: ['memory', 'the process grows by more than it may'],
  hangs: ['hangs', 'the request doesn’t end, even long after the timeout'],
  'sends twice': ['twice', 'the server gets the POST more often than it may'],
  'crashes at once': [
    'crashes at once',
    'the process ends with an error that its user can’t catch, unless the next request comes 100 ms later',
  ],
  crashes: ['crashes', 'the process ends with such an error in both cases'],
})

const ORDER = Object.keys(VERDICTS)

/** The worst of several plays. @param {readonly Outcome[]} outcomes one at least @returns {Outcome} */
export function toWorst(outcomes) {
  const [worst, ...others] = outcomes.toSorted((a, b) => ORDER.indexOf(b.verdict) - ORDER.indexOf(a.verdict))
  return others.every(({ verdict }) => verdict === worst.verdict) ? worst : { ...worst, isUnsteady: true }
}

/** How long a response may take, by the client's own limit, where it has one. Milliseconds. */
export const LIMIT = 1_000
/** After so long it hangs: two requests, each with its limit, and much more for a busy machine. Milliseconds. */
export const HANGS = 20_000
/** By how much a client's process may grow. KiB. */
export const MEMORY = 128 * 1_024
/** Between the end of the POST and the GET, where the GET isn't sent at once. Milliseconds. */
export const PAUSE = 100
/** A POST that has taken so much of its limit has ended by it. */
const LATE = 0.9

const CHILD = fileURLToPath(new URL('./child.mjs', import.meta.url))

/** A client in a process of its own, which is started anew where it has crashed or hangs. */
export class ClientProcess {
  /** @type {Child<import('./child.mjs').Methods> | null} */
  #child = null
  /** What it had at its beginning. KiB. */
  #base = 0
  #name

  /** @param {string} name */
  constructor(name) {
    this.#name = name
  }

  /** @param {import('../../test/interop/fault-clients.ts').Order} order @returns {Promise<Told | 'hangs' | 'crashes'>} */
  async ask(order) {
    const child = await this.#start()
    /** @type {Promise<{ answers: Answer[], rss: number } | 'crashes'>} */
    const told = child.ask('play', order).catch(() => 'crashes')
    const timer = new AbortController()
    const late = delay(HANGS, /** @type {const} */ ('hangs'), { signal: timer.signal })
    const outcome = await Promise.race([told, late])
    late.catch(() => {})
    timer.abort()
    if (typeof outcome !== 'string') return { answers: outcome.answers, grown: outcome.rss - this.#base }
    this.stop()
    return outcome
  }

  stop() {
    void this.#child?.stop()
    this.#child = null
  }

  async #start() {
    if (this.#child?.isGone === false) return this.#child
    const output = process.env.FAULTS_STDERR === undefined ? 'ignore' : 'inherit'
    this.#child = new Child(CHILD, this.#name, { stdio: ['ignore', 'ignore', output, 'ipc'] })
    this.#base = await this.#child.ask('begin')
    return this.#child
  }
}

/**
 * @param {Behaviour} behaviour @param {ClientProcess} client @param {{ key: string, cert: string }} tls
 * @returns {Promise<Outcome>}
 */
export async function play(behaviour, client, tls) {
  const atOnce = await playOnce(behaviour, client, tls, 0)
  if (atOnce.verdict === 'memory') {
    // The rows before may have had their part in it.
    client.stop()
    return playOnce(behaviour, client, tls, 0)
  }
  const { verdict, detail } = atOnce
  if (verdict !== 'next fails' && verdict !== 'crashes') return atOnce
  const later = await playOnce(behaviour, client, tls, PAUSE)
  // What came of the POST may be worse than that.
  const { isUnsteady: _, ...worst } = toWorst([{ verdict: `${verdict} at once`, detail }, later])
  return worst
}

/**
 * @param {Behaviour} behaviour @param {ClientProcess} client @param {{ key: string, cert: string }} tls
 * @param {number} pause before the GET
 * @returns {Promise<Outcome>}
 */
async function playOnce(behaviour, client, { key, cert }, pause) {
  const server = await createFaultServer({ key, cert })
  behaviour.rules(server)
  try {
    const requests = ['POST /fault', 'GET /next']
    const outcome = await client.ask({ origin: server.origin, ca: cert, requests, limit: LIMIT, pause })
    const times = server.counts['POST /fault'] ?? 0
    if (typeof outcome === 'string') return { verdict: outcome, detail: '' }
    const { verdict, detail } = judge(behaviour, outcome, times)
    // Ports are others each time.
    return { verdict, detail: detail.replace(/:\d{4,5}\b/g, '').slice(0, 100) }
  } finally {
    await server.close()
  }
}

/** @param {Behaviour} behaviour @param {Told} outcome @param {number} times how often the POST came @returns {Outcome} */
function judge({ wants, maySendAgain = false, endsByTime = false, text }, { answers, grown }, times) {
  const [first, next] = answers
  if (first === undefined || next === undefined) return { verdict: 'crashes', detail: 'no answers' }
  const isWhole = first.status === 200 && (text === undefined || first.text === text)
  const detail =
    first.error || `${first.status}, ${first.text === '' ? 'an empty body' : first.text.slice(0, 40)}`
  if (times > (maySendAgain ? 2 : 1)) return { verdict: 'sends twice', detail }
  if (grown > MEMORY) return { verdict: 'memory', detail: `${Math.round(grown / 1_024)} MiB` }
  if (next.error !== '' || next.text !== 'GET /next')
    return { verdict: 'next fails', detail: next.error || next.text }
  if (first.error === '') return { verdict: wants === 'error' || !isWhole ? 'accepts' : 'right', detail }
  if (wants === 'response') return { verdict: 'fails', detail }
  return { verdict: first.elapsed >= LATE * LIMIT && !endsByTime ? 'late' : 'right', detail }
}
