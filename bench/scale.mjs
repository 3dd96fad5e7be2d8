/** At scale: memory of a process that sends a million requests, of each of a thousand connections, and of each of ten thousand streams. */
import { readOptions, runMain } from '../scripts/options.mjs'
import { stop } from '../scripts/processes.mjs'
import { flagsOf } from './e2e/children.mjs'
import {
  floorClient,
  hpackFloorClient,
  ownClients,
  peerClient,
  referenceClient,
} from './e2e/clients/index.mjs'
import { playRounds, runWorker, toClientJob, toRows } from './e2e/plans.mjs'
import { table } from './e2e/print.mjs'
import { scenarioNamed } from './e2e/scenarios.mjs'
import { defaultServer, startScript, startServer } from './e2e/servers.mjs'
import { median } from './e2e/statistics.mjs'

/** @typedef {import('./scale/worker.mjs').Sample} Sample */
/** @typedef {import('./scale/memory.mjs').Memory} Memory */

const help = `Shows memory at scale: heap and RSS every 100,000 of a million requests, what each of a thousand connections takes, and what each of ten
thousand open event streams does, with the CPU time of an event. Needs the build.

  node bench/scale.mjs
  --what A,B        requests, connections, streams (default: all)
  --requests N      (default: 1000000)
  --step N          requests between two looks (default: 100000)
  --connections N   to as many origins, from 2 up (default: 1000); those of streams are to one origin (default: 100)
  --streams N       open at once, as many on each connection (default: 10000)
  --events N        that each connection gets, on one stream after the other (default: 100)
  --rounds N        processes of each client that open connections or streams (default: 3)
  --clients A,B     (default: dodici-wire, dodici, undici, node-http2)
  --api NAME        of requests and of connections (default: request)
  --node FILE       the Node that runs the clients (default: this one)
`

const WHAT = ['requests', 'connections', 'streams']
/** These adapters open their connections at once: none is left to be counted. @type {readonly string[]} */
const AT_ONCE = [referenceClient, floorClient, hpackFloorClient]
/** Who opens event streams. @type {readonly string[]} */
const STREAMING = [...Object.values(ownClients), peerClient, referenceClient]
const scenario = scenarioNamed('get-1k')

async function toSetting() {
  const options = readOptions(help)
  const what = options.names('what', WHAT) ?? WHAT
  const connections = options.count('connections', undefined, 2)
  const node = options.text('node') ?? process.execPath
  const apis = options.names('api', scenario.apis) ?? ['request']
  return {
    ...{ what, connections, node },
    streams: options.count('streams', 10_000, 2),
    events: options.count('events', 100),
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

/** @param {{ client: string }} job @param {'worker' | 'streams'} script @param {string} node @param {number} timeout */
const run = (job, script, node, timeout) =>
  runWorker({
    node,
    script: `scale/${script}.mjs`,
    job,
    timeout,
    flags: ['--expose-gc', ...flagsOf(job.client)],
  })

/** @param {Setting} setting */
async function showRequests({ requests, step, rows, node }) {
  const server = await startServer(scenario, { kind: defaultServer, node })
  const mebibytes = (/** @type {number} */ bytes) => (bytes / 2 ** 20).toFixed(1)
  for (const row of rows) {
    process.stderr.write(`requests: ${row.label}\n`)
    const job = { ...toClientJob(row, scenario, server), what: 'requests', requests, step }
    /** @type {Sample[]} */
    const samples = await run(job, 'worker', node, 60_000 + requests)
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

/** @param {readonly (readonly Memory[])[]} rounds before and after @param {number} count @returns {string[]} KiB for each */
const toGrowth = (rounds, count) =>
  /** @type {const} */ (['heap', 'external', 'resident']).map((key) => {
    const grown = median(rounds.map(([before, after]) => after[key] - before[key]))
    return (grown / count / 2 ** 10).toFixed(1)
  })

/** @param {Setting} setting */
async function showConnections({ connections = 1000, rounds, rows: all, node }) {
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
    row.rounds.push(await run(job, 'worker', node, 120_000))
  }
  await playRounds(rounds, measured, play, 'connections: ')
  await server.stop()
  const lines = measured.map(({ label, api, rounds: own }) => [
    label,
    api,
    ...toGrowth(own, connections - warm),
  ])
  console.log(
    `${connections - warm} idle connections after a request on each; KiB a connection, median of ${rounds} processes\n`,
  )
  console.log(`${table([['client', 'API', 'heap', 'external', 'RSS'], ...lines])}\n`)
}

const COMMENT = ':\n\n'
const EVENT = `data: ${'x'.repeat(92)}\n\n`

/** @param {Setting} setting */
async function showStreams({ connections = 100, streams: wanted, events, rounds, rows: all, node }) {
  const rows = all.filter(({ client }) => STREAMING.includes(client))
  for (const { client, label } of all)
    if (!STREAMING.includes(client)) console.log(`Left out of streams: ${label}, which opens none.`)
  const maxStreams = Math.ceil(wanted / connections)
  const streams = maxStreams * connections
  // A tenth of them compiles the code.
  const warm = Math.ceil(streams / 10)
  const measured = rows.map((row) => ({
    ...row,
    rounds: /** @type {import('./scale/streams.mjs').Streams[]} */ ([]),
  }))
  const play = async (/** @type {typeof measured[number]} */ row) => {
    const options = { maxStreams, comment: COMMENT, event: EVENT }
    const { child, ports } = await startScript(node, '../scale/event-server.mjs', options)
    const job = {
      ...{ client: row.client, origin: `http://127.0.0.1:${ports[0]}`, control: ports[1] },
      ...{ connections, maxStreams, streams, warm, events },
      ...{ commentBytes: COMMENT.length, eventBytes: EVENT.length },
    }
    row.rounds.push(await run(job, 'streams', node, 120_000))
    await stop(child)
  }
  await playRounds(rounds, measured, play, 'streams: ')
  const lines = measured.map(({ label, rounds: own }) => [
    label,
    '',
    ...toGrowth(
      own.map(({ before, after }) => [before, after]),
      streams - warm,
    ),
    (median(own.map(({ cpuMicros }) => cpuMicros)) / (events * connections)).toFixed(1),
  ])
  console.log(
    `${streams} open event streams of request() on ${connections} connections; KiB a stream, CPU µs an event, median of ${rounds} processes\n`,
  )
  console.log(`${table([['client', '', 'heap', 'external', 'RSS', 'CPU µs'], ...lines])}\n`)
}

await runMain(async () => {
  const setting = await toSetting()
  if (setting.what.includes('requests')) await showRequests(setting)
  if (setting.what.includes('connections')) await showConnections(setting)
  if (setting.what.includes('streams')) await showStreams(setting)
})
