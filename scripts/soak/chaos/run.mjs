/** The chaos mode of the soak: calls of all kinds to real servers, through a relay that has a fault now and then. */

import { getHeapSpaceStatistics } from 'node:v8'
import { makeRandom } from '../../random.mjs'
import { chaosKinds } from '../calls.mjs'
import { Fleet, load, SharedSignals } from '../load.mjs'
import { startRelay } from '../peers.mjs'
import {
  collect,
  conclude,
  guard,
  judgeMemory,
  judgeRest,
  report,
  toLines,
  toProcessState,
  watchProcess,
} from '../verdict.mjs'
import { Watch } from '../watch.mjs'
import { checkCounters, startServers, tallyPosts } from './posts.mjs'
import { Probes } from './probes.mjs'
import { addRecords, emptyRecord, readState, toHistogram, toQuantile, writeState } from './record.mjs'

const MEGABYTE = 1e6
/** Milliseconds between two looks at the memory. */
const MARK = 300_000
/** The share of the time, and the most milliseconds, before the first look at the memory. */
const WARMUP = { share: 0.25, most: 120_000 }
/**
 * How far above the first marks of a run the last one may be, in megabytes, V8's young generation left out. glibc keeps
 * the memory of the largest heap of garbage that there was, most of which has come by the first marks.
 */
const MAX_RSS_GROWTH = 40
/** From the third mark on, the process has all that it needs. */
const SETTLED_MARKS = 3
/** Milliseconds for the end of all calls. */
const ENOUGH_TO_END = 120_000

/**
 * @typedef {object} ChaosOptions
 * @property {number} milliseconds of load, for each engine
 * @property {number} atATime
 * @property {number} seed
 * @property {string} module
 * @property {string | null} state a file that sums up several runs
 * @property {string | undefined} only names of servers
 *
 * @typedef {'node' | 'wire'} Engine
 * @typedef {Awaited<ReturnType<typeof startServers>>} Servers
 * @typedef {Awaited<ReturnType<typeof startRelay>>} Relay
 */

/** The memory, under load. V8 doubles its young generation, and halves it, as it sees fit: such a step of RSS is no leak. */
function toMark() {
  globalThis.gc?.()
  const { heapTotal, heapUsed, rss } = process.memoryUsage()
  const young = getHeapSpaceStatistics().find(({ space_name }) => space_name === 'new_space')
  return {
    rss: Math.round(rss / MEGABYTE),
    young: Math.round((young?.physical_space_size ?? 0) / MEGABYTE),
    committed: Math.round(heapTotal / MEGABYTE),
    heap: Number((heapUsed / MEGABYTE).toFixed(1)),
  }
}

/** @param {import('./record.mjs').Mark} mark */
const toRest = ({ rss, young = 0 }) => rss - young

/** One engine's run. */
class Run {
  watch = new Watch()
  shared = new SharedSignals()
  record = emptyRecord()
  /** Milliseconds of the process at which the load began. */
  #begun = 0

  /** @param {Engine} engine @param {ChaosOptions} options @param {Servers} servers @param {Relay} relay */
  constructor(engine, options, servers, relay) {
    this.engine = engine
    this.options = options
    this.servers = servers
    this.relay = relay
    /** @type {import('./probes.mjs').Way[]} */
    this.ways = relay.said.ports.map((/** @type {any} */ ports) => ({
      ...ports,
      speaksGrpc: this.#find(ports.name).speaksGrpc === true,
    }))
    this.random = makeRandom(options.seed)
  }

  /** @param {string} name */
  #find(name) {
    const found = this.servers.servers.find((server) => server.name === name)
    if (found === undefined) throw new Error(`no server ${name}`)
    return found
  }

  async play() {
    const { engine, watch, random, ways, shared, relay, options } = this
    const dodici = await import(options.module)
    const before = toProcessState()
    const targets = ways.map(({ name, faulty, speaksGrpc }) => {
      const { weights } = this.#find(name)
      return { url: `http://127.0.0.1:${faulty}`, isReal: false, name, weights, speaksGrpc }
    })
    const fleet = new Fleet(dodici, targets, engine, makeRandom(random.fork()), watch)
    const probes = new Probes(dodici, engine, ways, watch)
    this.probes = probes
    relay.onMessage((message) => {
      if (message.phase !== undefined) probes.onFault(message)
    })
    await checkCounters(dodici, engine, this.servers)
    const stopGuard = guard(watch, [relay], options.milliseconds + ENOUGH_TO_END, () => {
      this.#report(fleet)
      this.save([])
      conclude(watch)
      process.exit(1)
    })
    const first = Math.min(options.milliseconds * WARMUP.share, WARMUP.most)
    this.#begun = performance.now()
    const common = { fleet, watch, shared, random, atATime: options.atATime, moreKinds: chaosKinds }
    const number = await this.#load(common, first, 0)
    await fleet.finish()
    const baseline = await collect()
    const stopMarks = this.#mark()
    await this.#load(common, options.milliseconds, number)
    stopMarks()
    await fleet.finish()
    const left = await collect()
    this.record.seconds = Math.round((performance.now() - this.#begun) / 1_000)
    await this.#tally(dodici)
    probes.judge()
    await probes.end()
    stopGuard()
    // What their ends leave to later turns comes first.
    await collect()
    this.#report(fleet)
    judgeMemory(watch, baseline, left)
    this.#judgeRss()
    judgeRest(watch, shared, before)
  }

  /**
   * @param {Omit<Parameters<typeof load>[0], 'requests' | 'firstNumber'>} common
   * @param {number} until milliseconds since the beginning @param {number} firstNumber
   */
  #load(common, until, firstNumber) {
    const isOver = () => performance.now() - this.#begun >= until
    return load({ ...common, requests: Number.POSITIVE_INFINITY, isOver, firstNumber })
  }

  /** Looks at the memory from time to time. */
  #mark() {
    const add = () => {
      const minute = Math.round((performance.now() - this.#begun) / 60_000)
      this.record.marks.push({ run: 0, minute, ...toMark() })
    }
    add()
    const timer = setInterval(add, MARK)
    return () => {
      clearInterval(timer)
      add()
    }
  }

  /** @param {typeof import('../../../src/index.ts')} dodici */
  async #tally(dodici) {
    const { record, watch, servers, engine } = this
    Object.assign(record, await tallyPosts(dodici, engine, servers, watch))
    const { lanes } = await this.relay.tally()
    for (const { name, faults, goaways, earned, strange, connections } of lanes) {
      record.connections += connections
      for (const [fault, count] of Object.entries(faults))
        record.faults[fault] = (record.faults[fault] ?? 0) + count
      for (const [code, count] of Object.entries(goaways))
        record.goaways[code] = (record.goaways[code] ?? 0) + count
      for (const [why, count] of Object.entries(earned)) {
        const text = `${name}: ${why}`
        record.earned[text] = (record.earned[text] ?? 0) + Number(count)
      }
      for (const what of strange) watch.violate(`${name}: ${what}`)
    }
  }

  /** @param {Fleet} fleet */
  #report(fleet) {
    const { watch, record, probes } = this
    if (probes === undefined) return
    const { times, late, notes } = probes
    const { outcomes, errors, servers, kinds } = watch
    const calls = Object.values(outcomes).reduce((sum, count) => sum + count, 0)
    Object.assign(record, { runs: 1, calls, outcomes, errors, servers, kinds, late, lateNotes: notes })
    record.recoveries = toHistogram(times)
    report(watch, [])
    console.log(`Calls by server:\n${toLines(servers)}\nCalls by kind:\n${toLines(kinds)}`)
    console.log(
      `Faults:\n${toLines(record.faults)}\nGOAWAYs of the client, by code:\n${toLines(record.goaways)}\nEarned:\n${toLines(record.earned)}`,
    )
    console.log(`POSTs that were taken, by who has counted them:\n${toLines(record.posts)}`)
    const quantiles = [0.5, 0.99, 1].map((share) => toQuantile(record.recoveries, share))
    console.log(
      `Recovery after ${times.length} faults: median ${quantiles[0]} ms, 99 % ${quantiles[1]} ms, max ${quantiles[2]} ms; ` +
        `${late} late\n${notes.map((note) => `  ${note}\n`).join('')}`,
    )
    console.log(
      `${calls} calls by ${fleet.made} dispatchers over ${record.connections} connections in ${record.seconds} s`,
    )
  }

  /** Adds what was counted to the file, if there is one. @param {string[]} missing servers */
  save(missing) {
    const { record, watch, engine, options } = this
    if (options.state === null) return
    const state = readState(options.state)
    const old = state.engines[engine] ?? emptyRecord()
    record.marks = record.marks.map((mark) => ({ ...mark, run: old.runs + 1 }))
    record.seeds = [options.seed]
    record.violations = watch.violations
    record.violationCount = watch.violationCount
    state.engines[engine] = addRecords(old, record)
    state.node = [...new Set([...state.node, process.versions.node])]
    for (const { name, version } of this.servers.servers) state.versions[name] = version
    state.missing = missing
    writeState(options.state, state)
  }

  #judgeRss() {
    const { marks } = this.record
    const texts = marks.map(
      ({ minute, rss, committed, young }) => `${rss} (${committed}, ${young}) after ${minute} min`,
    )
    console.log(`RSS (of it V8's heap, and of that its young generation), MB: ${texts.join(', ')}`)
    const last = marks.at(-1)
    if (last === undefined || marks.length <= SETTLED_MARKS) return
    const settled = Math.max(...marks.slice(0, SETTLED_MARKS).map(toRest))
    if (toRest(last) - settled <= MAX_RSS_GROWTH) return
    this.watch.violate(`RSS without the young generation has grown from ${settled} to ${toRest(last)} MB`)
  }
}

/**
 * With servers of its own, so that failures of one engine don't affect another.
 *
 * @param {Engine} engine @param {ChaosOptions} options
 */
export async function runChaos(engine, options) {
  /** @type {string[]} */
  const missing = []
  const servers = await startServers((what) => {
    process.stderr.write(`LEFT OUT: ${what}\n`)
    missing.push(what.split(':')[0])
  }, options.only)
  const names = servers.servers.map(({ name, version }) => `${name} ${version}`)
  console.log(
    `Chaos: engine ${engine}, seed ${options.seed}, Node ${process.versions.node}, with ${names.join(', ')}`,
  )
  /** @type {Relay | null} */
  let relay = null
  try {
    relay = await startRelay(makeRandom(options.seed + 1).fork(), servers.servers)
    const run = new Run(engine, options, servers, relay)
    if (missing.length > 0 && process.env.CI === 'true') run.watch.violate(`left out: ${missing.join(', ')}`)
    const unwatch = watchProcess(run.watch)
    await run.play()
    unwatch()
    run.save(missing)
    conclude(run.watch)
  } finally {
    await Promise.all([relay?.stop(), servers.stop()])
  }
}
