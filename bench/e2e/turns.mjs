/**
 * Clients that take turns: each is a process of its own, and all of a round live at once, so that a moment in which the
 * machine is slow falls on all of them.
 */
import { once } from 'node:events'
import { createInterface } from 'node:readline'
import { fileURLToPath } from 'node:url'
import { outputOf, start, stop } from './children.mjs'
import { clientNamed } from './clients/index.mjs'

/**
 * @typedef {import('./worker.mjs').Job} Job
 * @typedef {import('./worker.mjs').Measurement} Measurement
 * @typedef {import('node:child_process').ChildProcess} ChildProcess
 *
 * @typedef {object} Contestant
 * @property {number} turns how many it takes
 * @property {(index: number) => Promise<void>} turn
 * @property {() => Promise<Measurement>} end what all of its turns came to
 * @property {() => Promise<void>} stop
 */

/** Turns of a measurement: more would be so short that what a pause costs, cold caches above all, would show. */
const TURNS = 10

/** So many times what is in flight is the least for a turn: at its end, fewer and fewer are. */
const LEAST = 5

const worker = fileURLToPath(new URL('worker.mjs', import.meta.url))

/**
 * @param {Pick<Job, 'requests' | 'inFlight' | 'pattern'>} job
 * @returns {number[]} how many requests each turn has
 */
export function toTurns({ requests, inFlight, pattern }) {
  const turns = Math.max(1, Math.min(TURNS, Math.floor(requests / (LEAST * inFlight))))
  // No round is cut short.
  const unit = pattern === 'rounds' ? inFlight : 1
  const units = Math.ceil(requests / unit)
  let left = requests
  return Array.from({ length: turns }, (_, turn) => {
    const share = Math.floor((units * (turn + 1)) / turns) - Math.floor((units * turn) / turns)
    const size = Math.min(left, share * unit)
    left -= size
    return size
  })
}

/** Speaks with a child line by line. */
class Dialogue {
  /** @type {ChildProcess} */
  #child
  /** @type {AsyncIterator<string>} */
  #lines
  #err = ''
  /** @type {Promise<unknown[]>} */
  #closed

  /** @param {ChildProcess} child */
  constructor(child) {
    if (child.stdout === null) throw new Error('no output to read')
    this.#child = child
    this.#lines = createInterface({ input: child.stdout })[Symbol.asyncIterator]()
    child.stderr?.setEncoding('utf8').on('data', (chunk) => {
      this.#err += chunk
    })
    // What is written to one that has ended is lost; that it has ended shows in what it doesn't say.
    child.stdin?.on('error', () => {})
    this.#closed = once(child, 'close')
  }

  /**
   * @param {string} line
   * @param {number} timeout for the response, in milliseconds
   */
  ask(line, timeout) {
    this.#child.stdin?.write(`${line}\n`)
    return this.hear(timeout)
  }

  /** @param {number} timeout in milliseconds */
  async hear(timeout) {
    let late = false
    const timer = setTimeout(() => {
      late = true
      this.#child.kill('SIGKILL')
    }, timeout)
    try {
      const { done, value } = await this.#lines.next()
      if (done !== true) return value
      const [code, signal] = await this.#closed
      const how = late
        ? `not finished after ${timeout / 1000} s`
        : `ended with ${signal ?? `exit code ${code}`}`
      throw new Error(`${how}\n${this.#err}`)
    } finally {
      clearTimeout(timer)
    }
  }
}

/**
 * @param {Job} job
 * @returns {number} a minute on top of a very slow millisecond a request: it ends a hang, and never a measurement
 */
const toLimit = (job) => 60_000 + job.warmup + job.requests

/**
 * @param {Job} job
 * @param {string} node
 * @param {Record<string, string>} env
 * @returns {Promise<Contestant>} warmed up
 */
async function startWorker(job, node, env) {
  const child = start('client', node, [worker, JSON.stringify(job)], env)
  const dialogue = new Dialogue(child)
  const limit = toLimit(job)
  const sizes = toTurns(job)
  try {
    await dialogue.hear(limit)
  } catch (error) {
    await stop(child)
    throw error
  }
  return {
    turns: sizes.length,
    async turn(index) {
      if (index < sizes.length) await dialogue.ask(`${sizes[index]}`, limit)
    },
    end: async () => JSON.parse(await dialogue.ask('end', limit)),
    stop: () => stop(child),
  }
}

/**
 * Another program can't be interrupted: it has one turn.
 *
 * @param {Job} job
 * @param {import('./clients/index.mjs').Program} program
 * @returns {Promise<Contestant>}
 */
async function startProgram(job, program) {
  const { file, args, read } = await program.toCommand(job)
  /** @type {Measurement | null} */
  let measurement = null
  return {
    turns: 1,
    async turn(index) {
      if (index === 0) measurement = read(await outputOf(start('client', file, args), toLimit(job)))
    },
    async end() {
      if (measurement === null) throw new Error('it had no turn')
      return measurement
    },
    stop: async () => {},
  }
}

/**
 * @param {Job} job
 * @param {string} node the binary that runs a client in JavaScript
 * @returns {Promise<Contestant>}
 */
export async function startContestant(job, node) {
  const { http1, loadProgram } = clientNamed(job.client)
  if (loadProgram !== undefined) return startProgram(job, await loadProgram())
  // Node's fetch has no option for it.
  return startWorker(job, node, http1 && job.caFile !== null ? { NODE_EXTRA_CA_CERTS: job.caFile } : {})
}
