/** Very many requests to servers that misbehave at random, and a check for leaks: `npm run soak -- --help`. */
import { pathToFileURL } from 'node:url'
import { startChild, startWatchdog } from './children.mjs'
import { ENGINES, readOptions, runMain } from './options.mjs'
import { makeRandom } from './random.mjs'
import { runChaos } from './soak/chaos/run.mjs'
import { play } from './soak/load.mjs'
import { runScene, sceneNames } from './soak/scenes/run.mjs'
import { hasGo, hasNghttpd, startGrpc, startNghttpd } from './soak/servers.mjs'
import { conclude, report, toLines, watchProcess } from './soak/verdict.mjs'
import { Watch } from './soak/watch.mjs'

/** The share of the calls that may wait for a response that never comes. The servers cause about one in a hundred. */
const MAX_HELD_BACK = 0.05
/** The share of the requests before the first look at the memory, and the most of them. */
const WARMUP = { share: 0.25, most: 10_000 }
/** Milliseconds that the process has to end by itself: it has nothing to wait for, and a busy machine to do so on. */
const LAST_CALL = 60_000

const help = `Usage: node --expose-gc scripts/soak.mjs [options]

Calls servers that misbehave at random; and nghttpd and grpc-go, where they are installed, which don't.

  --engine NAME    node, wire or both, one after the other, each with a verdict of its own (default: both)
  --requests N     (default: 200000)
  --at-a-time N    (default: 200)
  --seed N         makes the same choices again (default: another one each time)
  --chaos          all kinds of calls, fetch, tunnels and WebSockets among them, to real servers, through a relay that delays, splits,
                   holds and resets: for each engine as long as --seconds or --minutes say, instead of --requests
  --state FILE     adds what --chaos has counted to this file, from which scripts/soak/report.mjs makes a page
  --scene NAME     ${sceneNames.join(', ')}: a program as users write it, through restarts of its TLS servers, of which none of
                   its calls may be lost or doubled. CONTRIBUTING.md says what each does
  --kills N        how often a scene restarts its servers (default: 6)
  --within S       seconds in which a scene has to get over a restart (default: 2; the gateway: 3)
  --seconds N      of --chaos, or of a scene (default: 60)
  --minutes N
  --dodici FILE    the build to try (default: dist/ of this package)
`

function toSetting() {
  const options = readOptions(help)
  const scene = options.text('scene')
  const within = options.count('within', undefined, 0)
  const dodici = options.text('dodici')
  return {
    engines: options.choice('engine', ENGINES, 'both'),
    scene: scene && options.choice('scene', Object.fromEntries(sceneNames.map((name) => [name, name])), ''),
    isChaos: options.flag('chaos'),
    requests: options.count('requests', undefined),
    atATime: options.count('at-a-time', undefined),
    seed: options.count('seed', Date.now() % 2 ** 31, 0),
    module: dodici === undefined ? 'dodici' : pathToFileURL(dodici).href,
    milliseconds: options.count('seconds', options.count('minutes', 1) * 60) * 1_000,
    state: options.text('state') ?? null,
    kills: options.count('kills', 6, 0),
    within: within === undefined ? undefined : within * 1_000,
  }
}

/** @typedef {ReturnType<typeof toSetting>} Setting */

/** @param {number} seed @returns {ReturnType<typeof startChild<import('./soak/peer.mjs').Methods>>} */
const startPeer = (seed) => startChild('soak/peer.mjs', { seed })

/** @param {'node' | 'wire'} engine @param {Setting} setting */
async function run(engine, { requests = 200_000, atATime = 200, seed, module }) {
  console.log(`Engine ${engine}, seed ${seed}, Node ${process.versions.node}`)
  const watch = new Watch()
  const unwatch = watchProcess(watch)
  const seeds = makeRandom(seed + 1)
  const peers = await Promise.all([seeds.fork(), seeds.fork()].map(startPeer))
  const nghttpd = hasNghttpd ? await startNghttpd() : null
  const grpc = hasGo ? await startGrpc() : null
  /** @type {import('./soak/load.mjs').Target[]} */
  const targets = peers.map(({ listening }) => ({ url: `http://127.0.0.1:${listening}`, isReal: false }))
  if (nghttpd !== null) targets.push({ url: nghttpd.origin, isReal: true, name: 'nghttpd' })
  if (grpc !== null) targets.push({ url: grpc.origin, isReal: true, name: 'grpc-go', speaksGrpc: true })
  const warmup = Math.min(requests * WARMUP.share, WARMUP.most)
  try {
    await play({
      ...{ engine, setting: { seed, module, atATime }, watch, targets },
      parts: [warmup, requests - warmup].map((count) => (started) => started >= count),
      async end() {
        for (const { child } of peers) {
          const { faults, connections, streams, posts, violations } = await child.ask('tally')
          console.log(`A server: ${connections} connections, ${streams} streams, ${posts} POSTs taken`)
          console.log(toLines(faults))
          for (const violation of violations) watch.violate(`a server: ${violation}`)
        }
      },
      report: (told) => report(watch, told),
    })
  } finally {
    await Promise.all([...peers.map(({ child }) => child.stop()), nghttpd?.stop(), grpc?.stop()])
  }
  const { settled, heldBack } = watch
  if (heldBack > MAX_HELD_BACK * settled)
    watch.violate(`${heldBack} of ${settled} calls have waited in vain: something stands still`)
  if (settled !== requests) watch.violate(`${settled} calls have settled, of ${requests}`)
  unwatch()
  conclude(watch)
}

await runMain(async () => {
  const setting = toSetting()
  const stopWatchdog = startWatchdog()
  // Each engine has servers of its own, so that failures of one don't affect the other.
  for (const engine of setting.engines)
    await (setting.scene ? runScene : setting.isChaos ? runChaos : run)(engine, setting)
  await stopWatchdog()
  // It doesn't keep the process alive: it only tells of what does.
  setTimeout(() => {
    console.log(`WRONG: the process doesn't end by itself: ${process.getActiveResourcesInfo().join(', ')}`)
    process.exit(1)
  }, LAST_CALL).unref()
})
