/** What a soak is judged by: the memory, the process, and what is open; and its report. */

/** @typedef {import('./watch.mjs').Watch} Watch */

const MEGABYTE = 1e6
const MAX_GROWTH = 5 * MEGABYTE
/** After so many milliseconds without a settled call, the soak fails. */
const STANDSTILL = 120_000

/** The memory in use after all garbage is collected. */
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

/** What of the process must be as before when all dispatchers have ended. What was just closing then may be gone. */
export const toProcessState = () => [
  ...process.getActiveResourcesInfo().filter((name) => name !== 'CloseReq' && !name.startsWith('FSReq')),
  ...process.eventNames().map((name) => `${process.listenerCount(name)} listeners of ${String(name)}`),
]

/** What a list has more of than another one. @param {string[]} before @param {string[]} after */
function toAdded(before, after) {
  const known = [...before]
  return after.filter((name) => {
    const at = known.indexOf(name)
    if (at !== -1) known.splice(at, 1)
    return at === -1
  })
}

/** @param {Watch} watch @returns {() => void} ends it */
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
 * @param {Watch} watch @param {() => void} report says what has happened until then
 * @param {number} [lost] milliseconds after which a call counts as lost
 */
export function guard(watch, report, lost) {
  let last = { settled: -1, at: performance.now() }
  const timer = setInterval(() => {
    const now = performance.now()
    watch.findLost(lost)
    if (watch.settled !== last.settled) last = { settled: watch.settled, at: now }
    if (now - last.at < STANDSTILL) return
    watch.violate('nothing settles any more')
    for (const { what } of [...watch.open.values()].slice(0, 10)) watch.violate(`still open: ${what}`)
    report()
    conclude(watch)
    process.exit(1)
  }, 1_000)
  return () => clearInterval(timer)
}

/** @param {Watch} watch @param {import('./load.mjs').Told} told */
export function report(watch, { dispatchers, calls, seconds }) {
  console.log(`Calls by outcome:\n${toLines(watch.outcomes)}\nFailures:\n${toLines(watch.errors)}`)
  console.log(`Handlers watched call by call: ${watch.handlers}`)
  console.log(
    `${watch.settled} calls by ${dispatchers} dispatchers; the last ${calls} in ${seconds.toFixed(0)} s`,
  )
}

/** @typedef {Awaited<ReturnType<typeof collect>>} Memory */

/** @param {Watch} watch @param {Memory} baseline @param {Memory} left */
export function judgeMemory(watch, baseline, left) {
  for (const what of /** @type {const} */ (['heap', 'external'])) {
    const [before, after] = [baseline[what], left[what]]
    const [text, grown] = [before, after - before].map((bytes) => (bytes / MEGABYTE).toFixed(2))
    console.log(`Memory (${what}): ${text} MB before the measured calls, ${grown} MB more after them`)
    if (after - before >= MAX_GROWTH) watch.violate(`the memory (${what}) has grown by ${grown} MB`)
  }
}

/** All dispatchers have ended. @param {Watch} watch @param {number} listeners of shared signals @param {string[]} before */
export async function judgeRest(watch, listeners, before) {
  // What their ends leave to later turns comes first.
  await collect()
  const left = toAdded(before, toProcessState())
  if (listeners > 0) watch.violate(`${listeners} listeners are left on the shared signals`)
  if (watch.open.size > 0)
    watch.violate(`${watch.open.size} calls are open, such as ${[...watch.open.values()][0].what}`)
  if (left.length > 0) watch.violate(`left of the process: ${left.join(', ')}; before: ${before.join(', ')}`)
}

/** @param {Watch} watch */
export function conclude(watch) {
  if (watch.violationCount === 0) {
    console.log('Nothing was wrong.')
    return
  }
  console.log(`WRONG, ${watch.violationCount} times:\n${watch.violations.join('\n')}`)
  process.exitCode = 1
}
