/**
 * A gateway to a language model: slow streams of server-sent events, five hundred at once, through restarts of their origin, by kills
 * and by graceful shutdowns in turn, for clients some of which vanish.
 */
import { setTimeout } from 'node:timers/promises'
import { Expected } from '../watch.mjs'

/** Milliseconds that a server has for its streams after its GOAWAY. */
const PATIENCE = 2_000
/** Milliseconds before a request is tried again. */
const PAUSE = 50
/** The share of the clients that vanish, and the most milliseconds after which they do. */
const VANISHING = 0.25
const SOON = 5_000
/** The words of an answer, five of which come in a second: no answer takes half of the scene. */
const WORDS = { min: 5, max: 60, perSecond: 2 }
/** Milliseconds in which a restart has to be got over. The server itself takes up to 300. */
const WITHIN = 3_000

/** @param {import('./scene.mjs').Scene} scene */
export async function playGateway(scene) {
  const { options, dodici, restarts, random } = scene
  const atATime = options.atATime ?? 500
  const { kills, milliseconds } = options
  const calm = milliseconds / (kills + 1)
  const mostWords = Math.min(WORDS.max, WORDS.min + (WORDS.perSecond * milliseconds) / 1_000)
  // As many as a server of today takes, so that they need several connections.
  await scene.startOrigins(1, { limit: 128 })
  const [origin] = scene.origins
  const pool = new dodici.Pool(origin.url, { ...scene.common, connections: null })
  const counts = { complete: 0, vanished: 0, broken: 0, again: 0 }
  let slowest = 0
  let isOver = false

  /** @param {number} begun when the client came @param {AbortSignal | null} signal @returns how it ended */
  function ask(begun, signal) {
    let words = 0
    const asked = scene.call(false, async (call) => {
      const size = random.integer(WORDS.min, mostWords)
      try {
        const { headers, body } = await pool.request({
          path: '/words',
          method: 'POST',
          headers: { 'x-call': String(call), 'x-words': String(size), 'content-type': 'application/json' },
          body: JSON.stringify({ prompt: 'w'.repeat(random.integer(100, 5_000)) }),
          signal,
        })
        body.setEncoding('utf8')
        for await (const text of body) {
          if (words === 0) {
            restarts.serve(String(headers['x-server']), begun)
            slowest = Math.max(slowest, performance.now() - begun)
          }
          words += text.split('data: ').length - 1
        }
        if (words !== size + 1)
          scene.watch.violate(`call ${call} has ended after ${words} of ${size + 1} events`)
        return 'executed'
      } catch (error) {
        throw signal?.aborted === true ? new Expected('its client has vanished') : error
      }
    })
    return asked.then((fate) => ({ fate, words }))
  }

  /** One client, until it has its answer, has part of one, or has vanished. */
  async function serve() {
    const begun = performance.now()
    const vanishes = random.chance(VANISHING)
    const controller = vanishes ? new AbortController() : null
    const timer = vanishes
      ? globalThis.setTimeout(() => controller?.abort(), random.integer(0, SOON))
      : undefined
    for (;;) {
      const { fate, words } = await ask(begun, controller?.signal ?? null)
      if (fate === 'executed') counts.complete++
      else if (fate === 'left' || controller?.signal.aborted === true) counts.vanished++
      else if (words > 0) counts.broken++
      else {
        counts.again++
        await setTimeout(PAUSE)
        continue
      }
      break
    }
    clearTimeout(timer)
  }

  async function work() {
    while (!isOver) await serve()
  }

  async function restart() {
    for (let i = 0; i < kills; i++) {
      await setTimeout(calm)
      await restarts.play(origin, () => (i % 2 === 0 ? origin.kill() : origin.drain(PATIENCE)))
    }
    await setTimeout(calm)
    isOver = true
  }

  const stopGuard = scene.guard(90_000)
  await Promise.all([restart(), ...Array.from({ length: atATime }, work)])
  stopGuard()
  const { mostStreams, opened } = await origin.tally()
  await scene.end([pool])
  console.log(
    `Streams, ${atATime} at a time: ${counts.complete} complete, ${counts.vanished} whose client vanished, ` +
      `${counts.broken} broken off, ${counts.again} asked again; slowest first byte ${slowest.toFixed(0)} ms; ` +
      `the last server: ${mostStreams} streams at once at most, ${opened} connections`,
  )
  const within = options.within ?? WITHIN
  restarts.judge(scene.watch, within, ['next', 'firstByte'])
}
