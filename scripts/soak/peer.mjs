/**
 * The server that does everything wrong in turn, in a process of its own: told `{ seed }` as its argument, it sends its port
 * as a message, and what it has counted for each `tally` that it is sent. It ends with whoever has started it, and ends that
 * one when it hangs: node:http2 can spin or crash natively, and then nothing of the soak's own could tell.
 */
import { createServer } from 'node:net'
import { Connection } from './connection.mjs'
import { makeRandom } from './random.mjs'

const { seed } = JSON.parse(process.argv[2] ?? '{}')
const random = makeRandom(seed)

/** @type {import('./connection.mjs').Tally} */
const tally = { faults: {}, touched: new Map(), violations: [], connections: 0, streams: 0 }

const server = createServer((socket) => new Connection(socket, random, tally))
server.listen(0, '127.0.0.1', () => {
  const address = server.address()
  if (address === null || typeof address === 'string') throw new Error('no port')
  process.send?.({ port: address.port })
})

/** Milliseconds without a sign of life, after which the soak hangs where no timer of its own can tell. */
const HANGS = 60_000

/** Process ids that end with the soak, if it ends without having had the time to see to it. @type {number[]} */
let wards = []
/** @type {NodeJS.Timeout | null} */
let alarm = null

function endWards() {
  for (const pid of wards) {
    try {
      process.kill(pid, 'SIGKILL')
    } catch {
      // It has ended before.
    }
  }
}

function onHang() {
  process.stderr.write(`WRONG: the soak's event loop has stood still for ${HANGS / 1_000} s; it is killed\n`)
  process.kill(process.ppid, 'SIGKILL')
}

process.on('message', (/** @type {{ wards: number[] } | 'tally'} */ message) => {
  if (message !== 'tally') {
    wards = message.wards
    if (alarm !== null) clearTimeout(alarm)
    alarm = setTimeout(onHang, HANGS)
    return
  }
  const { faults, touched, violations, connections, streams } = tally
  process.send?.({ faults, violations, connections, streams, posts: touched.size })
})
process.on('disconnect', () => {
  endWards()
  process.exit()
})
