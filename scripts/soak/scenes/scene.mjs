/** What the scenes share: servers and their restarts, calls by number, a verdict. */
import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import { setTimeout } from 'node:timers/promises'
import { makeCertificate } from '../../certificate.mjs'
import { Child } from '../../children.mjs'
import { makeFolder, stop } from '../../processes.mjs'
import { makeRandom } from '../../random.mjs'
import { Stalls } from '../stalls.mjs'
import { guard, toLines } from '../verdict.mjs'
import { Expected, Watch } from '../watch.mjs'

/**
 * - `open`: it hasn't settled
 * - `executed`: a response says so
 * - `declined`: a response came that needs no execution
 * - `no`, `maybe`, `yes`: it failed, and the error says this of its `processed`
 * - `left`: its caller has aborted it
 *
 * @typedef {'open' | 'executed' | 'declined' | 'no' | 'maybe' | 'yes' | 'left'} Fate
 */

/** What has become of each call, by its number. */
export class Ledger {
  /** @type {Fate[]} */
  fates = []
  /** Calls that may be sent twice. @type {Set<number>} */
  safe = new Set()

  /** @param {boolean} isSafe @returns {number} of a new call */
  begin(isSafe) {
    const call = this.fates.push('open') - 1
    if (isSafe) this.safe.add(call)
    return call
  }

  /** @param {Entry[]} journal of the servers @param {Watch} watch */
  judge(journal, watch) {
    const executions = new Uint8Array(this.fates.length)
    for (const { call, isExecuted } of journal) if (isExecuted) executions[call]++
    /** @type {Record<string, number>} */
    const counts = { doubled: 0, lost: 0 }
    const violate = (/** @type {'doubled' | 'lost'} */ what, /** @type {string} */ text) => {
      counts[what]++
      watch.violate(`${what}: ${text}`)
    }
    this.fates.forEach((fate, call) => {
      counts[fate] = (counts[fate] ?? 0) + 1
      const times = executions[call]
      if (times > 1 && !this.safe.has(call))
        violate('doubled', `call ${call} (${fate}) was executed ${times} times`)
      if (fate === 'open') violate('lost', `call ${call} has never settled`)
      if (fate === 'executed' && times === 0) violate('lost', `call ${call} was answered, and not executed`)
      if (fate === 'no' && times > 0)
        watch.violate(`call ${call} failed with processed: 'no', and was executed`)
    })
    const { doubled, lost, ...ends } = counts
    const texts = Object.entries(ends).map(([fate, count]) => `${count} ${fate}`)
    console.log(`${this.fates.length} calls: ${texts.join(', ')}; ${doubled} doubled, ${lost} lost`)
  }
}

/** @typedef {Child<import('./server.mjs').Methods>} Server */

const SCRIPT = join(import.meta.dirname, 'server.mjs')

export class Origin {
  #port = 0
  #generation = 0
  /** @type {Server | null} */
  #server = null
  /** It waits for its turn. @type {Server} */
  #next
  /** Servers that finish their streams. @type {Server[]} */
  #draining = []

  /** @param {import('./server.mjs').ServerOptions} options */
  constructor(options) {
    this.options = options
    this.#next = this.#fork()
  }

  get url() {
    return `https://127.0.0.1:${this.#port}`
  }

  /** What its responses call it: another name after each restart. */
  get name() {
    return `${this.options.name}/${this.#generation}`
  }

  #fork() {
    const { options } = this
    const name = `${options.name}/${this.#generation + 1}`
    return new Child(SCRIPT, { ...options, name, seed: options.seed + this.#generation })
  }

  /** The server that waits becomes the one that listens. */
  async start() {
    this.#server = this.#next
    this.#port = await this.#server.ask('listen', this.#port)
    this.#generation++
    this.#next = this.#fork()
  }

  /** The next server waits for its turn. */
  prepare() {
    return this.#next.ask('prepare')
  }

  /** Kills the server, and starts the next one on its port. @param {number} [pause] in milliseconds */
  async kill(pause = 0) {
    await stop(this.#listening.process)
    if (pause > 0) await setTimeout(pause)
    await this.start()
  }

  /** As a rolling restart does it. @param {number} patience milliseconds for the streams that it has */
  async drain(patience) {
    await this.#listening.ask('drain', patience)
    this.#draining.push(this.#listening)
    await this.start()
  }

  /**
   * The server is slow, or fails, for a while.
   *
   * @param {import('./server.mjs').Disturbance} disturbance @param {number} milliseconds
   */
  async disturb(disturbance, milliseconds) {
    const server = this.#listening
    await server.ask('disturb', disturbance)
    await setTimeout(milliseconds)
    await server.ask('disturb', {})
  }

  /** As a suspended laptop. @param {number} milliseconds */
  async suspend(milliseconds) {
    const { process } = this.#listening
    process.kill('SIGSTOP')
    await setTimeout(milliseconds)
    process.kill('SIGCONT')
  }

  /** Of the server that listens. */
  tally() {
    return this.#listening.ask('tally')
  }

  async stop() {
    const servers = [this.#server, ...this.#draining, this.#next].filter((child) => child !== null)
    await Promise.all(servers.map((server) => server.stop()))
  }

  get #listening() {
    if (this.#server === null || this.#server.isGone) throw new Error(`${this.name} has died`)
    return this.#server
  }
}

/**
 * @typedef {'next' | 'settled' | 'firstByte'} Measure
 *
 * @typedef {object} Restart
 * @property {string} name of the new server
 * @property {number} endedAt when the server before it was killed, or stopped listening, by `performance.now()`
 * @property {number} at when it listens, by the same clock
 * @property {Map<Measure, number>} times the longest of each, in milliseconds from `at` on, without stalls
 */

/** @type {Readonly<Record<Measure, string>>} */
const TEXTS = {
  next: 'until the new server had served a call',
  settled: 'until the last call had settled that was open when the server before it ended',
  firstByte: 'until the slowest response had begun, of the requests that were waiting for one',
}

/** Milliseconds that a timer may be late without a stall. */
const LATE = 50

export class Restarts {
  /** @type {Restart[]} */
  all = []
  /** When a call began, of those that are open. @type {Map<number, number>} */
  open = new Map()
  /** @type {((value: unknown) => void) | null} */
  #onNext = null
  #stalls = new Stalls(LATE)
  #begun = performance.now()

  /** No more stalls are seen. */
  stop() {
    this.#stalls.stop()
  }

  /**
   * Restarts a server, and waits until it has served a call.
   *
   * @param {Origin} origin @param {() => Promise<void>} restart
   */
  async play(origin, restart) {
    await origin.prepare()
    const endedAt = performance.now()
    await restart()
    const { name } = origin
    /** @type {Restart} */
    const latest = { name, endedAt, at: performance.now(), times: new Map() }
    this.all.push(latest)
    while (!latest.times.has('next')) {
      await new Promise((resolve) => {
        this.#onNext = resolve
      })
    }
  }

  /** @param {number} call */
  begin(call) {
    this.open.set(call, performance.now())
  }

  /** @param {number} call */
  settle(call) {
    const now = performance.now()
    const begun = this.open.get(call) ?? now
    this.open.delete(call)
    this.#settle(begun, now)
  }

  /** A response has begun. @param {string} name of the server @param {number} begun when its request was first made */
  serve(name, begun) {
    const now = performance.now()
    for (const restart of this.all) {
      if (begun < restart.at) this.#time(restart, 'firstByte', now)
    }
    const served = this.all.findLast((restart) => restart.name === name)
    if (served === undefined || served.times.has('next')) return
    this.#time(served, 'next', now)
    this.#onNext?.(null)
  }

  /** Milliseconds without stalls. @param {number} from @param {number} until */
  between(from, until) {
    return until - from - this.#stalls.between(from, until)
  }

  /** @param {Restart} restart @param {Measure} what @param {number} now */
  #time({ at, times }, what, now) {
    times.set(what, Math.max(times.get(what) ?? 0, this.between(at, now)))
  }

  /** @param {number} begun @param {number} now */
  #settle(begun, now) {
    for (const restart of this.all) {
      if (begun < restart.endedAt) this.#time(restart, 'settled', now)
    }
  }

  /** @param {Watch} watch @param {number} limit in milliseconds @param {Measure[]} measures that it holds for */
  judge(watch, limit, measures) {
    const now = performance.now()
    for (const begun of this.open.values()) this.#settle(begun, now)
    for (const what of measures) {
      const times = this.all.map(({ name, times }) => {
        const took = times.get(what) ?? 0
        if (what === 'next' && !times.has(what)) watch.violate(`${name} has never served a call`)
        if (took > limit) watch.violate(`${name}: ${took.toFixed(0)} ms ${TEXTS[what]}, above ${limit}`)
        return took.toFixed(0)
      })
      console.log(`After ${times.length} restarts, ${TEXTS[what]}, in ms: ${times.join(', ')}`)
    }
    const stalled = (100 * this.#stalls.total) / (now - this.#begun)
    console.log(`The event loop stood still for ${stalled.toFixed(0)} % of the time, which isn't counted`)
  }
}

/** After so many milliseconds at its end, nothing of the calls may be left at a server. */
const LEFT_OVER = 5_000
/** Milliseconds of a wait that is over when what it waits for has come. */
const PAUSE = 50

/**
 * What a server has noted of a call. `at`: by `Date.now()`; `isExecuted`: otherwise its request has come.
 *
 * @typedef {{ call: number, server: number, at: number, isExecuted: boolean }} Entry
 */

/** Bytes of an entry. */
const ENTRY = 14

export class Scene {
  watch = new Watch()
  ledger = new Ledger()
  restarts = new Restarts()
  /** @type {Origin[]} */
  origins = []
  /** How long each call took that got a response, in milliseconds. @type {number[]} */
  latencies = []
  /** Calls that were executed, as their responses say. */
  served = 0
  /** The longest time without one, in milliseconds. */
  #silence = 0
  #lastServed = performance.now()
  /** Made with the origins. @type {ReturnType<typeof makeFolder> | null} */
  #folder = null

  /**
   * @param {'node' | 'wire'} engine @param {import('../../soak.mjs').Setting} options
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
   * @param {{ limit?: number, isRough?: boolean }} [options] `limit`: of concurrent streams; `isRough`: it resets streams, and retires
   *   connections
   */
  async startOrigins(count, { limit = 1_000, isRough = false } = {}) {
    const certificate = await makeCertificate()
    this.ca = certificate.cert
    this.#folder = makeFolder('scene')
    const common = { ...certificate, journal: this.#journal, limit, isRough }
    this.origins = Array.from(
      { length: count },
      (_, index) => new Origin({ ...common, index, name: 'abcdef'[index], seed: this.random.fork() }),
    )
    await Promise.all(this.origins.map((origin) => origin.start()))
  }

  get #journal() {
    return join(this.#folder?.folder ?? '', 'journal')
  }

  /** What the servers have noted so far, in order. @returns {Entry[]} */
  readJournal() {
    const bytes = readFileSync(this.#journal)
    return Array.from({ length: Math.floor(bytes.length / ENTRY) }, (_, index) => {
      const entry = bytes.subarray(ENTRY * index)
      return {
        call: entry.readUInt32LE(0),
        server: entry.readUInt8(4),
        isExecuted: entry.readUInt8(5) === 1,
        at: entry.readDoubleLE(6),
      }
    })
  }

  /**
   * Workers who work again and again, until a script is over.
   *
   * @param {() => Promise<void>} script @param {[count: number, work: () => Promise<unknown>][]} loads
   * @param {number} [limit] milliseconds for one call
   */
  async play(script, loads, limit = 60_000) {
    const stopGuard = guard(this.watch, () => this.report(), limit)
    let isOver = false
    const over = script().then(() => {
      isOver = true
    })
    const run = async (/** @type {() => Promise<unknown>} */ work) => {
      while (!isOver) await work()
    }
    await Promise.all([
      over,
      ...loads.flatMap(([count, work]) => Array.from({ length: count }, () => run(work))),
    ])
    stopGuard()
  }

  /** For every dispatcher of the scene. */
  get common() {
    return { engine: this.engine, connect: { ca: this.ca } }
  }

  /**
   * Makes one call, which settles in the ledger.
   *
   * @param {boolean} isSafe whether it may be executed twice @param {(call: number) => Promise<Fate>} perform
   * @returns {Promise<Fate>} never rejects
   */
  async call(isSafe, perform) {
    const { ledger, restarts, watch } = this
    const call = ledger.begin(isSafe)
    const begun = performance.now()
    restarts.begin(call)
    /** @type {Fate} */
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
        ledger.fates[call] = fate ?? 'maybe'
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
      if (statusCode === 413 || statusCode >= 500) return 'declined'
      const now = performance.now()
      this.served++
      this.#silence = Math.max(this.#silence, this.restarts.between(this.#lastServed, now))
      this.#lastServed = now
      return 'executed'
    })
  }

  /** @param {number} within milliseconds in which a small call has to be served */
  judgeSilence(within) {
    const silence = this.#silence.toFixed(0)
    console.log(`${this.served} small calls served; the longest time without one: ${silence} ms`)
    if (this.#silence > within) this.watch.violate(`no call was served in ${silence} ms`)
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
      await setTimeout(PAUSE)
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
    this.restarts.stop()
    await Promise.all(this.origins.map((origin) => origin.stop()))
    this.ledger.judge(this.readJournal(), this.watch)
    this.#folder?.remove()
  }
}
