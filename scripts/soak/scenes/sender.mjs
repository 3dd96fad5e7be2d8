/**
 * A sender of push notifications: very many small POSTs over one Pool, a thousand of them in flight, to a server that retires
 * connections, declines requests, resets streams, and is killed now and then.
 */
import { setTimeout } from 'node:timers/promises'

/** Milliseconds before a notification is tried again, as a program does it. */
const PAUSE = 20
/** Milliseconds of calm behind a restart. */
const CALM = 1_000
/** Milliseconds in which a restart has to be got over. */
const WITHIN = 2_000

/** @param {import('./scene.mjs').Scene} scene */
export async function playSender(scene) {
  const { options, dodici, restarts } = scene
  const { requests, atATime, kills } = {
    requests: options.requests ?? 200_000,
    atATime: options.atATime ?? 1_000,
    kills: options.kills,
  }
  await scene.startOrigins(1, { isRough: true })
  const [origin] = scene.origins
  const pool = new dodici.Pool(origin.url, scene.common)
  let sent = 0
  let delivered = 0
  let again = 0
  let killing = true

  /** One notification, until it is delivered. */
  async function send() {
    const begun = performance.now()
    for (;;) {
      const fate = await scene.small(pool, origin.url, { begun, size: scene.random.integer(50, 2_000) })
      if (fate === 'executed' || fate === 'declined') break
      again++
      await setTimeout(PAUSE)
    }
    delivered++
  }

  async function work() {
    while (sent < requests || killing) {
      sent++
      await send()
    }
  }

  /** At even distances. */
  async function kill() {
    for (let i = 1; i <= kills; i++) {
      const due = (requests * i) / (kills + 1)
      while (delivered < due) await setTimeout(PAUSE)
      await restarts.play(origin, () => origin.kill())
      await setTimeout(CALM)
    }
    killing = false
  }

  const stopGuard = scene.guard(60_000)
  await Promise.all([kill(), ...Array.from({ length: atATime }, work)])
  stopGuard()
  const { goaways, refused, reset } = await origin.tally()
  await scene.end([pool])
  console.log(
    `${delivered} of ${sent} notifications, ${atATime} at a time, ${again} tries again by the program; ` +
      `the last server: ${goaways} GOAWAYs, ${refused} streams refused, ${reset} reset`,
  )
  const within = options.within ?? WITHIN
  restarts.judge(scene.watch, within, ['next', 'settled'])
  if (delivered !== sent) scene.watch.violate(`${sent - delivered} notifications are lost`)
}
