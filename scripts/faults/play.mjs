/**
 * Plays a behaviour to a client, and judges what came of it.
 */
import { fork } from 'node:child_process'
import { once } from 'node:events'
import { setTimeout as delay } from 'node:timers/promises'
import { fileURLToPath } from 'node:url'
import { createFaultServer } from '../../dist/testing.js'

/**
 * @typedef {import('./behaviours.mjs').Behaviour} Behaviour
 * @typedef {import('../../test/interop/fault-clients.ts').Answer} Answer
 *
 * @typedef {'right' | 'fails' | 'accepts' | 'next fails' | 'hangs' | 'crashes' | 'sends twice' | 'memory'} Verdict
 * @typedef {{ verdict: Verdict, detail: string }} Outcome
 * @typedef {{ answers: Answer[], rss: number }} Told what a client's process says of an order; `rss`: the most that it has had, in KiB
 */

/** How long a response may take, by the client's own limit, where it has one. Milliseconds. */
export const LIMIT = 1_000
/** After so long it hangs: two requests, each with its limit, and much more for a busy machine. Milliseconds. */
export const HANGS = 20_000
/** What a client's process may take at the most. KiB. */
export const MEMORY = 512 * 1_024

/** A client in a process of its own, which is started anew where it has crashed or hangs. */
export class ClientProcess {
  /** @type {import('node:child_process').ChildProcess | null} */
  #child = null
  /** @type {string} */
  #name

  /** @param {string} name */
  constructor(name) {
    this.#name = name
  }

  /**
   * @param {import('../../test/interop/fault-clients.ts').Order} order
   * @returns {Promise<Told | 'hangs' | 'crashes'>}
   */
  async ask(order) {
    const child = await this.#start()
    const stop = new AbortController()
    const { signal } = stop
    child.send(order)
    const told = once(child, 'message', { signal }).then(([message]) => message)
    const gone = once(child, 'exit', { signal }).then(() => /** @type {const} */ ('crashes'))
    const late = delay(HANGS, /** @type {const} */ ('hangs'), { signal })
    try {
      const outcome = await Promise.race([told, gone, late])
      if (typeof outcome === 'string' || outcome.rss > MEMORY) this.stop()
      return outcome
    } finally {
      // The two that came too late.
      for (const other of [told, gone, late]) other.catch(() => {})
      stop.abort()
    }
  }

  stop() {
    this.#child?.kill('SIGKILL')
    this.#child = null
  }

  async #start() {
    if (this.#child !== null) return this.#child
    const file = fileURLToPath(new URL('./child.mjs', import.meta.url))
    const child = fork(file, [this.#name], {
      stdio: ['ignore', 'ignore', process.env.FAULTS_STDERR === undefined ? 'ignore' : 'inherit', 'ipc'],
    })
    await once(child, 'message')
    this.#child = child
    return child
  }
}

/**
 * @param {Behaviour} behaviour
 * @param {ClientProcess} client
 * @param {{ key: string, cert: string }} tls
 * @returns {Promise<Outcome>}
 */
export async function play(behaviour, client, { key, cert }) {
  const server = await createFaultServer({ key, cert })
  behaviour.rules(server)
  try {
    const requests = ['POST /fault', 'GET /next']
    const outcome = await client.ask({ origin: server.origin, ca: cert, requests, limit: LIMIT })
    const times = server.counts['POST /fault'] ?? 0
    if (typeof outcome === 'string') return { verdict: outcome, detail: '' }
    const { verdict, detail } = judge(behaviour, outcome, times)
    // Ports are others each time.
    return { verdict, detail: verdict === 'right' ? '' : detail.replace(/:\d{4,5}\b/g, '').slice(0, 100) }
  } finally {
    await server.close()
  }
}

/**
 * @param {Behaviour} behaviour
 * @param {Told} outcome
 * @param {number} times how often the POST came
 * @returns {Outcome}
 */
function judge({ wants, maySendAgain = false }, { answers, rss }, times) {
  const [first, next] = answers
  const detail = first === undefined ? '' : first.error || `${first.status} ${first.text.slice(0, 40)}`
  if (first === undefined || next === undefined) return { verdict: 'crashes', detail: 'no answers' }
  if (times > 1 && !maySendAgain) return { verdict: 'sends twice', detail }
  if (rss > MEMORY) return { verdict: 'memory', detail: `${Math.round(rss / 1_024)} MiB` }
  if (next.error !== '' || next.text !== 'GET /next')
    return { verdict: 'next fails', detail: next.error || next.text }
  if (wants === 'response' && first.error !== '') return { verdict: 'fails', detail }
  if (wants === 'error' && first.error === '') return { verdict: 'accepts', detail }
  return { verdict: 'right', detail }
}
