/** What the scenes share: servers, calls by number, a verdict. */
import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { setTimeout } from 'node:timers/promises'
import { generate } from 'selfsigned'
import { makeRandom } from '../../random.mjs'
import { toLines } from '../verdict.mjs'
import { Expected, Watch } from '../watch.mjs'
import { Ledger } from './ledger.mjs'
import { Origin } from './origin.mjs'
import { Restarts } from './restarts.mjs'

/**
 * @typedef {object} SceneOptions
 * @property {string} scene
 * @property {number | null} requests null: as many as the scene has by itself
 * @property {number | null} atATime the same
 * @property {number} kills how often servers are restarted
 * @property {number} milliseconds that the scene goes on, where calls don't count
 * @property {number | null} within milliseconds in which a restart has to be got over; null: as the scene says
 * @property {number} seed
 * @property {number} timeLimit in milliseconds
 * @property {string} module
 */

/** After so many milliseconds at its end, nothing of the calls may be left at a server. */
const LEFT_OVER = 5_000
/** Milliseconds of a wait that is over when what it waits for has come. */
const LOOK = 50

export class Scene {
  watch = new Watch()
  ledger = new Ledger()
  restarts = new Restarts()
  /** @type {Origin[]} */
  origins = []
  /** How long each call took that got a response, in milliseconds. @type {number[]} */
  latencies = []
  #folder = mkdtempSync(join(tmpdir(), 'dodici-scene-'))

  /**
   * @param {'node' | 'wire'} engine @param {SceneOptions} options
   * @param {typeof import('../../../src/index.ts')} dodici
   */
  constructor(engine, options, dodici) {
    this.engine = engine
    this.options = options
    this.dodici = dodici
    this.random = makeRandom(options.seed)
  }

  /**
   * @param {number} count
   * @param {{ limit?: number, isRough?: boolean }} [options] `limit`: of concurrent streams; `isRough`: it resets streams, and
   *   retires connections
   */
  async startOrigins(count, { limit = 1_000, isRough = false } = {}) {
    const pem = await generate([{ name: 'commonName', value: 'localhost' }], {
      keyType: 'ec',
      algorithm: 'sha256',
      extensions: [{ name: 'subjectAltName', altNames: [{ type: 7, ip: '127.0.0.1' }] }],
    })
    this.ca = pem.cert
    for (let i = 0; i < count; i++) {
      const server = { key: pem.private, cert: pem.cert, journal: this.#journal, limit, isRough }
      this.origins.push(new Origin({ ...server, name: 'abcdef'[i], seed: this.random.fork() }))
    }
    await Promise.all(this.origins.map((origin) => origin.start()))
  }

  get #journal() {
    return join(this.#folder, 'journal')
  }

  /** For every dispatcher of the scene. */
  get common() {
    return { engine: this.engine, connect: { ca: this.ca } }
  }

  /**
   * Makes one call, which settles in the ledger.
   *
   * @param {boolean} isSafe whether it may be executed twice
   * @param {(call: number) => Promise<import('./ledger.mjs').Fate>} perform
   * @returns {Promise<import('./ledger.mjs').Fate>} never rejects
   */
  async call(isSafe, perform) {
    const { ledger, restarts, watch } = this
    const call = ledger.begin(isSafe)
    const begun = performance.now()
    restarts.begin(call)
    /** @type {import('./ledger.mjs').Fate} */
    let fate = 'open'
    await watch.followCall(`call ${call}`, async () => {
      try {
        fate = await perform(call)
        this.latencies.push(performance.now() - begun)
        return fate
      } catch (error) {
        fate = error instanceof Expected ? 'left' : Object(error).processed
        throw error
      } finally {
        // An error that says nothing is a violation, and counts as the worst.
        ledger.end(call, fate ?? 'maybe')
        restarts.settle(call)
      }
    })
    return fate
  }

  /**
   * A small POST, or a GET, to '/small'.
   *
   * @param {import('../../../types/index.ts').Dispatcher} dispatcher @param {string} origin
   * @param {{ begun: number, method?: 'GET' | 'POST', size?: number }} request `begun`: when it was made first
   */
  small(dispatcher, origin, { begun, method = 'POST', size = 200 }) {
    return this.call(method === 'GET', async (call) => {
      const body = method === 'GET' ? null : Buffer.alloc(size, 'n')
      const {
        statusCode,
        headers,
        body: response,
      } = await dispatcher.request({
        origin,
        path: '/small',
        method,
        headers: { 'x-call': String(call) },
        body,
      })
      this.restarts.serve(String(headers['x-server']), begun)
      await response.dump()
      return statusCode === 413 ? 'declined' : 'executed'
    })
  }

  /**
   * Looks from time to time whether calls settle; ends the process if one hasn't for too long.
   *
   * @param {number} limit milliseconds for one call
   */
  guard(limit) {
    const { watch, options } = this
    const begun = performance.now()
    const timer = setInterval(() => {
      const now = performance.now()
      for (const origin of this.origins) origin.sayAlive()
      const stuck = [...watch.open.values()].filter((call) => now - call.begun > limit)
      const isLate = now - begun > options.timeLimit
      if (stuck.length === 0 && !isLate) return
      watch.violate(
        isLate ? 'it takes too long' : `${stuck.length} calls have not settled within ${limit} ms`,
      )
      this.report()
      console.log(`WRONG:\n${watch.violations.join('\n')}`)
      process.exit(1)
    }, 1_000)
    const stopWatch = this.restarts.watch()
    return () => {
      clearInterval(timer)
      stopWatch()
    }
  }

  /** Nothing of the calls is left at the servers; then the dispatchers close, and no connection is. @param {import('../../../types/index.ts').Dispatcher[]} dispatchers */
  async end(dispatchers) {
    await this.#gone('streams')
    const begun = performance.now()
    await Promise.all(dispatchers.map((dispatcher) => dispatcher.close()))
    const took = performance.now() - begun
    if (took > LEFT_OVER) this.watch.violate(`close() took ${took.toFixed(0)} ms`)
    await this.#gone('sessions')
  }

  /** @param {'streams' | 'sessions'} what */
  async #gone(what) {
    const begun = performance.now()
    for (;;) {
      const tallies = await Promise.all(this.origins.map((origin) => origin.tally()))
      const left = tallies.reduce((sum, tally) => sum + tally[what], 0)
      const took = performance.now() - begun
      if (left === 0) {
        console.log(`No ${what} are left at the servers after ${took.toFixed(0)} ms`)
        return
      }
      if (took > LEFT_OVER) {
        this.watch.violate(`${left} ${what} are left at the servers after ${LEFT_OVER} ms`)
        return
      }
      await setTimeout(LOOK)
    }
  }

  /** Of what the watch has counted. */
  report() {
    const { watch } = this
    console.log(`Calls by outcome:\n${toLines(watch.outcomes)}\nFailures:\n${toLines(watch.errors)}`)
    const sorted = Float64Array.from(this.latencies).sort()
    const at = (/** @type {number} */ share) =>
      (sorted[Math.min(sorted.length - 1, Math.floor(sorted.length * share))] ?? 0).toFixed(0)
    console.log(`Latency in ms: median ${at(0.5)}, 99 % ${at(0.99)}, slowest ${at(1)}`)
  }

  /** Ends the servers, and compares what they have executed with what the callers know. */
  async stop() {
    await Promise.all(this.origins.map((origin) => origin.stop()))
    this.ledger.judge(this.#journal, this.watch)
    rmSync(this.#folder, { recursive: true, force: true })
  }
}
