/** An UpstreamPool of three servers, which are killed and restarted in turn. */
import { setTimeout } from 'node:timers/promises'

const SERVERS = 3
/** Milliseconds that a server stays away. */
const AWAY = 200
/** Milliseconds between two calls of a worker. */
const PAUSE = 100
const READS = 0.3
/** Milliseconds in which a restart has to be got over. */
const WITHIN = 2_000

/** @param {import('./scene.mjs').Scene} scene */
export async function playPool(scene) {
  const { options, dodici, restarts, random, watch } = scene
  const atATime = options.atATime ?? 300
  const { kills } = options
  const calm = options.milliseconds / (kills + 1)
  await scene.startOrigins(SERVERS)
  const urls = scene.origins.map(({ url }) => url)
  const upstreams = new dodici.UpstreamPool(urls, scene.common)
  let isOver = false
  let served = 0
  /** Milliseconds in which no call was served. */
  let silence = 0
  let last = performance.now()

  async function work() {
    while (!isOver) {
      const method = random.chance(READS) ? 'GET' : 'POST'
      const fate = await scene.small(upstreams, urls[0], { begun: performance.now(), method })
      if (fate === 'executed') {
        served++
        const now = performance.now()
        silence = Math.max(silence, restarts.between(last, now))
        last = now
      }
      await setTimeout(PAUSE)
    }
  }

  async function kill() {
    await setTimeout(calm)
    for (let i = 0; i < kills; i++) {
      const origin = scene.origins[i % SERVERS]
      await restarts.play(origin, () => origin.kill(AWAY))
      await setTimeout(calm)
    }
    isOver = true
  }

  const stopGuard = scene.guard(60_000)
  await Promise.all([kill(), ...Array.from({ length: atATime }, work)])
  stopGuard()
  await scene.end([upstreams])
  console.log(
    `${served} calls served, ${atATime} at a time; the longest time without one: ${silence.toFixed(0)} ms`,
  )
  const within = options.within ?? WITHIN
  restarts.judge(watch, within, ['next', 'settled', 'firstByte'])
  if (silence > within) watch.violate(`no call was served in ${silence.toFixed(0)} ms`)
}
