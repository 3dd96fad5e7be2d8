/** What a call of connect-es costs: over dodici/connect on both engines, and over the transport of connect-node. */
import { fileURLToPath } from 'node:url'
import { create, toBinary } from '@bufbuild/protobuf'
import { fileDesc, serviceDesc } from '@bufbuild/protobuf/codegenv2'
import { FileDescriptorProtoSchema, file_google_protobuf_wrappers } from '@bufbuild/protobuf/wkt'
import { createClient } from '@connectrpc/connect'
import { createGrpcTransport, Http2SessionManager } from '@connectrpc/connect-node'
import { readOptions, runMain } from '../scripts/options.mjs'
import { linesOf } from '../scripts/processes.mjs'
import { start } from './e2e/children.mjs'
import { table } from './e2e/print.mjs'
import { median, pairedRatio, toRatioText } from './e2e/statistics.mjs'
import { cpuOf, inTurns } from './turns.mjs'

// By its URL: the types of a build aren't there before it is.
/** @type {{ createTransport(options: object): import('@connectrpc/connect').Transport }} */
const { createTransport } = await import(new URL('../dist/connect.js', import.meta.url).href)
/** @type {typeof import('../src/index.ts')} */
const { Client } = await import(new URL('../dist/index.js', import.meta.url).href)

const help = `Measures the CPU time of calls of connect-es over gRPC, h2c. The clients take turns in this process. Needs the build.

  node bench/connect.mjs
  --rounds N      of each client (default: 9)
  --calls N       unary calls of a round, and ten times as many as streams (default: 4000)
`

/** Calls at a time. */
const RUNNING = 32
/** Of a stream. */
const MESSAGES = 100
const BASE = 'connect-node'

/** What a generator would make of the service. */
function toService() {
  const type = '.google.protobuf.StringValue'
  const file = create(FileDescriptorProtoSchema, {
    name: 'bench.proto',
    package: 'bench',
    syntax: 'proto3',
    dependency: ['google/protobuf/wrappers.proto'],
    service: [
      {
        name: 'Bench',
        method: [
          { name: 'One', inputType: type, outputType: type },
          { name: 'Many', inputType: type, outputType: type, serverStreaming: true },
        ],
      },
    ],
  })
  const bytes = Buffer.from(toBinary(FileDescriptorProtoSchema, file))
  return serviceDesc(fileDesc(bytes.toString('base64'), [file_google_protobuf_wrappers]), 0)
}

/** @typedef {{ one(message: object): Promise<object>, many(message: object): AsyncIterable<object> }} Calls */

/** @param {string} baseUrl */
function toClients(baseUrl) {
  const service = toService()
  // The types of a service that is described at run time say nothing of its methods.
  const open = (/** @type {import('@connectrpc/connect').Transport} */ transport) =>
    /** @type {Calls} */ (/** @type {unknown} */ (createClient(service, transport)))
  const dispatchers = {
    wire: new Client(baseUrl, { engine: 'wire' }),
    node: new Client(baseUrl, { engine: 'node' }),
  }
  const sessionManager = new Http2SessionManager(baseUrl)
  const common = /** @type {const} */ ({ baseUrl, protocol: 'grpc' })
  return {
    clients: {
      'dodici/connect (wire)': open(createTransport({ ...common, dispatcher: dispatchers.wire })),
      'dodici/connect (node)': open(createTransport({ ...common, dispatcher: dispatchers.node })),
      [BASE]: open(createGrpcTransport({ baseUrl, sessionManager })),
    },
    async close() {
      sessionManager.abort()
      await Promise.all([dispatchers.wire.destroy(), dispatchers.node.destroy()])
    },
  }
}

const message = { value: 'a'.repeat(98) }

/** @type {Readonly<Record<string, { share: number, call(client: Calls): Promise<void> }>>} */
const SCENES = {
  'unary, 100 bytes': {
    share: 1,
    async call(client) {
      await client.one(message)
    },
  },
  [`server stream, ${MESSAGES} messages`]: {
    share: 0.1,
    async call(client) {
      let count = 0
      for await (const _ of client.many(message)) count++
      if (count !== MESSAGES) throw new Error(`${count} messages`)
    },
  },
}

await runMain(async () => {
  const options = readOptions(help)
  const rounds = options.count('rounds', 9)
  const calls = options.count('calls', 4_000)
  const server = start('server', process.execPath, [
    fileURLToPath(new URL('connect/server.mjs', import.meta.url)),
  ])
  const { value: port } = await linesOf(server).next()
  const { clients, close } = toClients(`http://127.0.0.1:${port}`)
  const names = Object.keys(clients)
  const rows = []
  for (const [scene, { share, call }] of Object.entries(SCENES)) {
    const size = Math.max(RUNNING, Math.round(calls * share))
    const figures = await inTurns(Object.values(clients), { warmup: 1, rounds }, (client) =>
      cpuOf(() => call(client), size, RUNNING),
    )
    const base = figures[names.indexOf(BASE)]
    for (const [index, own] of figures.entries())
      rows.push([scene, names[index], median(own).toFixed(1), toRatioText(pairedRatio(own, base))])
  }
  await close()
  server.kill()
  console.log(`CPU time of a call in microseconds, median of ${rounds} rounds; ratios with a 95 % interval\n`)
  console.log(table([['call', 'client', 'µs', `÷ ${BASE}`], ...rows]))
})
