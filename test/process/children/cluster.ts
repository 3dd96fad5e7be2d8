/** Processes of `node:cluster` that share a port, and forward to an HTTP/2 server. The test steers them by messages. */

import cluster from 'node:cluster'
import { createServer } from 'node:http'
import { pipeline } from 'node:stream/promises'
import { Client } from '../../../src/index.ts'

const [, , engine, origin = ''] = process.argv

/** Asks for one end, of the process with this id. */
interface Command {
  readonly end: 'kill' | 'disconnect'
  readonly pid: number
}

if (cluster.isPrimary) {
  const workers = [cluster.fork(), cluster.fork()]
  let ready = 0
  let ended = 0
  cluster.on('listening', (_, { port }) => {
    if (++ready === workers.length)
      process.send?.({ port, pids: workers.map((worker) => worker.process.pid) })
  })
  cluster.on('exit', (worker, code, signal) => {
    const { exitedAfterDisconnect } = worker
    const { pid } = worker.process
    const tell = (): void => {
      process.send?.({ pid, code, signal, exitedAfterDisconnect: exitedAfterDisconnect === true })
      // The channel to the test is all that is left.
      if (++ended === workers.length) process.disconnect?.()
    }
    // Until then it may still be given connections.
    if (worker.isConnected()) worker.once('disconnect', tell)
    else tell()
  })
  process.on('message', ({ end, pid }: Command) => {
    const worker = workers.find((worker) => worker.process.pid === pid)
    if (end === 'kill') worker?.process.kill('SIGKILL')
    else worker?.disconnect()
  })
} else {
  const client = new Client(origin, engine === 'wire' || engine === 'node' ? { engine } : {})
  createServer(async ({ url = '/' }, outgoing) => {
    const headers = { 'x-process': `${process.pid}` }
    const { statusCode, body } = await client.request({ path: url, method: 'GET', headers })
    outgoing.writeHead(statusCode, headers)
    await pipeline(body, outgoing)
  }).listen(0, '127.0.0.1')
}
