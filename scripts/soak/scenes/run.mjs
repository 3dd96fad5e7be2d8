/** The scenes of the soak: programs as users write them, through restarts of their servers. */
import { setTimeout } from 'node:timers/promises'
import { conclude, judgeRest, toProcessState, watchProcess } from '../verdict.mjs'
import { Expected } from '../watch.mjs'
import { Scene } from './scene.mjs'
import { playUpstreams } from './upstreams.mjs'

/** Milliseconds in which a restart has to be got over. */
const WITHIN = 2_000

/** Milliseconds before a notification is tried again, as a program does it. */
const SENDER_PAUSE = 20
/** Milliseconds of calm behind a restart. */
const SENDER_CALM = 1_000

/**
 * A sender of push notifications: very many small POSTs over one Pool, a thousand of them in flight, to a server that
 * retires connections, declines requests, resets streams, and is killed now and then.
 *
 * @param {Scene} scene
 */
async function playSender(scene) {
  const { options, dodici, restarts } = scene
  const { requests = 200_000, atATime = 1_000, kills } = options
  await scene.startOrigins(1, { isRough: true })
  const [origin] = scene.origins
  const pool = new dodici.Pool(origin.url, scene.common)
  let sent = 0
  let delivered = 0
  let again = 0

  /** One notification, until it is delivered. */
  async function send() {
    sent++
    const begun = performance.now()
    for (;;) {
      const fate = await scene.small(pool, origin.url, { begun, size: scene.random.integer(50, 2_000) })
      if (fate === 'executed' || fate === 'declined') break
      again++
      await setTimeout(SENDER_PAUSE)
    }
    delivered++
  }

  /** At even distances. */
  async function kill() {
    for (let i = 1; i <= kills; i++) {
      const due = (requests * i) / (kills + 1)
      while (delivered < due) await setTimeout(SENDER_PAUSE)
      await restarts.play(origin, () => origin.kill())
      await setTimeout(SENDER_CALM)
    }
    while (sent < requests) await setTimeout(SENDER_PAUSE)
  }

  await scene.play(kill, [[atATime, send]])
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

/** Milliseconds that a server has for its streams after its GOAWAY. */
const PATIENCE = 2_000
/** Milliseconds before a request is tried again. */
const GATEWAY_PAUSE = 50
/** The share of the clients that vanish, and the most milliseconds after which they do. */
const VANISHING = 0.25
const SOON = 5_000
/** The words of an answer, five of which come in a second: no answer takes half of the scene. */
const WORDS = { min: 5, max: 60, perSecond: 2 }
/** Milliseconds in which a restart has to be got over. The server itself takes up to 300. */
const LONGER = 3_000

/**
 * A gateway to a language model: slow streams of server-sent events, five hundred at once, through restarts of their
 * origin, by kills and by graceful shutdowns in turn, for clients some of which vanish.
 *
 * @param {Scene} scene
 */
async function playGateway(scene) {
  const { options, dodici, restarts, random } = scene
  const { atATime = 500, kills, milliseconds } = options
  const calm = milliseconds / (kills + 1)
  const mostWords = Math.min(WORDS.max, WORDS.min + (WORDS.perSecond * milliseconds) / 1_000)
  // As many as a server of today takes, so that they need several connections.
  await scene.startOrigins(1, { limit: 128 })
  const [origin] = scene.origins
  const pool = new dodici.Pool(origin.url, { ...scene.common, connections: null })
  const counts = { complete: 0, vanished: 0, broken: 0, again: 0 }
  let slowest = 0

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
        await setTimeout(GATEWAY_PAUSE)
        continue
      }
      break
    }
    clearTimeout(timer)
  }

  async function restart() {
    for (let i = 0; i < kills; i++) {
      await setTimeout(calm)
      await restarts.play(origin, () => (i % 2 === 0 ? origin.kill() : origin.drain(PATIENCE)))
    }
    await setTimeout(calm)
  }

  await scene.play(restart, [[atATime, serve]], 90_000)
  const { mostStreams, opened } = await origin.tally()
  await scene.end([pool])
  console.log(
    `Streams, ${atATime} at a time: ${counts.complete} complete, ${counts.vanished} whose client vanished, ` +
      `${counts.broken} broken off, ${counts.again} asked again; slowest first byte ${slowest.toFixed(0)} ms; ` +
      `the last server: ${mostStreams} streams at once at most, ${opened} connections`,
  )
  const within = options.within ?? LONGER
  restarts.judge(scene.watch, within, ['next', 'firstByte'])
}

/** Milliseconds of `maxSessionAge`, between two calls of a worker, and between two looks at the sessions. */
const AGE = 1_000
const AGES_PAUSE = 20
const LOOK = 20

/** A Pool with one connection, which is replaced at the age of a second, under load. No call may fail. @param {Scene} scene */
async function playAges(scene) {
  const { options, dodici, random, watch } = scene
  const { atATime = 40, milliseconds } = options
  await scene.startOrigins(1)
  const [{ url }] = scene.origins
  const pool = new dodici.Pool(url, { ...scene.common, connections: 1, maxSessionAge: AGE })
  let most = 0
  const looking = setInterval(() => {
    most = Math.max(most, pool.stats.sessions.length)
  }, LOOK)

  async function work() {
    const method = random.chance(0.5) ? 'GET' : 'POST'
    const fate = await scene.small(pool, url, { begun: performance.now(), method })
    if (fate !== 'executed') watch.violate(`a call has failed: ${fate}`)
    await setTimeout(AGES_PAUSE)
  }

  await scene.play(() => setTimeout(milliseconds), [[atATime, work]])
  clearInterval(looking)
  const replaced = pool.stats.ended.age
  await scene.end([pool])
  console.log(`${replaced} sessions were replaced for their age, at most ${most} sessions at a time`)
  // Each up to a tenth sooner.
  if (replaced < (0.5 * milliseconds) / AGE)
    watch.violate(`only ${replaced} sessions were replaced for their age`)
  if (most > 2) watch.violate(`${most} sessions at a time, beside connections: 1`)
}

/** Milliseconds that the second server stands still, and between two such times; less in a short scene. */
const STANDSTILL = 5_000
const PATIENCE_CALM = 15_000
/** Milliseconds for which servers and callers do nothing, at most. */
const MOST = 40_000
const UPLOAD = Buffer.alloc(4_000_000, 'u')
const LARGE = 8_000_000
/** Milliseconds between two small calls. */
const PATIENCE_PAUSE = 200

/**
 * Servers that are slow, don't read, or stand still for five seconds as a suspended laptop does, and callers who don't
 * read: nothing that is a failure. No call may fail, and no connection be lost.
 *
 * @param {Scene} scene
 */
async function playPatience(scene) {
  const { options, dodici, random, watch } = scene
  const milliseconds = options.milliseconds
  const most = Math.min(MOST, milliseconds / 4)
  await scene.startOrigins(2)
  const [standstill, calm] = [STANDSTILL, PATIENCE_CALM].map((most) => Math.min(most, milliseconds / 8))
  const until = performance.now() + milliseconds
  /** @type {import('../../../types/index.ts').Dispatcher[]} */
  const dispatchers = []
  let suspensions = 0
  let isEnding = false

  /** @param {string} what @param {string} origin @param {object} [own] */
  function makeClient(what, origin, own) {
    const client = new dodici.Client(origin, { ...scene.common, ...own })
    const report = (
      /** @type {unknown} */ _origin,
      /** @type {unknown} */ _targets,
      /** @type {Error} */ error,
    ) => {
      if (!isEnding) watch.violate(`a connection was lost (${what}): ${error.stack}`)
    }
    client.on('disconnect', report).on('connectionError', report)
    dispatchers.push(client)
    return client
  }

  /**
   * @param {string} path @param {object} request @param {import('../../../types/index.ts').Dispatcher} client
   * @param {(body: import('../../../types/index.ts').BodyReadable) => Promise<number>} read
   * @param {number} length of the response
   */
  async function perform(path, request, client, read, length) {
    const fate = await scene.call(false, async (call) => {
      const headers = { 'x-call': String(call), 'x-most': String(most) }
      const { body } = await client.request({ path, method: 'GET', headers, ...request })
      const bytes = await read(body)
      if (bytes !== length) watch.violate(`${path}: ${bytes} of ${length} bytes`)
      return 'executed'
    })
    if (fate === 'executed') return
    watch.violate(`a call to ${path} has failed, after ${suspensions} suspensions`)
    await setTimeout(PATIENCE_PAUSE)
  }

  /** @param {import('../../../types/index.ts').BodyReadable} body */
  const readAll = async (body) => (await body.bytes()).length

  /** Reads a little, then nothing for long, then the rest. @param {import('../../../types/index.ts').BodyReadable} body */
  async function stall(body) {
    let length = 0
    let isStalled = false
    for await (const chunk of body) {
      length += chunk.length
      if (isStalled || length < LARGE / 10) continue
      isStalled = true
      await setTimeout(random.integer(most / 20, most))
    }
    return length
  }

  /** @returns {[number, () => Promise<unknown>][]} */
  const toLoads = (/** @type {{ url: string }} */ { url }) => {
    const small = makeClient('small calls', url)
    const pinged = makeClient('small calls, a PING every second', url, { pingInterval: 1_000 })
    const slow = makeClient('slow responses', url)
    const stalled = makeClient('stalled readers', url)
    const uploads = makeClient('uploads', url)
    const call = async (/** @type {import('../../../types/index.ts').Dispatcher} */ client) => {
      const fate = await scene.small(client, url, { begun: performance.now() })
      if (fate !== 'executed') watch.violate(`a small call has failed, after ${suspensions} suspensions`)
      await setTimeout(PATIENCE_PAUSE)
    }
    const upload = { method: 'POST', body: UPLOAD }
    return [
      [5, () => call(small)],
      [5, () => call(pinged)],
      [20, () => perform('/slow', {}, slow, readAll, 20)],
      [4, () => perform('/large', {}, stalled, stall, LARGE)],
      [4, () => perform('/upload', upload, uploads, readAll, String(UPLOAD.length).length)],
    ]
  }

  async function suspend() {
    while (performance.now() < until) {
      await setTimeout(calm)
      await scene.origins[1].suspend(standstill)
      suspensions++
    }
  }

  await scene.play(suspend, scene.origins.flatMap(toLoads), 4 * MOST + 60_000)
  const opened = (await Promise.all(scene.origins.map((origin) => origin.tally()))).map(
    (tally) => tally.opened,
  )
  isEnding = true
  await scene.end(dispatchers)
  console.log(
    `${scene.latencies.length} calls in ${(milliseconds / 60_000).toFixed(1)} min, through ${suspensions} suspensions; ` +
      `connections: ${opened.join(' and ')} for ${dispatchers.length} clients`,
  )
}

/** @type {Readonly<Record<string, (scene: Scene) => Promise<void>>>} */
const SCENES = {
  sender: playSender,
  gateway: playGateway,
  upstreams: playUpstreams,
  ages: playAges,
  patience: playPatience,
}

export const sceneNames = Object.keys(SCENES)

/** @param {'node' | 'wire'} engine @param {import('../../soak.mjs').Setting} options */
export async function runScene(engine, options) {
  const { scene: name = '', seed, module } = options
  console.log(`Scene ${name}: engine ${engine}, seed ${seed}, Node ${process.versions.node}`)
  const scene = new Scene(engine, options, await import(module))
  const unwatch = watchProcess(scene.watch)
  const before = toProcessState()
  try {
    await SCENES[name](scene)
  } finally {
    await scene.stop()
  }
  scene.report()
  await judgeRest(scene.watch, 0, before)
  unwatch()
  conclude(scene.watch)
}
