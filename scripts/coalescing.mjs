/** What origins that share a connection save: `npm run coalescing -- --help`. */

import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { createSecureServer } from 'node:http2'
import { fileURLToPath } from 'node:url'
import { generate } from 'selfsigned'
import { readOptions, runMain } from './options.mjs'

const help = `Usage: npm run coalescing -- [options]

Gets 50 small files from 10 origins, which one server serves with one certificate, by a new Agent each time: with the option coalesce,
and without it. Prints a table in Markdown: docs/connections.md has it. The server is node:http2, in this process, behind a relay.

  --rounds N   how often each is measured, in turns (default: 15); the table has the medians
  --delay MS   how long a byte takes each way (default: 10)
`

const ORIGINS = 10
const FILES = 50
const BODY = Buffer.alloc(2_048, 'x')
const RELAY = fileURLToPath(new URL('../bench/e2e/latency-relay.mjs', import.meta.url))

/** A server of all origins, which counts its handshakes. */
async function startServer() {
  const { private: key, cert } = await generate([{ name: 'commonName', value: 'shared.test' }], {
    keyType: 'ec',
    extensions: [{ name: 'subjectAltName', altNames: [{ type: 2, value: '*.shared.test' }] }],
  })
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
  const { port } = /** @type {import('node:net').AddressInfo} */ (server.address())
  return { port, ca: cert, seen, close: () => server.close() }
}

/** @param {number} port @param {number} delay milliseconds each way */
async function startRelay(port, delay) {
  const child = spawn(process.execPath, [RELAY, JSON.stringify({ port, delay })], {
    stdio: ['pipe', 'pipe', 'inherit'],
  })
  const [line] = await once(child.stdout, 'data')
  return { port: Number(String(line).trim().split(' ').at(-1)), close: () => child.stdin.end() }
}

/** @param {number[]} values */
const toMedian = (values) => values.toSorted((a, b) => a - b)[Math.floor(values.length / 2)] ?? 0

await runMain(async () => {
  const options = readOptions(help)
  const rounds = options.count('rounds', 15)
  /** By a constant, or tsconfig.json would lead to the sources, of which nothing is compiled here. @type {string} */
  const name = 'dodici'
  const { Agent } = await import(name)
  const { port: behind, ca, seen, close } = await startServer()
  const relay = await startRelay(behind, options.count('delay', 10))
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
      const time = toMedian(list.map((one) => one.time))
      const handshakes = toMedian(list.map((one) => one.handshakes))
      console.log(`| \`${engine}\` | \`${isShared}\` | ${handshakes} | ${time.toFixed(0)} ms |`)
    }
  }
  relay.close()
  close()
})
