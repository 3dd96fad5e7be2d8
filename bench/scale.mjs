/**
 * Memory at scale: of a process that sends a million requests, and of each of a thousand connections.
 */
import { fileURLToPath } from 'node:url'
import { parseArgs } from 'node:util'
import { clients, floorClient, referenceClient } from './e2e/clients/index.mjs'
import { defaultServer, runMain, toCount, toNames, UsageError } from './e2e/options.mjs'
import { table } from './e2e/print.mjs'
import { scenarioNamed } from './e2e/scenarios.mjs'
import { startServer } from './e2e/servers.mjs'
import { median } from './e2e/statistics.mjs'
import { runWorker, toClientJob, toRows } from './job.mjs'

const usage = `Shows memory at scale: heap and RSS every 100,000 of a million requests, and what each of a thousand connections takes. Needs the build.

  node bench/scale.mjs
  --what A,B        requests, connections (default: both)
  --requests N      (default: 1000000)
  --step N          requests between two looks (default: 100000)
  --connections N   to as many origins, from 2 up (default: 1000)
  --rounds N        processes of each client that open connections (default: 3)
  --clients A,B     (default: dodici-wire, dodici, undici, node-http2)
  --api NAME        (default: request)
  --node FILE       the Node that runs the clients (default: this one)
`

const worker = fileURLToPath(new URL('scale/worker.mjs', import.meta.url))

/** @typedef {import('./scale/worker.mjs').Sample} Sample */

function readOptions() {
  const text = /** @type {const} */ ({ type: 'string' })
  try {
    return parseArgs({
      options: {
        ...{ what: text, requests: text, step: text, connections: text, rounds: text },
        ...{ clients: text, api: text, node: text, help: { type: 'boolean', default: false } },
      },
    }).values
  } catch (error) {
    throw new UsageError(error instanceof Error ? error.message : String(error))
  }
}

const WHAT = ['requests', 'connections']

/** @param {ReturnType<typeof readOptions>} values */
async function toOptions(values) {
  const scenario = scenarioNamed('get-1k')
  const connections = toCount('connections', values.connections) ?? 1000
  if (connections < 2) throw new UsageError('--connections must be 2 or more')
  const names = toNames('clients', values.clients, Object.keys(clients))
  const node = values.node ?? process.execPath
  const [api = 'request'] = toNames('api', values.api, scenario.apis) ?? []
  return {
    what: toNames('what', values.what, WHAT) ?? WHAT,
    requests: toCount('requests', values.requests) ?? 1_000_000,
    step: toCount('step', values.step) ?? 100_000,
    connections,
    rounds: toCount('rounds', values.rounds) ?? 3,
    rows: await toRows(names ?? ['dodici-wire', 'dodici', 'undici', 'node-http2'], [api], scenario, node),
    node,
    scenario,
  }
}

/** These adapters open their connections at once: none is left to be counted. @type {readonly string[]} */
const AT_ONCE = [referenceClient, floorClient]

/** @typedef {Awaited<ReturnType<typeof toOptions>>} Options */

/** @param {number} bytes */
const toMebibytes = (bytes) => (bytes / 2 ** 20).toFixed(1)
/** @param {number} bytes */
const toKibibytes = (bytes) => (bytes / 2 ** 10).toFixed(1)

/** @param {Options} options */
async function showRequests({ requests, step, rows, node, scenario }) {
  const server = await startServer(scenario, { kind: defaultServer, node })
  try {
    for (const row of rows) {
      process.stderr.write(`requests: ${row.label}\n`)
      const { responseBytes, inFlight } = scenario
      const job = {
        ...toClientJob(row, scenario, server),
        what: 'requests',
        responseBytes,
        inFlight,
        requests,
        step,
      }
      const run = { node, script: worker, job, timeout: 60_000 + requests, flags: ['--expose-gc'] }
      const samples = /** @type {Sample[]} */ (await runWorker(run))
      const lines = samples.map((sample, index) => [
        index === samples.length - 1 ? 'collected' : `${sample.requests}`,
        '',
        ...[sample.heap, sample.external, sample.resident, sample.young, sample.old].map(toMebibytes),
      ])
      console.log(`${row.label}, ${row.api}, ${inFlight} in flight on one connection; MiB\n`)
      console.log(
        `${table([['requests', '', 'heap', 'external', 'RSS', 'young space', 'other spaces'], ...lines])}\n`,
      )
    }
  } finally {
    await server.stop()
  }
}

/** @param {Options} options */
async function showConnections({ connections, rounds, rows: all, node, scenario }) {
  const rows = all.filter(({ client }) => !AT_ONCE.includes(client))
  for (const { client, label } of all)
    if (AT_ONCE.includes(client))
      console.log(`Left out of connections: ${label}, which opens all of them before its first request.`)
  if (rows.length === 0) return
  const many = { ...scenario, origins: connections }
  // A tenth of them compiles the code.
  const warm = Math.max(1, Math.floor(connections / 10))
  const measured = rows.map((row) => ({ ...row, rounds: /** @type {Sample[][]} */ ([]) }))
  const server = await startServer(many, { kind: 'node', node })
  try {
    for (let round = 0; round < rounds; round++) {
      process.stderr.write(`connections: round ${round + 1} of ${rounds}\n`)
      for (const row of round % 2 === 0 ? measured : measured.toReversed()) {
        const { responseBytes, inFlight } = many
        const job = {
          ...toClientJob(row, many, server),
          what: 'connections',
          responseBytes,
          inFlight,
          warm,
        }
        const run = { node, script: worker, job, timeout: 120_000, flags: ['--expose-gc'] }
        row.rounds.push(/** @type {Sample[]} */ (await runWorker(run)))
      }
    }
  } finally {
    await server.stop()
  }
  const lines = measured.map(({ label, api, rounds: all }) => {
    const cells = /** @type {const} */ (['heap', 'external', 'resident']).map((key) => {
      const grown = all.map(([before, after]) => (after?.[key] ?? Number.NaN) - (before?.[key] ?? Number.NaN))
      return toKibibytes(median(grown) / (connections - warm))
    })
    return [label, api, ...cells]
  })
  console.log(
    `${connections - warm} idle connections after a request on each; KiB a connection, median of ${rounds} processes\n`,
  )
  console.log(`${table([['client', 'API', 'heap', 'external', 'RSS'], ...lines])}\n`)
}

async function main() {
  const values = readOptions()
  if (values.help) {
    process.stdout.write(usage)
    return
  }
  const options = await toOptions(values)
  if (options.what.includes('requests')) await showRequests(options)
  if (options.what.includes('connections')) await showConnections(options)
}

await runMain(main)
