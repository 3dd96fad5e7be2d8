/** What an UpstreamPool of one upstream costs beside a Pool. */
import { readFileSync } from 'node:fs'
import { ENGINES, readOptions, runMain, UsageError } from '../scripts/options.mjs'
import { table } from './e2e/print.mjs'
import { scenarioNamed } from './e2e/scenarios.mjs'
import { defaultServer, startServer } from './e2e/servers.mjs'
import { median } from './e2e/statistics.mjs'
import { cpuOf, inTurns } from './turns.mjs'

const help = `Measures the CPU time of request() with an UpstreamPool of one upstream, and with a Pool. Both are in one process, and take
turns, so that what else the machine does meets both. Needs the build. Fails if an engine's median ratio is above --most.

  node bench/upstreams.mjs
  --engine NAME  node, wire or both (default: both)
  --tls          over TLS, and not h2c
  --rounds N     turns of each (default: 40)
  --requests N   in each turn (default: 4000)
  --in-flight N  (default: 100)
  --most RATIO   (default: 1.15)
`

/** @param {import('../types/index.ts').Dispatcher} dispatcher @param {string} path */
async function ask(dispatcher, path) {
  const { statusCode, body } = await dispatcher.request({ path, method: 'GET' })
  await body.text()
  if (statusCode !== 200) throw new Error(`The server says ${statusCode}`)
}

await runMain(async () => {
  const options = readOptions(help)
  const scenario = scenarioNamed(options.flag('tls') ? 'get-1k-tls' : 'get-1k')
  const rounds = options.count('rounds', 40)
  const requests = options.count('requests', 4_000)
  const inFlight = options.count('in-flight', 100)
  const most = Number(options.text('most') ?? '1.15')
  if (!(most > 0)) throw new UsageError('--most must be a number above 0')
  const engines = options.choice('engine', ENGINES, 'both')
  const { Pool, UpstreamPool } = await import(new URL('../dist/index.js', import.meta.url).href)
  const server = await startServer(scenario, { kind: defaultServer, node: process.execPath })
  const [origin = ''] = server.origins
  const ca = server.caFile === null ? undefined : readFileSync(server.caFile, 'utf8')
  const rows = []
  let isDear = false
  try {
    for (const engine of engines) {
      const common = { engine, connect: { ca } }
      /** @type {import('../types/index.ts').Dispatcher[]} */
      const both = [new Pool(origin, common), new UpstreamPool([origin], common)]
      const [pool, upstreams] = await inTurns(both, { warmup: 4, rounds }, (dispatcher) =>
        cpuOf(() => ask(dispatcher, server.path), requests, inFlight),
      )
      await Promise.all(both.map((dispatcher) => dispatcher.close()))
      const ratio = median(upstreams.map((micros, turn) => micros / pool[turn]))
      isDear ||= ratio > most
      rows.push([engine, median(pool).toFixed(1), median(upstreams).toFixed(1), ratio.toFixed(3)])
    }
  } finally {
    await server.stop()
  }
  console.log(`CPU µs a request, median of ${rounds} turns of ${requests}, ${inFlight} in flight\n`)
  console.log(table([['engine', 'Pool', 'UpstreamPool', 'ratio (median of the turns)'], ...rows]))
  if (isDear) {
    console.log(`\nMore than ${most} times a Pool's`)
    process.exitCode = 1
  }
})
