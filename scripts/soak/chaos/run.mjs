/** The chaos mode of the soak: calls of all kinds to real servers, through a relay that has a fault now and then. */

import { getHeapSpaceStatistics } from 'node:v8'
import { startChild } from '../../children.mjs'
import { makeRandom } from '../../random.mjs'
import { chaosKinds } from '../calls.mjs'
import { play } from '../load.mjs'
import { conclude, report, toLines, watchProcess } from '../verdict.mjs'
import { Watch } from '../watch.mjs'
import { checkCounters, startServers, tallyPosts } from './posts.mjs'
import { Probes } from './probes.mjs'
import {
  addCounts,
  addRecords,
  emptyRecord,
  readState,
  toHistogram,
  toQuantile,
  writeState,
} from './record.mjs'

const MEGABYTE = 1e6
const AT_A_TIME = 60
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
/**
 * @typedef {'node' | 'wire'} Engine
 * @typedef {import('../../soak.mjs').Setting} Setting
 * @typedef {Awaited<ReturnType<typeof startServers>>} Servers
 * @typedef {Awaited<ReturnType<typeof startChild<import('./relay.mjs').Methods, import('./lane.mjs').FaultEvent>>>} Relay
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
  record = emptyRecord()
  /** When the load began. Milliseconds of the process. */
  #begun = 0
  /** @type {Probes | null} */
  #probes = null

  /** @param {Engine} engine @param {Setting} options @param {Servers} servers @param {Relay} relay */
  constructor(engine, options, servers, relay) {
    this.engine = engine
    this.options = options
    this.servers = servers
    this.relay = relay.child
    this.ways = servers.servers.map((server, index) => ({ ...server, ...relay.listening[index] }))
  }

  async play() {
    const { engine, watch, ways, options } = this
    const setting = { ...options, atATime: options.atATime ?? AT_A_TIME }
    const dodici = await import(options.module)
    const targets = ways.map(({ name, faulty, speaksGrpc, weights }) => {
      return { url: `http://127.0.0.1:${faulty}`, isReal: false, name, weights, speaksGrpc }
    })
    const first = Math.min(options.milliseconds * WARMUP.share, WARMUP.most)
    await play({
      ...{ engine, setting, watch, targets, moreKinds: chaosKinds },
      parts: [first, options.milliseconds].map((until) => () => performance.now() - this.#begun >= until),
      begin: async () => {
        const probes = new Probes(dodici, engine, ways, watch)
        this.#probes = probes
        this.relay.onEvent = (event) => probes.onFault(event)
        await checkCounters(dodici, engine, this.servers)
        this.#begun = performance.now()
      },
      measure: () => this.#mark(),
      end: () => this.#end(dodici),
      report: (told) => this.#report(told),
    })
    this.#judgeRss()
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
  async #end(dodici) {
    const { record, watch, servers, engine } = this
    record.seconds = Math.round((performance.now() - this.#begun) / 1_000)
    Object.assign(record, await tallyPosts(dodici, engine, servers, watch))
    const lanes = await this.relay.ask('tally')
    for (const { name, faults, goaways, earned, strange, connections } of lanes) {
      record.connections += connections
      record.faults = addCounts(record.faults, faults)
      record.goaways = addCounts(record.goaways, goaways)
      for (const [why, count] of Object.entries(earned)) record.earned[`${name}: ${why}`] = count
      for (const what of strange) watch.violate(`${name}: ${what}`)
    }
    this.#probes?.judge()
    await this.#probes?.end()
  }

  /** @param {import('../load.mjs').Told} told */
  #report(told) {
    const { watch, record } = this
    const { times = [], late = 0, notes = [] } = this.#probes ?? {}
    const { outcomes, errors, servers, kinds } = watch
    const calls = Object.values(outcomes).reduce((sum, count) => sum + count, 0)
    Object.assign(record, { runs: 1, calls, outcomes, errors, servers, kinds, late, lateNotes: notes })
    record.recoveries = toHistogram(times)
    report(watch, told)
    console.log(`Calls by server:\n${toLines(servers)}\nCalls by kind:\n${toLines(kinds)}`)
    const { faults, goaways, earned, posts } = record
    console.log(`Faults:\n${toLines(faults)}\nGOAWAYs of the client, by code:\n${toLines(goaways)}`)
    console.log(
      `Earned:\n${toLines(earned)}\nPOSTs that were taken, by who has counted them:\n${toLines(posts)}`,
    )
    const [half, most, all] = [0.5, 0.99, 1].map((share) => toQuantile(record.recoveries, share))
    console.log(
      `Recovery after ${times.length} faults: median ${half} ms, 99 % ${most} ms, max ${all} ms; ` +
        `${late} late\n${notes.map((note) => `  ${note}\n`).join('')}`,
    )
    console.log(`${record.connections} connections in ${record.seconds} s`)
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
 * @param {Engine} engine @param {Setting} options
 */
export async function runChaos(engine, options) {
  /** @type {string[]} */
  const missing = []
  const servers = await startServers((what) => {
    process.stderr.write(`LEFT OUT: ${what}\n`)
    missing.push(what.split(':')[0])
  })
  const names = servers.servers.map(({ name, version }) => `${name} ${version}`)
  console.log(
    `Chaos: engine ${engine}, seed ${options.seed}, Node ${process.versions.node}, with ${names.join(', ')}`,
  )
  /** @type {Relay | null} */
  let relay = null
  try {
    relay = await startChild('soak/chaos/relay.mjs', {
      seed: makeRandom(options.seed + 1).fork(),
      servers: servers.servers.map(({ name, port }) => ({ name, port })),
    })
    const run = new Run(engine, options, servers, relay)
    if (missing.length > 0 && process.env.CI === 'true') run.watch.violate(`left out: ${missing.join(', ')}`)
    const unwatch = watchProcess(run.watch)
    await run.play()
    unwatch()
    run.save(missing)
    conclude(run.watch)
  } finally {
    await Promise.all([relay?.child.stop(), servers.stop()])
  }
}
