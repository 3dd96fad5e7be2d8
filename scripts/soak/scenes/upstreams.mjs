/** The scene `upstreams`: a service of four servers that are killed, restarted, slowed down, and fail. */
import { setTimeout } from 'node:timers/promises'

/** @typedef {import('./scene.mjs').Scene} Scene @typedef {import('./scene.mjs').Entry} Entry */

const SERVERS = 4
/** Milliseconds between two calls of a worker. */
const PAUSE = 50
const READS = 0.5
/** The most milliseconds that a server is not itself, and that all are well before the next one isn't. */
const LENGTH = 5_000
const CALM = 5_000
/** The least of both. */
const LEAST = 500
/** How long a server that is slow takes for a response. Milliseconds. */
const SLOW = 700
/** A server that isn't itself may get so much of what the others get, beside what it has when that begins. */
const MAX_SHARE = 0.25
/** Milliseconds of a restart that hardly anything is heard of. */
const SHORT = 200
/** Milliseconds in which no call was served. */
const WITHIN = 2_000
/** The budget of an UpstreamPool: so much of the calls of the last ten seconds, and at least 10 a second. */
const BUDGET = { share: 0.2, least: 100 }
/** The budget counts whole seconds: in 9 of them no more is spent than calls of 11 allow. */
const [SPENT, EARNED] = [9, 11]
/** Milliseconds until it shows that a server isn't itself. */
const LEAD = 500
/** In shorter times chance alone decides. */
const JUDGED = 2_000

/** @typedef {{ name: string, play: (origin: import('./scene.mjs').Origin, length: number) => Promise<void> }} Disturbance */

/** @type {readonly Disturbance[]} */
const DISTURBANCES = [
  { name: 'killed', play: (origin, length) => origin.kill(length) },
  { name: 'slow', play: (origin, length) => origin.disturb({ delay: SLOW }, length) },
  { name: 'restarted', play: (origin) => origin.kill(SHORT) },
  { name: 'failing', play: (origin, length) => origin.disturb({ errors: 1 }, length) },
  { name: 'retired', play: (origin, length) => origin.drain(length) },
  { name: 'failing half of its calls', play: (origin, length) => origin.disturb({ errors: 0.5 }, length) },
]

/**
 * Four servers, over two UpstreamPools, one of which hedges. A call has failed for nothing if another server could have
 * answered it, and no harm would have been done.
 *
 * @param {Scene} scene
 */
export async function playUpstreams(scene) {
  const { options, dodici, random, watch } = scene
  const { atATime = 40 } = options
  const length = Math.max(LEAST, Math.min(LENGTH, options.milliseconds / 16))
  const calm = Math.max(LEAST, Math.min(CALM, options.milliseconds / 16))
  await scene.startOrigins(SERVERS)
  const urls = scene.origins.map(({ url }) => url)
  const pools = [null, { after: /** @type {const} */ ('p95') }].map((hedge) => ({
    hedge,
    dispatcher: new dodici.UpstreamPool(urls, { ...scene.common, hedge }),
    /** By number. @type {Set<number>} */
    calls: new Set(),
  }))
  /** @type {{ name: string, server: number, from: number, until: number }[]} */
  const times = []
  let failed = 0

  /** @param {(typeof pools)[number]} pool */
  async function work({ dispatcher, calls }) {
    const method = random.chance(READS) ? 'GET' : 'POST'
    const call = scene.ledger.fates.length
    calls.add(call)
    const fate = await scene.small(dispatcher, urls[0], { begun: performance.now(), method })
    if (fate !== 'executed' && fate !== 'declined') {
      failed++
      if (method === 'GET') watch.violate(`call ${call}, a GET, has failed for nothing: ${fate}`)
      if (fate === 'no') watch.violate(`call ${call}, which no server has processed, has failed for nothing`)
    }
    await setTimeout(PAUSE)
  }

  async function disturb() {
    const until = performance.now() + options.milliseconds
    for (let i = 0; performance.now() < until; i++) {
      await setTimeout(calm)
      // Each kind, and then each with another server.
      const server = (i + Math.floor(i / DISTURBANCES.length)) % SERVERS
      const origin = scene.origins[server]
      const { name, play } = DISTURBANCES[i % DISTURBANCES.length]
      await origin.prepare()
      const from = Date.now()
      await play(origin, length)
      times.push({ name, server, from, until: Date.now() })
    }
    await setTimeout(calm)
  }

  const atOnce = atATime / pools.length
  await scene.play(
    disturb,
    pools.map((pool) => [atOnce, () => work(pool)]),
  )
  const stats = pools.map(({ dispatcher }) => Object.values(dispatcher.stats))
  await scene.end(pools.map(({ dispatcher }) => dispatcher))
  const counts = DISTURBANCES.map(
    (one) => `${one.name} (${times.filter(({ name }) => name === one.name).length})`,
  )
  console.log(`One server at a time was ${counts.join(', ')}`)
  console.log(`${atATime} calls at a time; ${failed} POSTs were lost that a server may have processed`)
  scene.judgeSilence(options.within ?? WITHIN)
  const arrivals = scene.readJournal().filter(({ isExecuted }) => !isExecuted)
  for (const [index, { hedge, calls }] of pools.entries()) {
    const hedges = stats[index].reduce((sum, { hedges }) => sum + hedges, 0)
    if (hedge !== null && hedges === 0 && length >= JUDGED) watch.violate('no call was hedged')
    const own = arrivals.filter(({ call }) => calls.has(call))
    judgeExtra(scene, own, hedge === null ? 'Without hedging' : `With ${hedges} hedges`)
  }
  for (const what of ['slow', 'failing', 'failing half of its calls'])
    if (length >= JUDGED)
      judgeShare(
        scene,
        arrivals,
        what,
        times.filter(({ name }) => name === what),
      )
}

/**
 * Requests beyond one a call are within the budget at any time, and no POST is one of them.
 *
 * @param {Scene} scene @param {Entry[]} arrivals @param {string} title
 */
function judgeExtra({ ledger, watch }, arrivals, title) {
  const seen = new Set()
  /** By the second. @type {number[][]} */
  const [first, extra] = [[], []]
  let count = 0
  for (const { call, at } of arrivals) {
    const second = Math.floor((at - arrivals[0].at) / 1_000)
    const counts = seen.has(call) ? extra : first
    counts[second] = (counts[second] ?? 0) + 1
    if (counts === extra) count++
    if (counts === extra && !ledger.safe.has(call))
      watch.violate(`call ${call}, a POST, has reached a server twice`)
    seen.add(call)
  }
  const sum = (/** @type {number[]} */ counts, /** @type {number} */ from, /** @type {number} */ until) =>
    counts.slice(Math.max(0, from), until).reduce((all, one) => all + one, 0)
  let fullest = 0
  for (let until = 1; until <= first.length; until++) {
    const limit = Math.max(BUDGET.least, BUDGET.share * sum(first, until - EARNED, until + 1))
    const spent = sum(extra, until - SPENT, until)
    fullest = Math.max(fullest, spent / limit)
    if (spent > limit) watch.violate(`${spent} extra requests in ${SPENT} s, above the budget of ${limit}`)
  }
  console.log(
    `${title}: ${count} extra requests for ${seen.size} calls (${((100 * count) / seen.size).toFixed(2)} %); ` +
      `at most ${(100 * fullest).toFixed(0)} % of the budget`,
  )
}

/**
 * A server that isn't itself gets far less than the others.
 *
 * @param {Scene} scene @param {Entry[]} arrivals @param {string} what @param {{ server: number, from: number, until: number }[]} times
 */
function judgeShare({ watch }, arrivals, what, times) {
  let [own, all] = [0, 0]
  for (const { server, from, until } of times) {
    for (const arrival of arrivals) {
      if (arrival.at < from + LEAD || arrival.at > until) continue
      all++
      if (arrival.server === server) own++
    }
  }
  const share = own / ((all - own) / (SERVERS - 1))
  console.log(`A server that was ${what} got ${(100 * share).toFixed(1)} % of what each other one got`)
  if (share > MAX_SHARE) watch.violate(`a server that was ${what} got ${own} of ${all} requests`)
}
