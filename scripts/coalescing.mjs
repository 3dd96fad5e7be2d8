/** What origins that share a connection save: `npm run coalescing -- --help`. */

import { once } from 'node:events'
import { createSecureServer } from 'node:http2'
import { startRelay } from '../bench/e2e/servers.mjs'
import { median } from '../bench/e2e/statistics.mjs'
import { makeCertificate } from './certificate.mjs'
import { readOptions, runMain } from './options.mjs'
import { portOf } from './processes.mjs'

const help = `Usage: npm run coalescing -- [options]

Gets 50 small files from 10 origins, which one server serves with one certificate, by a new Agent each time: with the option coalesce,
and without it. Prints a table in Markdown: docs/connections.md has it. The server is node:http2, in this process, behind a relay.

  --rounds N   how often each is measured, in turns (default: 15); the table has the medians
  --delay MS   how long a byte takes each way (default: 10)
`

const ORIGINS = 10
const FILES = 50
const BODY = Buffer.alloc(2_048, 'x')

/** A server of all origins, which counts its handshakes. */
async function startServer() {
  const { key, cert } = await makeCertificate('*.shared.test')
  const seen = { handshakes: 0 }
  const server = createSecureServer({ key, cert })
  server.on('secureConnection', () => seen.handshakes++)
  server.on('session', (session) => session.on('error', () => {}))
  server.on('stream', (/** @type {import('node:http2').ServerHttp2Stream} */ stream) => {
    stream.on('error', () => {})
    stream.respond({ ':status': 200 })
    stream.end(BODY)
  })
  server.listen(0, '127.0.0.1')
  await once(server, 'listening')
  return { port: portOf(server), ca: cert, seen, close: () => server.close() }
}

await runMain(async () => {
  const options = readOptions(help)
  const rounds = options.count('rounds', 15)
  /** By a constant, or tsconfig.json would lead to the sources, of which nothing is compiled here. @type {string} */
  const name = 'dodici'
  const { Agent } = await import(name)
  const { port: behind, ca, seen, close } = await startServer()
  const relay = await startRelay(process.execPath, behind, 2 * options.count('delay', 10))
  /** @type {import('node:net').LookupFunction} */
  const lookup = (_hostname, { all }, callback) => {
    if (all === true) callback(null, [{ address: '127.0.0.1', family: 4 }])
    else callback(null, '127.0.0.1', 4)
  }
  /** @param {'node' | 'wire'} engine @param {boolean} coalesce */
  const play = async (engine, coalesce) => {
    const agent = new Agent({ engine, coalesce, connect: { ca, lookup } })
    const before = seen.handshakes
    const startedAt = performance.now()
    const files = Array.from({ length: FILES }, async (_, i) => {
      const origin = `https://o${i % ORIGINS}.shared.test:${relay.port}`
      const { body } = await agent.request({ origin, path: `/${i}`, method: 'GET' })
      await body.arrayBuffer()
    })
    await Promise.all(files)
    const time = performance.now() - startedAt
    await agent.close()
    return { time, handshakes: seen.handshakes - before }
  }
  console.log('| engine | `coalesce` | handshakes | time to all 50 files |\n| --- | --- | --- | --- |')
  for (const engine of /** @type {const} */ (['node', 'wire'])) {
    /** @type {Map<boolean, { time: number, handshakes: number }[]>} */
    const results = new Map([
      [false, []],
      [true, []],
    ])
    for (const isShared of [false, true]) await play(engine, isShared)
    for (let round = 0; round < rounds; round++)
      for (const [isShared, list] of results) list.push(await play(engine, isShared))
    for (const [isShared, list] of results) {
      const time = median(list.map((one) => one.time))
      const handshakes = median(list.map((one) => one.handshakes))
      console.log(`| \`${engine}\` | \`${isShared}\` | ${handshakes} | ${time.toFixed(0)} ms |`)
    }
  }
  await relay.stop()
  close()
})
