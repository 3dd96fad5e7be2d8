/**
 * Measures how soon a server is reached again after a fault of the relay. For each server there is one long-lived Pool through
 * the relay's faults, which always has something to do, and a Client by a way without faults, for comparison.
 */
import { setTimeout } from 'node:timers/promises'
import { check } from '../calls.mjs'
import { Stalls } from '../stalls.mjs'

/** Milliseconds in which a server has to be reached again, with the machine's own delays on top. */
const SOON = 1_000
/** The share of faults that may be followed by a later recovery, and how many at least. */
const MAX_LATE = { share: 0.01, count: 3 }
/** Milliseconds between two requests of a Pool, whether there is a fault or not. */
const BEAT = 400
/** What another attempt waits, if one fails at once. */
const PAUSE = 10
const MAX_NOTES = 12

/**
 * A connection without a sign of life has to be found dead before a second is over. A busy machine must not look like one: the
 * response may take as long as an attempt.
 */
const OPTIONS = {
  pingInterval: 200,
  pingTimeout: 500,
  headersTimeout: SOON,
  bodyTimeout: SOON,
  connectTimeout: SOON,
}

/** Without faults, only a machine that stands still takes so long. */
const CONTROL = { headersTimeout: 30_000, bodyTimeout: 30_000, connectTimeout: 30_000 }

/**
 * @typedef {{ name: string, faulty: number, clean: number, speaksGrpc: boolean }} Way ports of the relay
 *
 * @typedef {import('../../../types/index.ts').Dispatcher} Dispatcher
 */

class Probe {
  /** The fault that there is, or that there was. */
  era = 0
  #isBusy = false

  /** @param {typeof import('../../../src/index.ts')} dodici @param {'node' | 'wire'} engine @param {Way} way */
  constructor(dodici, engine, way) {
    this.way = way
    this.pool = new dodici.Pool(`http://127.0.0.1:${way.faulty}`, { engine, ...OPTIONS })
    this.control = new dodici.Client(`http://127.0.0.1:${way.clean}`, { engine, ...CONTROL })
  }

  /** @param {Dispatcher} dispatcher @param {number} requestTimeout */
  async ask(dispatcher, requestTimeout) {
    const { statusCode, body } = await dispatcher.request({ path: '/soak', method: 'GET', requestTimeout })
    const text = await body.text()
    // A server of gRPC says that it takes POSTs alone.
    if (this.way.speaksGrpc) return
    if (statusCode !== 200) throw new Error(`status ${statusCode}`)
    check(text, '-')
  }

  /** Has the Pool experience the fault. */
  async beat() {
    if (this.#isBusy) return
    this.#isBusy = true
    await this.ask(this.pool, SOON).catch(() => {})
    this.#isBusy = false
  }

  /** @returns {Promise<boolean>} whether the server was reached before the next fault began */
  async recover() {
    const { era } = this
    for (;;) {
      try {
        await this.ask(this.pool, SOON)
        return true
      } catch {
        if (this.era !== era) return false
        await setTimeout(PAUSE)
      }
    }
  }

  end() {
    return Promise.all([this.pool.destroy(), this.control.destroy()])
  }
}

export class Probes {
  /** Milliseconds. @type {number[]} */
  times = []
  late = 0
  /** The latest ones, in words. @type {string[]} */
  notes = []
  /** @type {Map<string, Probe>} */
  #probes
  /** What a busy process adds to each measurement. */
  #stalls = new Stalls(5)
  /** @type {Set<Promise<void>>} */
  #running = new Set()
  #isOver = false

  /**
   * @param {typeof import('../../../src/index.ts')} dodici @param {'node' | 'wire'} engine @param {Way[]} ways
   * @param {import('../watch.mjs').Watch} watch
   */
  constructor(dodici, engine, ways, watch) {
    this.watch = watch
    this.#probes = new Map(ways.map((way) => [way.name, new Probe(dodici, engine, way)]))
    this.beats = setInterval(() => {
      for (const probe of this.#probes.values()) this.#run(probe.beat())
    }, BEAT)
  }

  /** @param {import('./lane.mjs').FaultEvent} event of the relay */
  onFault({ lane, fault, phase, at }) {
    const probe = this.#probes.get(lane)
    if (probe === undefined || this.#isOver) return
    probe.era++
    // Its clock and ours may differ by a little.
    if (phase === 'end')
      this.#run(this.#measure(probe, fault, Math.min(performance.now(), at - performance.timeOrigin)))
  }

  /** @param {Promise<void>} work */
  #run(work) {
    this.#running.add(work)
    work.finally(() => this.#running.delete(work))
  }

  /** @param {Probe} probe @param {string} fault @param {number} begun */
  async #measure(probe, fault, begun) {
    const compared = this.#compare(probe)
    const isReached = await probe.recover()
    const time = performance.now() - begun
    if (this.#isOver) return
    const allowance = this.#stalls.between(begun) + (await compared)
    this.times.push(time)
    if (isReached && time <= SOON + allowance) return
    this.late++
    const outcome = isReached ? 'was reached' : 'was not reached, until the next fault'
    const text = `${probe.way.name} ${outcome} ${time.toFixed(0)} ms after ${fault}; allowance ${allowance.toFixed(0)} ms`
    this.notes.push(text)
    if (this.notes.length > MAX_NOTES) this.notes.shift()
  }

  /** How long the same takes where there is no fault. @param {Probe} probe */
  async #compare(probe) {
    const begun = performance.now()
    try {
      await probe.ask(probe.control, 30_000)
    } catch (error) {
      const text =
        error instanceof Error ? `${error.stack} ${Object(error.cause).stack ?? ''}` : String(error)
      if (!this.#isOver) this.watch.violate(`${probe.way.name} failed by a way without faults: ${text}`)
    }
    return performance.now() - begun
  }

  /** What there is to say against them. */
  judge() {
    const { late, times, notes, watch } = this
    if (late < MAX_LATE.count || late < MAX_LATE.share * times.length) return
    watch.violate(
      `${late} of ${times.length} faults were followed by a late recovery, such as\n  ${notes.join('\n  ')}`,
    )
  }

  async end() {
    this.#isOver = true
    clearInterval(this.beats)
    this.#stalls.stop()
    for (const probe of this.#probes.values()) {
      probe.era++
      await probe.end()
    }
    await Promise.all(this.#running)
  }
}
