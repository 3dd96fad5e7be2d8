/**
 * What a process pays before it has its first response: the CPU time of `require`, and of `require` with the first request.
 */
import { fileURLToPath } from 'node:url'
import { parseArgs } from 'node:util'
import { clientNamed } from './e2e/clients/index.mjs'
import { nodeVersionOf } from './e2e/machine.mjs'
import { runMain, toCount, UsageError } from './e2e/options.mjs'
import { isOlder } from './e2e/plans.mjs'
import { table } from './e2e/print.mjs'
import { scenarioNamed } from './e2e/scenarios.mjs'
import { startServer } from './e2e/servers.mjs'
import { median, pairedRatio } from './e2e/statistics.mjs'
import { runWorker } from './job.mjs'

const usage = `Measures the CPU time of require, and of require with a first request, in fresh processes that take turns. Needs the build.

  node bench/startup.mjs
  --rounds N      processes of each (default: 15)
  --node FILE     the Node that runs the clients (default: this one)
`

const worker = fileURLToPath(new URL('startup/worker.mjs', import.meta.url))

const NAMES = { wire: 'dodici (wire)', node: 'dodici', undici: 'undici 8', 'node:http2': 'node:http2' }
const BASE = 'undici'

/**
 * The figures of one process, in milliseconds of CPU time of all of its threads: those of V8's compiler count.
 *
 * @typedef {{ load: number, first: number, both: number, length: number }} Figures
 */

const COLUMNS = /** @type {const} */ ([
  { key: 'load', head: 'require' },
  { key: 'first', head: 'first request' },
  { key: 'both', head: 'together' },
])

function readOptions() {
  try {
    const text = /** @type {const} */ ({ type: 'string' })
    return parseArgs({ options: { rounds: text, node: text, help: { type: 'boolean', default: false } } })
      .values
  } catch (error) {
    throw new UsageError(error instanceof Error ? error.message : String(error))
  }
}

/**
 * @param {number} rounds
 * @param {string} node
 */
async function measure(rounds, node) {
  const hasBase = !isOlder(nodeVersionOf(node), clientNamed(BASE).minNode)
  const scenario = scenarioNamed('get-1k')
  /** @type {Map<string, Figures[]>} */
  const all = new Map(
    Object.keys(NAMES).flatMap((client) => (client === BASE && !hasBase ? [] : [[client, []]])),
  )
  // nghttpd may be missing, and what the server is makes no difference to one request.
  const server = await startServer(scenario, { kind: 'node', node })
  try {
    for (let round = 0; round < rounds; round++) {
      process.stderr.write(`round ${round + 1} of ${rounds}\n`)
      for (const [client, figures] of round % 2 === 0 ? all : [...all].toReversed()) {
        const job = { client, origin: server.origins[0], path: server.path }
        const measured = /** @type {Figures} */ (
          await runWorker({ node, script: worker, job, timeout: 60_000 })
        )
        if (measured.length !== scenario.responseBytes) throw new Error(`${client}: ${measured.length} bytes`)
        figures.push(measured)
      }
    }
  } finally {
    await server.stop()
  }
  return all
}

async function main() {
  const values = readOptions()
  if (values.help) {
    process.stdout.write(usage)
    return
  }
  const rounds = toCount('rounds', values.rounds) ?? 15
  const all = await measure(rounds, values.node ?? process.execPath)
  const base = all.get(BASE) ?? []
  const rows = Object.entries(NAMES).flatMap(([client, label]) => {
    const own = all.get(client)
    if (own === undefined) return []
    const cells = COLUMNS.map(({ key }) => median(own.map((figures) => figures[key])).toFixed(1))
    const ratios = COLUMNS.map(({ key }) => {
      const ratio = pairedRatio(
        own.map((figures) => figures[key]),
        base.map((figures) => figures[key]),
      )
      if (base.length === 0) return '-'
      return `${ratio.median.toFixed(2)} [${ratio.low.toFixed(2)}, ${ratio.high.toFixed(2)}]`
    })
    return [[label, 'h2c', ...cells, ...ratios]]
  })
  const heads = COLUMNS.map(({ head }) => head)
  console.log(`CPU time in milliseconds, median of ${rounds} processes; ratios with a 95 % interval\n`)
  console.log(table([['client', '', ...heads, ...heads.map((head) => `${head} ÷ undici's`)], ...rows]))
}

await runMain(main)
