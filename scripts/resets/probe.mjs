/** Resets streams of one connection until the server ends it: a client without any budget. */
import { connect } from 'node:net'
import { loadModules } from '../support.mjs'

const { FrameParser, Setting, Type, Flag, frames, PREFACE, toSettings } =
  /** @type {typeof import('../../src/testing/frames.ts')} */ (
    await loadModules(`export * from '../src/testing/frames.ts'`)
  )
const CANCEL = 8
/** How long an ACK may take. Milliseconds. */
const PATIENCE = 10_000

/**
 * @param {number} port @param {string} path @param {object} plan @param {number} plan.total resets
 * @param {number} plan.batch streams that are open at once, at most
 * @param {boolean} plan.isUpload whether the requests have a body that doesn't end
 * @returns {Promise<{ resets: number, end: string | null }>} how many the server took, and what it said at its end; null: it didn't end
 */
export async function probe(port, path, { total, batch, isUpload }) {
  const socket = connect(port, '127.0.0.1').setNoDelay(true)
  /** @type {string | null} */
  let end = null
  /** @type {number | null} */
  let limit = null
  /** @type {((isAlive: boolean) => void) | null} */
  let onAck = null
  const over = (/** @type {string} */ reason) => {
    end ??= reason
    onAck?.(false)
  }
  socket.on('error', (error) => over(error.message))
  socket.on('close', () => over('closed'))
  const parser = new FrameParser((frame) => {
    const { type, flags, payload } = frame
    if (type === Type.SETTINGS && flags === 0) {
      limit = new Map(toSettings(frame)).get(Setting.MAX_CONCURRENT_STREAMS) ?? limit
      socket.write(frames.settingsAck())
    } else if (type === Type.PING && flags === Flag.ACK) onAck?.(true)
    else if (type === Type.GOAWAY)
      over(`GOAWAY ${payload.readUInt32BE(4)} ${payload.toString('latin1', 8)}`.trim())
  }, 'server')
  socket.on('data', (/** @type {Buffer} */ chunk) => parser.push(chunk))
  const acknowledged = async (/** @type {Buffer[]} */ sent) => {
    if (end !== null) return false
    socket.write(Buffer.concat([...sent, frames.ping()]))
    const timer = setTimeout(() => over('silence'), PATIENCE)
    const isAlive = await new Promise((resolve) => (onAck = resolve))
    onAck = null
    clearTimeout(timer)
    return isAlive
  }
  await acknowledged([Buffer.from(PREFACE), frames.settings(), frames.windowUpdate(0, 2 ** 30)])
  const lastFlag = isUpload ? 0 : Flag.END_STREAM
  /** @type {[string, string][]} */
  const fields = [
    [':method', isUpload ? 'POST' : 'GET'],
    [':scheme', 'http'],
    [':path', path],
    [':authority', 'localhost'],
  ]
  let resets = 0
  for (let id = 1; resets < total && end === null; ) {
    const size = Math.min(batch, limit ?? batch, total - resets)
    const ids = Array.from({ length: size }, (_, i) => id + 2 * i)
    id += 2 * size
    if (!(await acknowledged(ids.map((each) => frames.headers(each, fields, lastFlag))))) break
    // One by one, so that the verdict says how many.
    for (const each of ids) {
      if (!(await acknowledged([frames.reset(each, CANCEL)]))) break
      resets++
    }
  }
  socket.destroy()
  return { resets, end }
}
