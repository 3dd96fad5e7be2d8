/** What the first requests of a process cost, beside those that come when V8 has compiled all of it. */
import { writeFileSync } from 'node:fs'
import { readOptions, runMain, UsageError } from '../scripts/options.mjs'
import { flagsOf } from './e2e/children.mjs'
import { playRounds, runWorker, toClientJob, toRows } from './e2e/plans.mjs'
import { describe, table } from './e2e/print.mjs'
import { scenarioNamed } from './e2e/scenarios.mjs'
import { defaultServer, startServer } from './e2e/servers.mjs'
import { median } from './e2e/statistics.mjs'

const help = `Measures the CPU time of the first requests of a process, stretch by stretch, for each client and API. Needs the build.

  node bench/warm-up.mjs
  --ends A,B      where the stretches end (default: 1000,5000,15000,25000,35000,55000,75000)
  --clients A,B   (default: dodici-wire, dodici, undici, floor)
  --apis A,B      (default: dispatch, request, stream, pipeline, fetch)
  --rounds N      processes of each (default: 5)
  --tls           over TLS, and not h2c
  --node FILE     the Node that runs the clients (default: this one)
  --json FILE     write the figures there, too
`

/** Of its steady cost: a stretch that takes at most so much is one of a warm process. */
const STEADY = 1.1

await runMain(async () => {
  const options = readOptions(help)
  const scenario = scenarioNamed(options.flag('tls') ? 'get-1k-tls' : 'get-1k')
  const ends = (options.text('ends') ?? '1000,5000,15000,25000,35000,55000,75000').split(',').map(Number)
  if (!ends.every((end, index) => Number.isSafeInteger(end) && end > (ends[index - 1] ?? 0)))
    throw new UsageError('--ends must ascend')
  const rounds = options.count('rounds', 5)
  const node = options.text('node') ?? process.execPath
  const apis = options.names('apis', scenario.apis) ?? scenario.apis
  const rows = await toRows(options, ['dodici-wire', 'dodici', 'undici', 'floor'], apis, scenario, node)
  const all = rows.map((row) => ({ ...row, rounds: /** @type {number[][]} */ ([]) }))
  const server = await startServer(scenario, { kind: defaultServer, node })
  const last = ends[ends.length - 1]
  await playRounds(rounds, all, async (row) => {
    const job = { ...toClientJob(row, scenario, server), ends }
    const run = { node, script: 'warm-up/worker.mjs', job, timeout: 60_000 + 2 * last }
    row.rounds.push(await runWorker({ ...run, flags: flagsOf(row.client) }))
  }).finally(() => server.stop())
  const json = options.text('json')
  if (json !== undefined) writeFileSync(json, `${JSON.stringify({ ends, rows: all }, null, 2)}\n`)
  const lines = all.map(({ label, api, rounds: measured }) => {
    const micros = ends.map((_, index) => median(measured.map((round) => round[index])))
    // After how many requests no stretch is dearer than the last one by more than a tenth.
    const dear = micros.findLastIndex((value) => value > STEADY * micros[micros.length - 1])
    return [label, api, ...micros.map((value) => value.toFixed(1)), `${ends[dear] ?? 0}`]
  })
  const stretches = ends.map((end, index) => `${(ends[index - 1] ?? 0) + 1}–${end}`)
  console.log(`${describe(scenario)}; CPU µs a request, median of ${rounds} processes\n`)
  console.log(table([['client', 'API', ...stretches, 'steady after'], ...lines]))
})
