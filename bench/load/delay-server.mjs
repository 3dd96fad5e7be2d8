/**
 * Responds to each request after so many milliseconds, and measures by itself how long that took. It writes its port, and
 * at the end of its input the percentiles of what it has measured as JSON.
 */
import { createServer } from 'node:http2'
import { portOf } from '../../scripts/processes.mjs'
import { percentile } from '../e2e/load.mjs'

/** @type {{ delay: number }} */
const { delay } = JSON.parse(process.argv[2] ?? '{}')
/** @type {number[]} */
const taken = []

const server = createServer()
server.on('stream', (/** @type {import('node:http2').ServerHttp2Stream} */ stream) => {
  const begun = performance.now()
  setTimeout(() => {
    // A client that ends its run leaves with requests in flight.
    if (stream.destroyed) return
    taken.push(performance.now() - begun)
    stream.respond({ ':status': 200 })
    stream.end('x')
  }, delay)
})
server.listen(0, '127.0.0.1', () => {
  process.stdout.write(`listening ${portOf(server)}\n`)
})
process.stdin.resume()
process.stdin.on('end', () => {
  const times = Float64Array.from(taken)
  const [p50, p99] = [0.5, 0.99].map((share) => percentile(times, share))
  process.stdout.write(`${JSON.stringify({ p50, p99 })}\n`, () => process.exit())
})
