/** The chaos mode of the soak: calls of all kinds to real servers, through a relay that has a fault now and then. */

import { getHeapSpaceStatistics } from 'node:v8'
import { startChild } from '../../children.mjs'
import { makeRandom } from '../../random.mjs'
import { chaosKinds } from '../calls.mjs'
import { play } from '../load.mjs'
import { conclude, report, toLines, toProcessState, watchProcess } from '../verdict.mjs'
import { Watch } from '../watch.mjs'
import { checkCounters, startServers, tallyPosts } from './posts.mjs'
import { Probes } from './probes.mjs'
import { addCounts, addRecords, emptyRecord, readState, SUMMARY, toHistogram, writeState } from './record.mjs'

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
 * @typedef {import('./record.mjs').State} State
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

/** @param {import('./record.mjs').Mark[]} marks of one run @param {Watch} watch */
function judgeRss(marks, watch) {
  console.log(
    `RSS after so many minutes, MB: ${marks.map(({ minute, rss }) => `${minute}: ${rss}`).join(', ')}`,
  )
  const last = marks.at(-1)
  if (last === undefined || marks.length <= SETTLED_MARKS) return
  const settled = Math.max(...marks.slice(0, SETTLED_MARKS).map(toRest))
  if (toRest(last) - settled > MAX_RSS_GROWTH)
    watch.violate(`RSS without the young generation has grown from ${settled} to ${toRest(last)} MB`)
}

/** One engine's run. @param {Engine} engine @param {Setting} setting @param {Servers} servers @param {Relay} relay @param {Watch} watch */
async function playRun(engine, setting, servers, { child, listening }, watch) {
  /** @type {typeof import('../../../src/index.ts')} */
  const dodici = await import(setting.module)
  const record = emptyRecord()
  const before = toProcessState()
  const ways = servers.servers.map((server, index) => ({ ...server, ...listening[index] }))
  const targets = ways.map(({ name, faulty, speaksGrpc, weights }) => {
    return { url: `http://127.0.0.1:${faulty}`, isReal: false, name, weights, speaksGrpc }
  })
  const probes = new Probes(dodici, engine, ways, watch)
  child.onEvent = (event) => probes.onFault(event)
  await checkCounters(dodici, engine, servers)
  const begun = performance.now()
  const toSeconds = () => (performance.now() - begun) / 1_000
  const first = Math.min(setting.milliseconds * WARMUP.share, WARMUP.most)
  await play({
    ...{ engine, watch, targets, moreKinds: chaosKinds, before },
    setting: { ...setting, atATime: setting.atATime ?? AT_A_TIME },
    parts: [first, setting.milliseconds].map((until) => () => toSeconds() >= until / 1_000),
    measure() {
      const add = () => record.marks.push({ run: 0, minute: Math.round(toSeconds() / 60), ...toMark() })
      add()
      const timer = setInterval(add, MARK)
      return () => {
        clearInterval(timer)
        add()
      }
    },
    async end() {
      record.seconds = Math.round(toSeconds())
      Object.assign(record, await tallyPosts(dodici, engine, servers, watch))
      for (const { name, faults, goaways, earned, strange, connections } of await child.ask('tally')) {
        record.connections += connections
        record.faults = addCounts(record.faults, faults)
        record.goaways = addCounts(record.goaways, goaways)
        for (const [why, count] of Object.entries(earned)) record.earned[`${name}: ${why}`] = count
        for (const what of strange) watch.violate(`${name}: ${what}`)
      }
      probes.judge()
      await probes.end()
    },
    report(told) {
      const { outcomes, errors, servers, kinds } = watch
      const { late, notes: lateNotes } = probes
      const calls = Object.values(outcomes).reduce((sum, count) => sum + count, 0)
      Object.assign(record, { runs: 1, calls, outcomes, errors, servers, kinds, late, lateNotes })
      record.recoveries = toHistogram(probes.times)
      report(watch, told)
      for (const what of /** @type {const} */ (['servers', 'kinds', 'faults', 'goaways', 'earned', 'posts']))
        console.log(`Of ${what}:\n${toLines(record[what])}`)
      for (const [title, select] of SUMMARY) console.log(`${title}: ${select(record)}`)
      for (const note of lateNotes) console.log(`  ${note}`)
    },
  })
  judgeRss(record.marks, watch)
  return record
}

/** Adds what was counted to a file. @param {string} file @param {Engine} engine @param {State} run with one record, of the engine */
function save(file, engine, { node, versions, missing, engines }) {
  const state = readState(file)
  const old = state.engines[engine] ?? emptyRecord()
  const marks = engines[engine].marks.map((mark) => ({ ...mark, run: old.runs + 1 }))
  state.engines[engine] = addRecords(old, { ...engines[engine], marks })
  state.node = [...new Set([...state.node, ...node])]
  writeState(file, { ...state, versions: { ...state.versions, ...versions }, missing })
}

/** @param {Engine} engine @param {Setting} setting */
export async function runChaos(engine, setting) {
  const watch = new Watch()
  /** @type {string[]} */
  const missing = []
  const servers = await startServers((what) => {
    process.stderr.write(`LEFT OUT: ${what}\n`)
    missing.push(what.split(':')[0])
    if (process.env.CI === 'true') watch.violate(`left out: ${what}`)
  })
  const versions = Object.fromEntries(servers.servers.map(({ name, version }) => [name, version]))
  const { seed, state } = setting
  console.log(`Chaos: engine ${engine}, seed ${seed}, Node ${process.versions.node}, with`, versions)
  /** @type {Relay | null} */
  let relay = null
  try {
    relay = await startChild('soak/chaos/relay.mjs', {
      seed: makeRandom(seed + 1).fork(),
      servers: servers.servers.map(({ name, port }) => ({ name, port })),
    })
    const unwatch = watchProcess(watch)
    const record = await playRun(engine, setting, servers, relay, watch)
    unwatch()
    const { violations, violationCount } = watch
    const whole = { ...record, seeds: [seed], violations, violationCount }
    if (state !== null)
      save(state, engine, { node: [process.versions.node], versions, missing, engines: { [engine]: whole } })
    conclude(watch)
  } finally {
    await Promise.all([relay?.child.stop(), servers.stop()])
  }
}
