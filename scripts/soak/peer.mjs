/**
 * The server that does everything wrong in turn, in a process of its own. Its argument is `{ seed }`. It sends its port
 * as a message, and its counts for each message `tally`. It ends with its parent process. It also ends the parent when
 * that hangs: node:http2 can spin or crash natively, and then no timer of the soak could report it.
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

/** After so many milliseconds without a message, the soak hangs, and no timer of its own can report it. */
const HANGS = 60_000

/** Processes to end with the soak, if it could not end them itself. @type {number[]} */
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
