/**
 * Gives calls up at a rate, beside calls that end well, and looks at what it costs these, and at what the server goes on
 * working at.
 */
import { setTimeout as wait } from 'node:timers/promises'
import { askOrigin } from '../soak/servers.mjs'

/** Between two rounds of calls. Milliseconds. */
const ROUND = 20
/** Between two questions to the origin. Milliseconds. */
const QUESTION = 250

/**
 * @param {typeof import('../../src/index.ts')} dodici
 * @param {object} plan @param {'node' | 'wire'} plan.engine @param {string} plan.origin of the server
 * @param {number} plan.backend the port where `/active` is asked for over HTTP/1.1; 0: by HTTP/2, at the server itself
 * @param {boolean} plan.isUpload whether calls wait because their body doesn't end
 * @param {number} plan.rate calls a second that are given up, and a quarter of it that aren't
 * @param {number} plan.timeout of a call that is given up, in milliseconds @param {number} plan.seconds
 */
export async function abortCalls(dodici, { engine, origin, backend, isUpload, rate, timeout, seconds }) {
  const pool = new dodici.Pool(origin, { engine, queueTimeout: 10_000, headersTimeout: 10_000 })
  const watcher = new dodici.Client(origin, { engine: 'wire' })
  /**
   * `failed`: why calls failed that should not have; `left`: the most that the server worked at, beside the calls that somebody waited
   * for; null: unknown.
   *
   * @type {{ served: number, failed: string[], sessions: number, left: number | null }}
   */
  const tally = { served: 0, failed: [], sessions: 0, left: isUpload ? null : 0 }
  pool.on('connect', () => tally.sessions++)
  let live = 0
  /** @type {Promise<void>[]} */
  const calls = []
  const abort = async () => {
    const controller = new AbortController()
    const timer = setTimeout(() => controller.abort(), timeout)
    live++
    const { signal } = controller
    const hanging = () => new ReadableStream({ pull: () => new Promise(() => {}) })
    try {
      const response = isUpload
        ? await pool.request({ path: '/', method: 'POST', body: hanging, signal })
        : await pool.request({ path: '/hang', method: 'GET', signal })
      await response.body.dump()
      tally.failed.push(`status ${response.statusCode}`)
    } catch (error) {
      if (!signal.aborted) tally.failed.push(toReason(error))
    }
    clearTimeout(timer)
    live--
  }
  const serve = async () => {
    try {
      const response = await pool.request({ path: '/tally', method: 'GET', idempotent: false })
      await response.body.dump()
      tally.served++
    } catch (error) {
      tally.failed.push(toReason(error))
    }
  }
  const isOver = new AbortController()
  const watch = async () => {
    while (!isOver.signal.aborted && tally.left !== null) {
      const most = live
      const response = backend === 0 ? await watcher.request({ path: '/active', method: 'GET' }) : null
      const active =
        response === null ? await askOrigin(backend, '/active') : Number(await response.body.text())
      tally.left = Math.max(tally.left, active - Math.max(most, live))
      await wait(QUESTION)
    }
  }
  const watched = watch()
  const begun = performance.now()
  for (let sent = 0; performance.now() - begun < seconds * 1_000; await wait(ROUND)) {
    const due = ((performance.now() - begun) * rate) / 1_000
    for (; sent < due; sent++) {
      calls.push(abort())
      if (sent % 4 === 0) calls.push(serve())
    }
  }
  await Promise.all(calls)
  isOver.abort()
  await watched
  await Promise.all([pool.destroy(), watcher.destroy()])
  return tally
}

/** @param {unknown} error */
function toReason(error) {
  const { code, http2ErrorCode } = /** @type {{ code?: string, http2ErrorCode?: number | null }} */ (error)
  return `${code}${http2ErrorCode == null ? '' : ` ${http2ErrorCode}`}`
}
