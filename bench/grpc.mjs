// CPU time of gRPC calls in this process: grpc-js' own channels beside those of dodici/grpc-js, interleaved; and the cold start and memory of a
// process that has one of them. The server is a process of its own.
// Run as: npm run bench:grpc -- [rounds]
import { execFileSync, spawn } from 'node:child_process'
import { once } from 'node:events'
import { createInterface } from 'node:readline'
import { fileURLToPath } from 'node:url'
import * as grpc from '@grpc/grpc-js'
import { cpuOf, inTurns } from './turns.mjs'

// By its URL: the types of a build aren't there before it is.
/** @type {{ channelFactory(options: object): import('@grpc/grpc-js').ClientOptions['channelFactoryOverride'] }} */
const { channelFactory } = await import(new URL('../dist/grpc-js.js', import.meta.url).href)

const rounds = Number(process.argv[2] ?? 6)
const MESSAGE = Buffer.alloc(100, 'x')
/** Messages of a stream, and of one side of a dialogue. */
const MESSAGES = 100
const TURNS = 50

const script = fileURLToPath(new URL('../test/interop/children/grpc-js-server.mjs', import.meta.url))
const server = spawn(process.execPath, [script], { stdio: ['ignore', 'pipe', 'inherit'] })
const [line] = await once(createInterface({ input: server.stdout }), 'line')
const port = line.split(' ')[1]
const target = `127.0.0.1:${port}`

/** @param {Buffer} bytes */
const same = (bytes) => bytes

/** @param {import('dodici').EngineName | null} engine null: grpc-js itself */
function toClient(engine) {
  /** @type {grpc.ClientOptions} */
  const options = engine === null ? {} : { channelFactoryOverride: channelFactory({ grpc, engine }) }
  return new grpc.Client(target, grpc.credentials.createInsecure(), options)
}

const CLIENTS = { 'grpc-js': toClient(null), node: toClient('node'), wire: toClient('wire') }

/** @typedef {(client: grpc.Client) => Promise<unknown>} Play */

/** @type {Play} */
const unary = (client) =>
  new Promise((resolve, reject) => {
    client.makeUnaryRequest('/dodici.Test/Echo', same, same, MESSAGE, (error, value) =>
      error ? reject(error) : resolve(value),
    )
  })

/** @type {Play} */
const fromServer = (client) =>
  new Promise((resolve, reject) => {
    const request = Buffer.from(JSON.stringify({ Count: MESSAGES, Size: MESSAGE.length }))
    const call = client.makeServerStreamRequest('/dodici.Test/Expand', same, same, request)
    call.resume().on('end', resolve).on('error', reject)
  })

/** @type {Play} */
const toServer = (client) =>
  new Promise((resolve, reject) => {
    const call = client.makeClientStreamRequest('/dodici.Test/Collect', same, same, (error, value) =>
      error ? reject(error) : resolve(value),
    )
    for (let sent = 0; sent < MESSAGES; sent++) call.write(MESSAGE)
    call.end()
  })

/** @type {Play} */
const dialogue = (client) =>
  new Promise((resolve, reject) => {
    const call = client.makeBidiStreamRequest('/dodici.Test/Chat', same, same)
    let turns = 0
    call.on('data', () => {
      if (++turns < TURNS) call.write(MESSAGE)
      else call.end()
    })
    call.on('end', resolve).on('error', reject)
    call.write(MESSAGE)
  })

/** @type {readonly (readonly [name: string, play: Play, calls: number, atOnce: number])[]} */
const PLAYS = [
  ['unary', unary, 1_500, 50],
  ['stream from the server', fromServer, 100, 5],
  ['stream to the server', toServer, 100, 5],
  ['to and fro', dialogue, 60, 5],
]

/** @type {Record<string, Record<string, number>>} */
const table = {}
for (const [name, play, calls, atOnce] of PLAYS) {
  const figures = await inTurns(Object.values(CLIENTS), { warmup: 0, rounds }, (client) =>
    cpuOf(() => play(client), calls, atOnce),
  )
  const lowest = figures.map((own) => Math.round(Math.min(...own)))
  table[name] = Object.fromEntries(Object.keys(CLIENTS).map((client, index) => [client, lowest[index]]))
}
for (const row of Object.values(table)) {
  const own = row['grpc-js'] ?? Number.NaN
  row['node : grpc-js'] = Math.round(((row.node ?? 0) / own) * 100) / 100
  row['wire : grpc-js'] = Math.round(((row.wire ?? 0) / own) * 100) / 100
}
console.table(table)

/** @param {number} value */
const toTenths = (value) => Math.round(value * 10) / 10

/** @type {Record<string, Record<string, number>>} */
const alone = {}
const lonely = fileURLToPath(new URL('grpc/alone.mjs', import.meta.url))
for (let round = 0; round < rounds; round++) {
  for (const name of Object.keys(CLIENTS)) {
    const out = execFileSync(process.execPath, [lonely, name, port], { encoding: 'utf8' })
    /** @type {{ firstResponse: number, cpu: number, memory: number }} */
    const { firstResponse, cpu, memory } = JSON.parse(out)
    const best = alone[name] ?? {}
    alone[name] = best
    for (const [what, value] of Object.entries({
      'ms to the first response': firstResponse,
      'CPU ms until then': cpu,
      'MiB after 5,000 calls': memory,
    }))
      best[what] = Math.min(best[what] ?? Number.POSITIVE_INFINITY, toTenths(value))
  }
}
console.table(alone)
for (const client of Object.values(CLIENTS)) client.close()
server.kill()
