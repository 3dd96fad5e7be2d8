/** Memory at scale: of a process that sends a million requests, and of each of a thousand connections. */
import { readOptions, runMain, UsageError } from '../scripts/options.mjs'
import { floorClient, referenceClient } from './e2e/clients/index.mjs'
import { playRounds, runWorker, toClientJob, toRows } from './e2e/plans.mjs'
import { table } from './e2e/print.mjs'
import { scenarioNamed } from './e2e/scenarios.mjs'
import { defaultServer, startServer } from './e2e/servers.mjs'
import { median } from './e2e/statistics.mjs'

/** @typedef {import('./scale/worker.mjs').Sample} Sample */

const help = `Shows memory at scale: heap and RSS every 100,000 of a million requests, and what each of a thousand connections takes. Needs the build.

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

const WHAT = ['requests', 'connections']
/** These adapters open their connections at once: none is left to be counted. @type {readonly string[]} */
const AT_ONCE = [referenceClient, floorClient]
const scenario = scenarioNamed('get-1k')

async function toSetting() {
  const options = readOptions(help)
  const what = options.names('what', WHAT) ?? WHAT
  const connections = options.count('connections', 1000)
  if (connections < 2) throw new UsageError('--connections must be 2 or more')
  const node = options.text('node') ?? process.execPath
  const apis = options.names('api', scenario.apis) ?? ['request']
  return {
    ...{ what, connections, node },
    requests: options.count('requests', 1_000_000),
    step: options.count('step', 100_000),
    rounds: options.count('rounds', 3),
    rows: await toRows(
      options,
      ['dodici-wire', 'dodici', 'undici', 'node-http2'],
      apis.slice(0, 1),
      scenario,
      node,
    ),
  }
}

/** @typedef {Awaited<ReturnType<typeof toSetting>>} Setting */

/** @param {object} job @param {string} node @param {number} timeout @returns {Promise<Sample[]>} */
const look = (job, node, timeout) =>
  runWorker({ node, script: 'scale/worker.mjs', job, timeout, flags: ['--expose-gc'] })

/** @param {Setting} setting */
async function showRequests({ requests, step, rows, node }) {
  const server = await startServer(scenario, { kind: defaultServer, node })
  const mebibytes = (/** @type {number} */ bytes) => (bytes / 2 ** 20).toFixed(1)
  for (const row of rows) {
    process.stderr.write(`requests: ${row.label}\n`)
    const job = { ...toClientJob(row, scenario, server), what: 'requests', requests, step }
    const samples = await look(job, node, 60_000 + requests)
    const lines = samples.map(({ requests: sent, heap, external, resident, young, old }, index) => {
      const when = index === samples.length - 1 ? 'collected' : `${sent}`
      return [when, '', ...[heap, external, resident, young, old].map(mebibytes)]
    })
    console.log(`${row.label}, ${row.api}, ${scenario.inFlight} in flight on one connection; MiB\n`)
    const head = ['requests', '', 'heap', 'external', 'RSS', 'young space', 'other spaces']
    console.log(`${table([head, ...lines])}\n`)
  }
  await server.stop()
}

/** @param {Setting} setting */
async function showConnections({ connections, rounds, rows: all, node }) {
  const rows = all.filter(({ client }) => !AT_ONCE.includes(client))
  for (const { label } of all.filter(({ client }) => AT_ONCE.includes(client)))
    console.log(`Left out of connections: ${label}, which opens all of them before its first request.`)
  if (rows.length === 0) return
  const many = { ...scenario, origins: connections }
  // A tenth of them compiles the code.
  const warm = Math.max(1, Math.floor(connections / 10))
  const measured = rows.map((row) => ({ ...row, rounds: /** @type {Sample[][]} */ ([]) }))
  const server = await startServer(many, { kind: 'node', node })
  const play = async (/** @type {typeof measured[number]} */ row) => {
    const job = { ...toClientJob(row, many, server), what: 'connections', warm }
    row.rounds.push(await look(job, node, 120_000))
  }
  await playRounds(rounds, measured, play, 'connections: ')
  await server.stop()
  const lines = measured.map(({ label, api, rounds: own }) => {
    const cells = /** @type {const} */ (['heap', 'external', 'resident']).map((key) => {
      const grown = median(own.map(([before, after]) => after[key] - before[key])) / (connections - warm)
      return (grown / 2 ** 10).toFixed(1)
    })
    return [label, api, ...cells]
  })
  console.log(
    `${connections - warm} idle connections after a request on each; KiB a connection, median of ${rounds} processes\n`,
  )
  console.log(`${table([['client', 'API', 'heap', 'external', 'RSS'], ...lines])}\n`)
}

await runMain(async () => {
  const setting = await toSetting()
  if (setting.what.includes('requests')) await showRequests(setting)
  if (setting.what.includes('connections')) await showConnections(setting)
})
