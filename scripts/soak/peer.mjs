/**
 * The server that does everything wrong in turn, in a process of its own. Its argument is `{ seed }`. It sends its port
 * as a message, and its counts for each message `tally`.
 */
import { createServer } from 'node:net'
import { makeRandom } from '../random.mjs'
import { Connection } from './connection.mjs'
import { serveParent } from './ward.mjs'

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

serveParent(() => {
  const { faults, touched, violations, connections, streams } = tally
  return { faults, violations, connections, streams, posts: touched.size }
})
