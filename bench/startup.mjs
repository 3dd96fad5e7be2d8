/**
 * What a process pays before it has its first response: the CPU time of `require`, and of `require` with the first request.
 */
import { readOptions, runMain } from '../scripts/options.mjs'
import { clientNamed } from './e2e/clients/index.mjs'
import { isOlder, playRounds, runWorker } from './e2e/plans.mjs'
import { table } from './e2e/print.mjs'
import { scenarioNamed } from './e2e/scenarios.mjs'
import { nodeVersionOf, startServer } from './e2e/servers.mjs'
import { median, pairedRatio, toRatioText } from './e2e/statistics.mjs'

const help = `Measures the CPU time of require, and of require with a first request, in fresh processes that take turns. Needs the build.

  node bench/startup.mjs
  --rounds N      processes of each (default: 15)
  --node FILE     the Node that runs the clients (default: this one)
`

const NAMES = { wire: 'dodici (wire)', node: 'dodici', undici: 'undici 8', 'node:http2': 'node:http2' }
const BASE = 'undici'

/** Of one process, in milliseconds of CPU time of all of its threads: those of V8's compiler count. */
const COLUMNS = /** @type {const} */ ({ load: 'require', first: 'first request', both: 'together' })

/** @typedef {Record<keyof typeof COLUMNS, number> & { length: number }} Figures */

await runMain(async () => {
  const options = readOptions(help)
  const rounds = options.count('rounds', 15)
  const node = options.text('node') ?? process.execPath
  const hasBase = !isOlder(nodeVersionOf(node), clientNamed(BASE).minNode)
  const scenario = scenarioNamed('get-1k')
  const all = Object.entries(NAMES)
    .filter(([client]) => client !== BASE || hasBase)
    .map(([client, label]) => ({ client, label, figures: /** @type {Figures[]} */ ([]) }))
  // nghttpd may be missing, and what the server is makes no difference to one request.
  const server = await startServer(scenario, { kind: 'node', node })
  await playRounds(rounds, all, async ({ client, figures }) => {
    const job = { client, origin: server.origins[0], path: server.path }
    /** @type {Figures} */
    const measured = await runWorker({ node, script: 'startup/worker.mjs', job, timeout: 60_000 })
    if (measured.length !== scenario.responseBytes) throw new Error(`${client}: ${measured.length} bytes`)
    figures.push(measured)
  }).finally(() => server.stop())
  const base = all.find(({ client }) => client === BASE)?.figures
  const keys = /** @type {(keyof typeof COLUMNS)[]} */ (Object.keys(COLUMNS))
  const rows = all.map(({ label, figures }) => {
    const of = (/** @type {Figures[]} */ list, /** @type {keyof typeof COLUMNS} */ key) =>
      list.map((one) => one[key])
    const ratios = keys.map((key) =>
      toRatioText(base === undefined ? null : pairedRatio(of(figures, key), of(base, key))),
    )
    return [label, 'h2c', ...keys.map((key) => median(of(figures, key)).toFixed(1)), ...ratios]
  })
  const heads = Object.values(COLUMNS)
  console.log(`CPU time in milliseconds, median of ${rounds} processes; ratios with a 95 % interval\n`)
  console.log(table([['client', '', ...heads, ...heads.map((head) => `${head} ÷ undici's`)], ...rows]))
})
