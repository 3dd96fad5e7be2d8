/** The scene `ages`: sessions that are replaced each second, under load, beside one that stays. */
import { setTimeout } from 'node:timers/promises'

/** @typedef {import('./scene.mjs').Scene} Scene */

/** The two pools take turns of so many milliseconds: whatever else the machine does meets both. */
const TURN = 5_000
/** At the beginning of a turn the connection is set up: of both pools. Milliseconds. */
const LEAD = 500
/** Milliseconds between two calls of a worker. */
const PAUSE = 20
/** Milliseconds of `maxSessionAge`. */
const AGE = 1_000
/** Milliseconds between two looks at the sessions. */
const LOOK = 20
/** How much longer 99 % of the calls may take, and from how many milliseconds of load on that is more than chance. */
const MAX_RATIO = 1.2
const JUDGED = 30_000

/** @param {number[]} numbers @param {number} share from 0 to 1 */
function toQuantile(numbers, share) {
  const sorted = Float64Array.from(numbers).sort()
  return sorted[Math.min(sorted.length - 1, Math.floor(sorted.length * share))] ?? 0
}

/**
 * A Pool with one connection, which is replaced at the age of a second, and one without: each has the load for as long as the scene
 * says. No call may fail, and 99 % of them take about as long with replacements as without.
 *
 * @param {Scene} scene
 */
export async function playAges(scene) {
  const { options, dodici, random, watch } = scene
  const { atATime = 40 } = options
  const turns = Math.max(1, Math.round(options.milliseconds / TURN))
  const length = options.milliseconds / turns
  await scene.startOrigins(1)
  const [{ url }] = scene.origins
  const sides = [0, AGE].map((maxSessionAge) => ({
    maxSessionAge,
    pool: new dodici.Pool(url, { ...scene.common, connections: 1, maxSessionAge }),
    /** Of each turn. @type {number[]} */
    p99: [],
    calls: 0,
    mostSessions: 0,
  }))

  /** @param {{ maxSessionAge: number, pool: import('dodici').Pool, p99: number[], calls: number, mostSessions: number }} side */
  async function load(side) {
    const begun = performance.now()
    /** @type {number[]} */
    const latencies = []
    const looking = setInterval(() => {
      side.mostSessions = Math.max(side.mostSessions, side.pool.stats.sessions.length)
    }, LOOK)
    const work = async () => {
      const now = performance.now()
      const method = random.chance(0.5) ? 'GET' : 'POST'
      const fate = await scene.small(side.pool, url, { begun: now, method })
      side.calls++
      if (now >= begun + LEAD) latencies.push(performance.now() - now)
      if (fate !== 'executed') watch.violate(`a call has failed, with maxSessionAge: ${side.maxSessionAge}`)
      await setTimeout(PAUSE)
    }
    await scene.play(() => setTimeout(length), [[atATime, work]])
    clearInterval(looking)
    side.p99.push(toQuantile(latencies, 0.99))
  }

  for (let turn = 0; turn < turns; turn++)
    for (const side of turn % 2 === 0 ? sides : sides.toReversed()) await load(side)
  const [without, aged] = sides
  const replaced = aged.pool.stats.ended.age
  await scene.end(sides.map(({ pool }) => pool))
  for (const { maxSessionAge, calls, mostSessions, p99 } of sides) {
    console.log(
      `maxSessionAge: ${maxSessionAge}: ${calls} calls in ${turns} turns of ${length} ms, ` +
        `at most ${mostSessions} sessions at a time; 99 % took up to ${toQuantile(p99, 0.5).toFixed(1)} ms (the median of the turns)`,
    )
  }
  const ratio = toQuantile(
    aged.p99.map((p99, turn) => p99 / without.p99[turn]),
    0.5,
  )
  console.log(
    `${replaced} sessions were replaced for their age; 99 %: ${ratio.toFixed(2)} of without (the median of the turns)`,
  )
  // Some beyond the last turn's end, and each up to a tenth sooner.
  if (replaced < (0.5 * options.milliseconds) / AGE)
    watch.violate(`only ${replaced} sessions were replaced for their age`)
  if (without.pool.stats.ended.age > 0) watch.violate('a session was replaced without maxSessionAge')
  if (aged.mostSessions > 2) watch.violate(`${aged.mostSessions} sessions at a time, beside connections: 1`)
  if (ratio > MAX_RATIO && options.milliseconds >= JUDGED)
    watch.violate(`99 % take ${ratio.toFixed(2)} times as long`)
}
