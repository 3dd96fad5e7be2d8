/** What a soak is judged by: the memory, the process, and what is open; and its report. */

const MEGABYTE = 1e6
const MAX_GROWTH = 5 * MEGABYTE
/** After so many milliseconds without a settled call, the soak fails. */
const STANDSTILL = 120_000

/** The memory in use after all garbage is collected. @returns {Promise<{ heap: number, external: number }>} */
export async function collect() {
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

/** What has come to a list, each as often as there is more of it. @param {string[]} before @param {string[]} after */
function toAdded(before, after) {
  const known = [...before]
  return after.filter((name) => {
    const at = known.indexOf(name)
    if (at !== -1) known.splice(at, 1)
    return at === -1
  })
}

function toProcessListeners() {
  return process.eventNames().map((name) => `${String(name)}: ${process.listenerCount(name)}`)
}

/** After the run nothing may be in it that wasn't there before. What was just closing then may be gone. */
export const toProcessState = () => ({ resources: toResources(), listeners: toProcessListeners() })

/** @param {import('./watch.mjs').Watch} watch @returns {() => void} ends it */
export function watchProcess(watch) {
  const onThrown = (/** @type {unknown} */ thrown, /** @type {unknown} */ origin) => {
    const kind = origin === 'uncaughtException' ? origin : 'unhandledRejection'
    watch.violate(`${kind}: ${thrown instanceof Error ? thrown.stack : String(thrown)}`)
  }
  const onWarning = (/** @type {Error} */ warning) => {
    // undici's of its WebSocket over HTTP/2.
    if (warning.name !== 'ExperimentalWarning') watch.violate(`warning: ${warning.stack}`)
  }
  process.on('uncaughtException', onThrown).on('unhandledRejection', onThrown).on('warning', onWarning)
  return () => {
    process.off('uncaughtException', onThrown).off('unhandledRejection', onThrown).off('warning', onWarning)
  }
}

/** @param {Record<string, number>} counts */
export function toLines(counts) {
  const entries = Object.entries(counts).sort(([, a], [, b]) => b - a)
  return entries.map(([name, count]) => `  ${String(count).padStart(8)}  ${name}`).join('\n')
}

/**
 * Checks the calls each second, and ends the process if none settles any more.
 *
 * @param {import('./watch.mjs').Watch} watch @param {number} timeLimit in milliseconds
 * @param {() => void} report says what has happened until then @param {number} [lost] milliseconds after which a call counts as lost
 */
export function guard(watch, timeLimit, report, lost) {
  const begun = performance.now()
  let last = { settled: -1, at: begun }
  let told = 0
  const timer = setInterval(() => {
    const now = performance.now()
    watch.findLost(lost)
    if (watch.settled !== last.settled) last = { settled: watch.settled, at: now }
    if (watch.settled - told >= 50_000) {
      told = watch.settled
      const { heapUsed, rss } = process.memoryUsage()
      const [heap, all] = [heapUsed, rss].map((bytes) => (bytes / MEGABYTE).toFixed(0))
      const seconds = ((now - begun) / 1_000).toFixed(0)
      process.stderr.write(`${told} settled after ${seconds} s; heap ${heap} MB, RSS ${all} MB\n`)
    }
    if (now - last.at < STANDSTILL && now - begun < timeLimit) return
    watch.violate(now - begun >= timeLimit ? 'it takes too long' : 'nothing settles any more')
    for (const { what } of [...watch.open.values()].slice(0, 10)) watch.violate(`still open: ${what}`)
    report()
    conclude(watch)
    process.exit(1)
  }, 1_000)
  return () => clearInterval(timer)
}

/**
 * @param {import('./watch.mjs').Watch} watch @param {import('./peer.mjs').PeerTally[]} tallies
 * @param {import('./load.mjs').Told} told
 */
export function report(watch, told, tallies = []) {
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
  const { dispatchers, calls, seconds } = told
  console.log(
    `${watch.settled} calls by ${dispatchers} dispatchers; the last ${calls} in ${seconds.toFixed(0)} s`,
  )
}

/** @typedef {Awaited<ReturnType<typeof collect>>} Memory */

/** @param {import('./watch.mjs').Watch} watch @param {Memory} baseline @param {Memory} left */
export function judgeMemory(watch, baseline, left) {
  const growth = left.heap - baseline.heap
  const outside = left.external - baseline.external
  console.log(
    `Heap ${(baseline.heap / MEGABYTE).toFixed(2)} MB before, ${(left.heap / MEGABYTE).toFixed(2)} MB after ` +
      `(${(growth / MEGABYTE).toFixed(2)}); outside of it ${(outside / MEGABYTE).toFixed(2)} MB more`,
  )
  if (growth >= MAX_GROWTH) watch.violate(`the heap has grown by ${growth} bytes`)
  if (outside >= MAX_GROWTH) watch.violate(`the memory outside of the heap has grown by ${outside} bytes`)
}

/**
 * All dispatchers have ended.
 *
 * @param {import('./watch.mjs').Watch} watch @param {{ readonly listeners: number }} shared signals
 * @param {ReturnType<typeof toProcessState>} before
 */
export function judgeRest(watch, shared, before) {
  const after = toProcessState()
  console.log(`Resources: ${after.resources.join(', ')}; listeners of shared signals: ${shared.listeners}`)
  if (shared.listeners > 0) watch.violate(`${shared.listeners} listeners are left on the shared signals`)
  if (watch.open.size > 0)
    watch.violate(`${watch.open.size} calls are open, such as ${[...watch.open.values()][0].what}`)
  for (const what of /** @type {const} */ (['resources', 'listeners'])) {
    const left = toAdded(before[what], after[what])
    if (left.length > 0)
      watch.violate(`left of ${what}: ${left.join(', ')}; before: ${before[what].join(', ')}`)
  }
}

/** @param {import('./watch.mjs').Watch} watch */
export function conclude(watch) {
  if (watch.violationCount === 0) {
    console.log('Nothing was wrong.')
    return
  }
  console.log(`WRONG, ${watch.violationCount} times:\n${watch.violations.join('\n')}`)
  process.exitCode = 1
}
