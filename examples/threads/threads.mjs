/**
 * Worker threads that send requests to one HTTP/2 server, each with its own dispatcher.
 *
 *     node examples/threads/threads.mjs
 */

// @ts-check

import { once } from 'node:events'
import { createServer } from 'node:http2'
import { isMainThread, parentPort, Worker, workerData } from 'node:worker_threads'
import { Client } from 'dodici'

const REQUESTS = 100

/** @typedef {{ readonly origin: string, readonly kind: 'squares' | 'silence' }} Task */

if (isMainThread) await main()
else await work(workerData)

/** What a thread does. @param {Task} task */
async function work({ origin, kind }) {
  // A dispatcher stays in the thread that made it: it can't be posted to another one.
  const client = new Client(origin)
  const squares = await Promise.all(
    Array.from({ length: REQUESTS }, async (_, number) => {
      const { body } = await client.request({ path: `/${kind}/${number}`, method: 'GET' })
      return Number(await body.text())
    }),
  )
  parentPort?.postMessage(squares.reduce((sum, square) => sum + square, 0))
  // The connection is open and idle. It doesn't keep the thread alive, so there is nothing to close.
}

/** Starts a thread of this very file. @param {Task} task */
function start(task) {
  return new Worker(new URL(import.meta.url), { workerData: task })
}

async function main() {
  let unfinished = 0
  const server = createServer()
  server.on('stream', (/** @type {import('node:http2').ServerHttp2Stream} */ stream, headers) => {
    stream.on('error', () => {})
    const [, kind, number] = String(headers[':path']).split('/')
    if (kind === 'squares') {
      stream.respond({ ':status': 200 })
      stream.end(`${Number(number) ** 2}`)
    } else if (++unfinished === REQUESTS) server.emit('full', stream.session)
  })
  server.listen(0, '127.0.0.1')
  await once(server, 'listening')
  const origin = `http://127.0.0.1:${/** @type {import('node:net').AddressInfo} */ (server.address()).port}`

  // Threads that end by themselves.
  const sums = await Promise.all(
    [1, 2].map(async () => {
      const thread = start({ origin, kind: 'squares' })
      const [[sum], [code]] = await Promise.all([once(thread, 'message'), once(thread, 'exit')])
      return `its ${REQUESTS} squares add up to ${sum}, exit code ${code}`
    }),
  )
  for (const sum of sums) console.log(`a thread: ${sum}`)

  // A thread that is terminated in the middle of its requests. The server sees a connection that closes.
  const full = once(server, 'full')
  const thread = start({ origin, kind: 'silence' })
  const [session] = await full
  // Not once(): a connection that is cut off may also end with an error.
  const closed = new Promise((resolve) => session.on('close', resolve))
  await Promise.all([thread.terminate(), closed])
  console.log(`a terminated thread: its connection closed, with ${unfinished} requests on it`)

  server.close()
}
