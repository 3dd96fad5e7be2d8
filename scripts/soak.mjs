/** Very many requests to servers that misbehave at random, and a check for leaks: `npm run soak -- --help`. */
import { pathToFileURL } from 'node:url'
import { parseArgs } from 'node:util'
import { makeRandom } from './random.mjs'
import { runChaos } from './soak/chaos/run.mjs'
import { Fleet } from './soak/fleet.mjs'
import { load, SharedSignals } from './soak/load.mjs'
import { runScene, sceneNames } from './soak/scenes/run.mjs'
import { hasGo, hasNghttpd, startGrpc, startNghttpd, startPeers } from './soak/servers.mjs'
import {
  collect,
  conclude,
  guard,
  judgeMemory,
  judgeRest,
  report,
  toProcessState,
  watchProcess,
} from './soak/verdict.mjs'
import { Watch } from './soak/watch.mjs'

/** The share of the calls that may wait for a response that never comes. The servers cause about one in a hundred. */
const MAX_HELD_BACK = 0.05
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
  --chaos          all kinds of calls, fetch, tunnels and WebSockets among them, to real servers, through a relay that delays, splits,
                   holds and resets: for each engine as long as --seconds or --minutes say, instead of --requests
  --scene NAME     a program as users write it, through restarts of its TLS servers, of which none of its calls may be lost or doubled:
                     sender    200,000 small POSTs, 1,000 at a time, to a server that resets streams, retires connections, and is
                               killed six times (--requests, --at-a-time, --kills)
                     gateway   500 slow streams of events at a time; their server is restarted six times, by a kill and gracefully in
                               turn, and clients vanish (--at-a-time, --kills, --minutes)
                     pool      an UpstreamPool of three servers, which are killed in turn (--at-a-time, --kills, --minutes)
                     patience  slow servers, readers that stall, a server that is suspended: nothing may fail (--minutes)
  --kills N        how often a scene restarts its servers (default: 6)
  --within S       seconds in which a scene has to get over a restart (default: 2; the gateway: 3)
  --seconds N      of --chaos, or of a scene (default: 60)
  --minutes N
  --state FILE     adds what was counted to this file, from which scripts/soak/report.mjs makes a page; the seed is another one
                   each time
  --only NAMES     with these servers alone, such as --only "Go,Node 22"
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
      chaos: flag,
      seconds: text,
      minutes: text,
      scene: text,
      kills: text,
      within: text,
      state: text,
      only: text,
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
  const { scene } = values
  if (scene !== undefined && !sceneNames.includes(scene))
    throw new Error(`No such scene: ${scene}\n\n${help}`)
  const requests = number(values.requests, 200_000)
  const milliseconds = number(values.seconds, number(values.minutes, 1) * 60) * 1_000
  const common = {
    seed: number(values.seed, Date.now() % 2 ** 31),
    timeLimit:
      number(values['time-limit'], Math.max(900, (requests * ENOUGH) / 1_000, (2 * milliseconds) / 1_000)) *
      1_000,
    module: values.dodici === undefined ? 'dodici' : pathToFileURL(values.dodici).href,
  }
  const atATime = values['at-a-time']
  return {
    ...common,
    engines,
    scene:
      scene === undefined
        ? null
        : {
            ...common,
            scene,
            // Each scene has its own numbers.
            requests: values.requests === undefined ? null : requests,
            atATime: atATime === undefined ? null : number(atATime, 0),
            kills: number(values.kills, 6),
            milliseconds,
            within: values.within === undefined ? null : number(values.within, 0) * 1_000,
          },
    requests,
    warmup: number(values.warmup, 10_000),
    atATime: number(atATime, values.chaos === true ? 60 : 200),
    isChaos: values.chaos === true,
    milliseconds,
    state: values.state ?? null,
    only: values.only,
    hasReal: values['no-nghttpd'] !== true && hasNghttpd,
    hasGrpc: values['no-grpc'] !== true,
  }
}

/** @typedef {NonNullable<ReturnType<typeof readOptions>>} Options */

/**
 * @param {Engine} engine @param {Options} options @param {Watch} watch
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
  const before = toProcessState()
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
  judgeMemory(watch, baseline, left)
  judgeRest(watch, shared, before)
}

/**
 * With servers of its own, so that failures of one engine don't affect another.
 *
 * @param {Engine} engine @param {Options} options
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
  if (real !== null) targets.push({ url: real.origin, isReal: true, name: 'nghttpd' })
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
  for (const engine of options.engines) {
    if (options.scene !== null) await runScene(engine, options.scene)
    else await (options.isChaos ? runChaos : run)(engine, options)
  }
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
