/**
 * Very many requests to servers that misbehave at random, and a check for leaks: `npm run soak -- --help`.
 */
import { pathToFileURL } from 'node:url'
import { parseArgs } from 'node:util'
import { Fleet } from './soak/fleet.mjs'
import { load, SharedSignals } from './soak/load.mjs'
import { makeRandom } from './soak/random.mjs'
import { hasGo, hasNghttpd, startGrpc, startNghttpd, startPeers } from './soak/servers.mjs'
import { Watch } from './soak/watch.mjs'

const MEGABYTE = 1e6
const MAX_GROWTH = 5 * MEGABYTE
/** The share of the calls that may wait for a response that never comes. The servers cause about one in a hundred. */
const MAX_HELD_BACK = 0.05
/** After so many milliseconds without a settled call, the soak fails. */
const STANDSTILL = 120_000
/** Milliseconds for a request, on a machine that is busy with other things besides. */
const ENOUGH = 4.5
/** Milliseconds that the process has to end by itself: it has nothing to wait for, and a busy machine to do so on. */
const LAST_CALL = 60_000

/** @typedef {'node' | 'wire'} Engine */

/** @type {Readonly<Record<string, readonly Engine[]>>} */
const ENGINES = { node: ['node'], wire: ['wire'], both: ['node', 'wire'] }

const help = `Usage: node --expose-gc scripts/soak.mjs [options]

  --engine NAME    node, wire or both, one after the other, each with a verdict of its own (default: both)
  --requests N     how many are sent after the warm-up (default: 200000)
  --warmup N       how many before the first look at the memory (default: 10000)
  --at-a-time N    (default: 200)
  --seed N         makes the same choices again (default: another one each time)
  --time-limit S   for an engine (default: 900, or more for more than 200000 requests)
  --no-nghttpd     only the servers that misbehave; otherwise nghttpd, where it is installed, is one of them
  --no-grpc        without gRPC; otherwise grpc-go, or grpc-js where there is no Go, is one of them
  --dodici FILE    the build to try (default: dist/ of this package)
`

function readOptions() {
  const text = /** @type {const} */ ({ type: 'string' })
  const flag = /** @type {const} */ ({ type: 'boolean' })
  const { values } = parseArgs({
    options: {
      engine: text,
      requests: text,
      warmup: text,
      'at-a-time': text,
      seed: text,
      'time-limit': text,
      'no-nghttpd': flag,
      'no-grpc': flag,
      dodici: text,
      help: flag,
    },
  })
  if (values.help === true) return null
  const number = (/** @type {string | undefined} */ value, /** @type {number} */ fallback) => {
    const given = value === undefined ? fallback : Number(value)
    if (!Number.isSafeInteger(given) || given < 0) throw new Error(`Not a whole number: ${value}\n\n${help}`)
    return given
  }
  const engines = ENGINES[values.engine ?? 'both']
  if (engines === undefined) throw new Error(`No such engine: ${values.engine}\n\n${help}`)
  const requests = number(values.requests, 200_000)
  return {
    engines,
    requests,
    warmup: number(values.warmup, 10_000),
    atATime: number(values['at-a-time'], 200),
    seed: number(values.seed, Date.now() % 2 ** 31),
    timeLimit: number(values['time-limit'], Math.max(900, (requests * ENOUGH) / 1_000)) * 1_000,
    hasReal: values['no-nghttpd'] !== true && hasNghttpd,
    hasGrpc: values['no-grpc'] !== true,
    module: values.dodici === undefined ? 'dodici' : pathToFileURL(values.dodici).href,
  }
}

/** @typedef {NonNullable<ReturnType<typeof readOptions>>} Options */

/** The memory in use after all garbage is collected. @returns {Promise<{ heap: number, external: number }>} */
async function collect() {
  if (globalThis.gc === undefined) throw new Error('Run it with --expose-gc')
  const least = { heap: Number.POSITIVE_INFINITY, external: Number.POSITIVE_INFINITY }
  for (let round = 0; round < 8; round++) {
    // Finalizers, what sockets leave to later turns, and V8's own threads come between two collections: none of them
    // tells.
    await new Promise((resolve) => setTimeout(resolve, 50))
    globalThis.gc()
    const { heapUsed, external } = process.memoryUsage()
    // Each by itself: V8 sweeps the memory of buffers beside us, and on a busy machine rounds later than the heap.
    least.heap = Math.min(least.heap, heapUsed)
    least.external = Math.min(least.external, external)
  }
  return least
}

function toResources() {
  return process
    .getActiveResourcesInfo()
    .filter((name) => name !== 'CloseReq' && !name.startsWith('FSReq'))
    .sort()
}

function toProcessListeners() {
  return process.eventNames().map((name) => `${String(name)}: ${process.listenerCount(name)}`)
}

/**
 * @param {Watch} watch
 * @returns {() => void} ends it
 */
function watchProcess(watch) {
  const onThrown = (/** @type {unknown} */ thrown) => {
    watch.violate(`uncaught: ${thrown instanceof Error ? thrown.stack : String(thrown)}`)
  }
  const onWarning = (/** @type {Error} */ warning) => watch.violate(`warning: ${warning.stack}`)
  process.on('uncaughtException', onThrown).on('unhandledRejection', onThrown).on('warning', onWarning)
  return () => {
    process.off('uncaughtException', onThrown).off('unhandledRejection', onThrown).off('warning', onWarning)
  }
}

/** @param {Record<string, number>} counts */
function toLines(counts) {
  const entries = Object.entries(counts).sort(([, a], [, b]) => b - a)
  return entries.map(([name, count]) => `  ${String(count).padStart(8)}  ${name}`).join('\n')
}

/**
 * Checks the calls from time to time, and gives up if none makes progress.
 *
 * @param {Watch} watch
 * @param {import('./soak/servers.mjs').Peer[]} peers
 * @param {number} timeLimit in milliseconds
 * @param {() => void} onHopeless
 */
function guard(watch, peers, timeLimit, onHopeless) {
  const begun = performance.now()
  let last = { settled: -1, at: begun }
  let told = 0
  const timer = setInterval(() => {
    const now = performance.now()
    for (const peer of peers) peer.sayAlive()
    watch.findLost()
    if (watch.settled !== last.settled) last = { settled: watch.settled, at: now }
    if (watch.settled - told >= 50_000) {
      told = watch.settled
      const { heapUsed, rss } = process.memoryUsage()
      const megabytes = [heapUsed, rss].map((bytes) => (bytes / MEGABYTE).toFixed(0))
      const seconds = ((now - begun) / 1_000).toFixed(0)
      process.stderr.write(
        `${told} settled after ${seconds} s; heap ${megabytes[0]} MB, RSS ${megabytes[1]} MB\n`,
      )
    }
    if (now - last.at < STANDSTILL && now - begun < timeLimit) return
    const isLate = now - begun >= timeLimit
    watch.violate(isLate ? 'it takes too long' : 'nothing settles any more')
    for (const { what } of [...watch.open.values()].slice(0, 10)) watch.violate(`still open: ${what}`)
    onHopeless()
  }, 1_000)
  return () => clearInterval(timer)
}

/**
 * @param {Watch} watch
 * @param {import('./soak/servers.mjs').PeerTally[]} tallies
 */
function report(watch, tallies) {
  console.log(`Calls by outcome:\n${toLines(watch.outcomes)}`)
  console.log(`Failures:\n${toLines(watch.errors)}`)
  for (const { faults, connections, streams, posts, violations } of tallies) {
    console.log(
      `A server: ${connections} connections, ${streams} streams, ${posts} POSTs taken\n${toLines(faults)}`,
    )
    for (const violation of violations) watch.violate(`a server: ${violation}`)
  }
  console.log(`Lost, unprocessed and replayable: ${watch.needless}`)
  console.log(`Lost, unprocessed and not to be had again, of gRPC: ${watch.lostOnce}`)
  console.log(`Handlers watched call by call: ${watch.handlers}`)
}

/** @param {Watch} watch */
function conclude(watch) {
  if (watch.violationCount === 0) {
    console.log('Nothing was wrong.')
    return
  }
  console.log(`WRONG, ${watch.violationCount} times:\n${watch.violations.join('\n')}`)
  process.exitCode = 1
}

/**
 * @param {Engine} engine
 * @param {Options} options
 * @param {Watch} watch
 * @param {{ peers: import('./soak/servers.mjs').Peer[], targets: import('./soak/fleet.mjs').Target[] }} servers
 */
async function soak(
  engine,
  { requests, warmup, atATime, seed, timeLimit, module },
  watch,
  { peers, targets },
) {
  const random = makeRandom(seed)
  const dodici = await import(module)
  const shared = new SharedSignals()
  const fleet = new Fleet(dodici, targets, engine, makeRandom(random.fork()), watch)
  const before = { resources: toResources(), listeners: toProcessListeners() }
  const common = { fleet, watch, shared, random, atATime }

  const stopGuard = guard(watch, peers, timeLimit, () => {
    report(watch, [])
    conclude(watch)
    process.exit(1)
  })
  await load({ ...common, requests: warmup, firstNumber: 0 })
  await fleet.finish()
  const baseline = await collect()
  const begun = performance.now()
  await load({ ...common, requests, firstNumber: warmup })
  const seconds = (performance.now() - begun) / 1_000
  await fleet.finish()
  stopGuard()
  const left = await collect()

  report(watch, await Promise.all(peers.map((peer) => peer.tally())))
  const settled = Object.values(watch.outcomes).reduce((sum, count) => sum + count, 0)
  console.log(
    `${settled} calls by ${fleet.made} dispatchers; the last ${requests} in ${seconds.toFixed(0)} s`,
  )
  if (watch.heldBack > MAX_HELD_BACK * settled) {
    watch.violate(`${watch.heldBack} of ${settled} calls have waited in vain: something stands still`)
  }
  if (settled !== requests + warmup) watch.violate(`${settled} calls have settled, of ${requests + warmup}`)
  const growth = left.heap - baseline.heap
  const outside = left.external - baseline.external
  console.log(
    `Heap ${(baseline.heap / MEGABYTE).toFixed(2)} MB before, ${(left.heap / MEGABYTE).toFixed(2)} MB after ` +
      `(${(growth / MEGABYTE).toFixed(2)}); outside of it ${(outside / MEGABYTE).toFixed(2)} MB more`,
  )
  if (growth >= MAX_GROWTH) watch.violate(`the heap has grown by ${growth} bytes`)
  if (outside >= MAX_GROWTH) watch.violate(`the memory outside of the heap has grown by ${outside} bytes`)
  const after = { resources: toResources(), listeners: toProcessListeners() }
  console.log(`Resources: ${after.resources.join(', ')}; listeners of shared signals: ${shared.listeners}`)
  if (shared.listeners > 0) watch.violate(`${shared.listeners} listeners are left on the shared signals`)
  if (watch.open.size > 0)
    watch.violate(`${watch.open.size} calls are open, such as ${[...watch.open.values()][0].what}`)
  if (JSON.stringify(after) !== JSON.stringify(before)) {
    watch.violate(`before: ${JSON.stringify(before)}; after: ${JSON.stringify(after)}`)
  }
}

/**
 * With servers of its own, so that failures of one engine don't affect another.
 *
 * @param {Engine} engine
 * @param {Options} options
 */
async function run(engine, options) {
  const { seed, hasReal, hasGrpc } = options
  const others = [...(hasReal ? ['nghttpd'] : []), ...(hasGrpc ? [hasGo ? 'grpc-go' : 'grpc-js'] : [])]
  console.log([`Engine ${engine}, seed ${seed}, Node ${process.versions.node}`, ...others].join(', with '))
  const watch = new Watch()
  const unwatch = watchProcess(watch)
  const seeds = makeRandom(seed + 1)
  const peers = await startPeers([seeds.fork(), seeds.fork()])
  const real = hasReal ? await startNghttpd() : null
  const grpc = hasGrpc ? await startGrpc() : null
  /** @type {import('./soak/fleet.mjs').Target[]} */
  const targets = peers.map(({ origin }) => ({ url: origin, isReal: false }))
  if (real !== null) targets.push({ url: real.origin, isReal: true })
  if (grpc !== null) targets.push({ url: grpc.origin, isReal: true, speaksGrpc: true, retiresAtOnce: !hasGo })
  try {
    await soak(engine, options, watch, { peers, targets })
  } finally {
    await Promise.all([...peers.map((peer) => peer.stop()), real?.stop(), grpc?.stop()])
  }
  unwatch()
  conclude(watch)
}

async function main() {
  const options = readOptions()
  if (options === null) {
    process.stdout.write(help)
    return
  }
  for (const engine of options.engines) await run(engine, options)
  // It doesn't keep the process alive: it only tells of what does.
  setTimeout(() => {
    console.log(`WRONG: the process doesn't end by itself: ${process.getActiveResourcesInfo().join(', ')}`)
    process.exit(1)
  }, LAST_CALL).unref()
}

try {
  await main()
} catch (error) {
  console.error(error)
  // By exit(): servers may still be there, and end with it.
  process.exit(1)
}
