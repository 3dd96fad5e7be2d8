/** Very many requests to servers that misbehave at random, and a check for leaks: `npm run soak -- --help`. */
import { pathToFileURL } from 'node:url'
import { startChild, startWatchdog } from './children.mjs'
import { ENGINES, readOptions, runMain } from './options.mjs'
import { makeRandom } from './random.mjs'
import { runChaos } from './soak/chaos/run.mjs'
import { play } from './soak/load.mjs'
import { runScene, sceneNames } from './soak/scenes/run.mjs'
import { hasGo, hasNghttpd, startGrpc, startNghttpd } from './soak/servers.mjs'
import { conclude, report, watchProcess } from './soak/verdict.mjs'
import { Watch } from './soak/watch.mjs'

/** The share of the calls that may wait for a response that never comes. The servers cause about one in a hundred. */
const MAX_HELD_BACK = 0.05
/** Milliseconds for a request, on a machine that is busy with other things besides. */
const ENOUGH = 4.5
/** Milliseconds that the process has to end by itself: it has nothing to wait for, and a busy machine to do so on. */
const LAST_CALL = 60_000

/** @typedef {'node' | 'wire'} Engine */

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
                     upstreams an UpstreamPool of four servers that are killed, restarted, slow, and fail, and another one that hedges:
                               no call may fail that another server could have answered (--at-a-time, --minutes)
                     ages      a Pool with maxSessionAge: 1000 beside one without (--at-a-time, --minutes)
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

function toSetting() {
  const options = readOptions(help)
  const number = (/** @type {string} */ name, /** @type {number} */ fallback) =>
    options.count(name, fallback, 0)
  const scenes = Object.fromEntries(sceneNames.map((name) => [name, name]))
  const scene = options.text('scene') === undefined ? null : options.choice('scene', scenes, '')
  const isChaos = options.flag('chaos')
  const requests = number('requests', 200_000)
  const milliseconds = number('seconds', number('minutes', 1) * 60) * 1_000
  const enough = Math.ceil(Math.max(900, (requests * ENOUGH) / 1_000, (2 * milliseconds) / 1_000))
  const dodici = options.text('dodici')
  const within = options.count('within', undefined, 0)
  const common = {
    seed: number('seed', Date.now() % 2 ** 31),
    timeLimit: number('time-limit', enough) * 1_000,
    module: dodici === undefined ? 'dodici' : pathToFileURL(dodici).href,
    milliseconds,
  }
  return {
    ...common,
    engines: options.choice('engine', ENGINES, 'both'),
    // Each scene has its own numbers.
    scene:
      scene === null
        ? null
        : {
            ...common,
            scene,
            requests: options.count('requests', undefined, 0),
            atATime: options.count('at-a-time', undefined, 0),
            kills: number('kills', 6),
            within: within === undefined ? undefined : within * 1_000,
          },
    requests,
    warmup: number('warmup', 10_000),
    atATime: number('at-a-time', isChaos ? 60 : 200),
    isChaos,
    state: options.text('state') ?? null,
    only: options.text('only'),
    hasReal: !options.flag('no-nghttpd') && hasNghttpd,
    hasGrpc: !options.flag('no-grpc'),
  }
}

/** @typedef {ReturnType<typeof toSetting>} Setting */

/** @param {number} seed @returns {ReturnType<typeof startChild<import('./soak/peer.mjs').Methods>>} */
const startPeer = (seed) => startChild('soak/peer.mjs', { seed })

/**
 * With servers of its own, so that failures of one engine don't affect another.
 *
 * @param {Engine} engine @param {Setting} setting
 */
async function run(engine, setting) {
  const { seed, hasReal, hasGrpc, warmup, requests } = setting
  const others = [...(hasReal ? ['nghttpd'] : []), ...(hasGrpc ? [hasGo ? 'grpc-go' : 'grpc-js'] : [])]
  console.log([`Engine ${engine}, seed ${seed}, Node ${process.versions.node}`, ...others].join(', with '))
  const watch = new Watch()
  const unwatch = watchProcess(watch)
  const seeds = makeRandom(seed + 1)
  const peers = await Promise.all([seeds.fork(), seeds.fork()].map(startPeer))
  const real = hasReal ? await startNghttpd() : null
  const grpc = hasGrpc ? await startGrpc() : null
  /** @type {import('./soak/load.mjs').Target[]} */
  const targets = peers.map(({ listening }) => ({ url: `http://127.0.0.1:${listening}`, isReal: false }))
  if (real !== null) targets.push({ url: real.origin, isReal: true, name: 'nghttpd' })
  if (grpc !== null) targets.push({ url: grpc.origin, isReal: true, speaksGrpc: true, retiresAtOnce: !hasGo })
  /** @type {import('./soak/peer.mjs').PeerTally[]} */
  let tallies = []
  const counts = [warmup, requests]
  const parts = counts.map((count) => (/** @type {number} */ started) => started >= count)
  const end = async () => {
    tallies = await Promise.all(peers.map(({ child }) => child.ask('tally')))
  }
  try {
    await play({
      engine,
      setting,
      watch,
      targets,
      parts,
      end,
      report: (told) => report(watch, told, tallies),
    })
  } finally {
    await Promise.all([...peers.map(({ child }) => child.stop()), real?.stop(), grpc?.stop()])
  }
  const { settled, heldBack } = watch
  if (heldBack > MAX_HELD_BACK * settled)
    watch.violate(`${heldBack} of ${settled} calls have waited in vain: something stands still`)
  if (settled !== requests + warmup) watch.violate(`${settled} calls have settled, of ${requests + warmup}`)
  unwatch()
  conclude(watch)
}

await runMain(async () => {
  const setting = toSetting()
  const stopWatchdog = startWatchdog()
  for (const engine of setting.engines) {
    if (setting.scene !== null) await runScene(engine, setting.scene)
    else await (setting.isChaos ? runChaos : run)(engine, setting)
  }
  await stopWatchdog()
  // It doesn't keep the process alive: it only tells of what does.
  setTimeout(() => {
    console.log(`WRONG: the process doesn't end by itself: ${process.getActiveResourcesInfo().join(', ')}`)
    process.exit(1)
  }, LAST_CALL).unref()
})
