/**
 * `node:cluster` processes that share an HTTP/1.1 port, and forward requests to an HTTP/2 server.
 *
 *     node examples/cluster/cluster.mjs
 */

// @ts-check

import cluster from 'node:cluster'
import { once } from 'node:events'
import { createServer, request } from 'node:http'
import { createServer as createUpstream } from 'node:http2'
import { pipeline } from 'node:stream/promises'
import { Client } from 'dodici'

/** @typedef {import('node:net').AddressInfo} AddressInfo */

const PROCESSES = 2

if (cluster.isPrimary) await main()
else serve(process.env.UPSTREAM ?? '')

/** What each process does. @param {string} upstream */
function serve(upstream) {
  // Each process has its own connections to the upstream.
  const client = new Client(upstream)
  const server = createServer(async (incoming, outgoing) => {
    // The client of the front has gone: so does the request to the upstream.
    const gone = new AbortController()
    outgoing.on('close', () => gone.abort())
    try {
      const { statusCode, body } = await client.request({
        path: incoming.url ?? '/',
        method: incoming.method ?? 'GET',
        body: incoming.method === 'POST' ? incoming : null,
        signal: gone.signal,
      })
      outgoing.writeHead(statusCode, { 'x-process': process.pid })
      await pipeline(body, outgoing)
    } catch {
      if (outgoing.headersSent) outgoing.destroy()
      else outgoing.writeHead(502).end()
    }
  })
  server.listen(0, '127.0.0.1')
  // disconnect() closes the server when its requests are done. The idle connection to the upstream doesn't keep the
  // process alive, so it ends then.
}

/**
 * Sends a request to the front, over its own connection.
 *
 * @param {number} port
 * @param {string} path
 * @returns {Promise<import('node:http').IncomingMessage>}
 */
async function ask(port, path) {
  const sent = request({ host: '127.0.0.1', port, path, agent: false }).end()
  const [response] = await once(sent, 'response')
  return response
}

async function main() {
  const upstream = createUpstream()
  upstream.on('stream', (/** @type {import('node:http2').ServerHttp2Stream} */ stream, headers) => {
    stream.on('error', () => {})
    stream.respond({ ':status': 200 })
    if (headers[':path'] === '/first-half') stream.write('first half')
    else stream.end('hello')
  })
  upstream.listen(0, '127.0.0.1')
  await once(upstream, 'listening')
  const { port: upstreamPort } = /** @type {AddressInfo} */ (upstream.address())

  const workers = Array.from({ length: PROCESSES }, () =>
    cluster.fork({ UPSTREAM: `http://127.0.0.1:${upstreamPort}` }),
  )
  const listening = await Promise.all(workers.map((worker) => once(worker, 'listening')))
  /** @type {AddressInfo[]} */
  const [address] = listening.flat()
  const port = Number(address?.port)

  const responses = await Promise.all(Array.from({ length: 20 }, () => ask(port, '/')))
  const pids = new Set(responses.map(({ headers }) => headers['x-process']))
  console.log(`${responses.length} responses, by ${pids.size} processes`)

  // One process is killed in the middle of a response. The others go on.
  const half = await ask(port, '/first-half')
  const victim = workers.find(({ process: { pid } }) => `${pid}` === half.headers['x-process'])
  if (victim === undefined) throw new Error('The response came from none of the processes')
  const failed = once(half, 'error')
  half.resume()
  victim.process.kill('SIGKILL')
  const [[error]] = await Promise.all([failed, once(victim, 'disconnect'), once(victim, 'exit')])
  console.log(`a killed process: its response ended with ${error.code}`)
  console.log(`another process: ${(await ask(port, '/')).statusCode}`)

  // The other one ends when its requests are done.
  for (const worker of workers.filter((worker) => worker !== victim)) {
    worker.disconnect()
    const [code] = await once(worker, 'exit')
    console.log(`a disconnected process: exit code ${code}`)
  }
  upstream.close()
}
