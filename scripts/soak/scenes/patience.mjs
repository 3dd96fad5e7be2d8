/**
 * Servers that are slow, don't read, or stand still for five seconds as a suspended laptop does, and callers who don't read: nothing
 * that is a failure. No call may fail, and no connection be lost.
 */
import { setTimeout } from 'node:timers/promises'

/** Milliseconds that the second server stands still, and between two such times; less in a short scene. */
const STANDSTILL = 5_000
const CALM = 15_000
/** Milliseconds for which servers and callers do nothing, at most. */
const MOST = 40_000
const UPLOAD = Buffer.alloc(4_000_000, 'u')
const LARGE = 8_000_000
/** Milliseconds between two small calls. */
const PAUSE = 200

/** @param {import('./scene.mjs').Scene} scene */
export async function playPatience(scene) {
  const { options, dodici, random, watch } = scene
  const milliseconds = options.milliseconds
  const most = Math.min(MOST, milliseconds / 4)
  await scene.startOrigins(2)
  const [standstill, calm] = [STANDSTILL, CALM].map((most) => Math.min(most, milliseconds / 8))
  const until = performance.now() + milliseconds
  const isOver = () => performance.now() > until
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
    await setTimeout(PAUSE)
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

  /** @param {number} atATime @param {() => Promise<unknown>} run */
  const keepUp = (atATime, run) =>
    Array.from({ length: atATime }, async () => {
      while (!isOver()) await run()
    })

  const loads = scene.origins.flatMap(({ url }) => {
    const small = makeClient('small calls', url)
    const pinged = makeClient('small calls, a PING every second', url, { pingInterval: 1_000 })
    const slow = makeClient('slow responses', url)
    const stalled = makeClient('stalled readers', url)
    const uploads = makeClient('uploads', url)
    const call = async (/** @type {import('../../../types/index.ts').Dispatcher} */ client) => {
      const fate = await scene.small(client, url, { begun: performance.now() })
      if (fate !== 'executed') watch.violate(`a small call has failed, after ${suspensions} suspensions`)
      await setTimeout(PAUSE)
    }
    return [
      ...keepUp(5, () => call(small)),
      ...keepUp(5, () => call(pinged)),
      ...keepUp(20, () => perform('/slow', {}, slow, readAll, 20)),
      ...keepUp(4, () => perform('/large', {}, stalled, stall, LARGE)),
      ...keepUp(4, () =>
        perform('/upload', { method: 'POST', body: UPLOAD }, uploads, readAll, String(UPLOAD.length).length),
      ),
    ]
  })

  async function suspend() {
    while (!isOver()) {
      await setTimeout(calm)
      await scene.origins[1].suspend(standstill)
      suspensions++
    }
  }

  const stopGuard = scene.guard(4 * MOST + 60_000)
  await Promise.all([suspend(), ...loads])
  stopGuard()
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
