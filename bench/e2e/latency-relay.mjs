/**
 * A relay that hands on each byte a fixed time after it came, in order, both ways: emulated distance, and nothing else.
 * It bounds no rate and holds no connection back. Writes `listening PORT` when it is ready, and ends when its standard
 * input does, which also happens when the process that started it dies.
 */
import { connect, createServer } from 'node:net'
import { portOf } from '../../scripts/processes.mjs'

/** @type {{ port: number, delay: number }} port: where to; delay: milliseconds, one way */
const { port, delay } = JSON.parse(process.argv[2] ?? '{}')

/** Timers are late by as much on the average: what is due so soon, in milliseconds, may leave. */
const SLACK = 0.75

/** One direction of one connection. Neither side is ever paused: what waits is bounded by HTTP/2's own windows. @param {import('node:net').Socket} from @param {import('node:net').Socket} to */
function pass(from, to) {
  /** What is on its way, and when it is there; null is the end. @type {{ at: number, bytes: Buffer | null }[]} */
  let waiting = []
  /** @type {NodeJS.Timeout | null} */
  let timer = null

  function deliver() {
    const now = performance.now()
    const next = waiting.findIndex(({ at }) => at > now + SLACK)
    const due = waiting.splice(0, next === -1 ? waiting.length : next)
    // One write to the socket for all that is there by now.
    to.cork()
    for (const { bytes } of due) {
      if (bytes === null) to.end()
      else if (to.writable) to.write(bytes)
    }
    to.uncork()
    timer = waiting.length === 0 ? null : setTimeout(deliver, waiting[0].at - now - SLACK)
  }

  const take = (/** @type {Buffer | null} */ bytes) => {
    waiting.push({ at: performance.now() + delay, bytes })
    timer ??= setTimeout(deliver, delay - SLACK)
  }
  from.on('data', take)
  from.on('end', () => take(null))
  from.on('error', () => {})
  from.on('close', () => {
    if (from.readableEnded) return
    if (timer !== null) clearTimeout(timer)
    waiting = []
    to.destroy()
  })
}

const options = { noDelay: true, allowHalfOpen: true }
const server = createServer(options, (near) => {
  const far = connect({ port, host: '127.0.0.1', ...options })
  pass(near, far)
  pass(far, near)
})
server.listen(0, '127.0.0.1', () => {
  process.stdout.write(`listening ${portOf(server)}\n`)
})

process.stdin.on('end', () => process.exit())
process.stdin.resume()
