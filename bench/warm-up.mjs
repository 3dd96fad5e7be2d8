/**
 * What the first requests of a process cost, beside those that come when V8 has compiled all of it.
 */
import { writeFileSync } from 'node:fs'
import { fileURLToPath } from 'node:url'
import { parseArgs } from 'node:util'
import { clients } from './e2e/clients/index.mjs'
import { defaultServer, runMain, toCount, toNames, UsageError } from './e2e/options.mjs'
import { describe, table } from './e2e/print.mjs'
import { scenarioNamed } from './e2e/scenarios.mjs'
import { startServer } from './e2e/servers.mjs'
import { median } from './e2e/statistics.mjs'
import { runWorker, toClientJob, toRows } from './job.mjs'

const usage = `Measures the CPU time of the first requests of a process, stretch by stretch, for each client and API. Needs the build.

  node bench/warm-up.mjs
  --ends A,B      where the stretches end (default: 1000,5000,15000,25000,35000,55000,75000)
  --clients A,B   (default: dodici-wire, dodici, undici, floor)
  --apis A,B      (default: dispatch, request, stream, pipeline, fetch)
  --rounds N      processes of each (default: 5)
  --tls           over TLS, and not h2c
  --node FILE     the Node that runs the clients (default: this one)
  --json FILE     write the figures there, too
`

const worker = fileURLToPath(new URL('warm-up/worker.mjs', import.meta.url))

/** Of its steady cost: a stretch that takes at most so much is one of a warm process. */
const STEADY = 1.1

function readOptions() {
  try {
    const text = /** @type {const} */ ({ type: 'string' })
    return parseArgs({
      options: {
        ...{ ends: text, clients: text, apis: text, rounds: text, node: text, json: text },
        tls: { type: 'boolean', default: false },
        help: { type: 'boolean', default: false },
      },
    }).values
  } catch (error) {
    throw new UsageError(error instanceof Error ? error.message : String(error))
  }
}

/** @param {string} text */
function toEnds(text) {
  const ends = text.split(',').map((end) => toCount('ends', end) ?? 0)
  if (ends.some((end, index) => end <= (ends[index - 1] ?? 0))) throw new UsageError('--ends must ascend')
  return ends
}

/** @param {readonly number[]} ends */
const toStretches = (ends) => ends.map((end, index) => `${(ends[index - 1] ?? 0) + 1}–${end}`)

/**
 * @param {readonly number[]} micros of the stretches
 * @param {readonly number[]} ends
 * @returns {string} after how many requests no stretch is dearer than the last one by more than a tenth
 */
function toSteady(micros, ends) {
  const last = micros.at(-1) ?? Number.NaN
  const dear = micros.findLastIndex((value) => value > STEADY * last)
  return `${ends[dear] ?? 0}`
}

async function main() {
  const values = readOptions()
  if (values.help) {
    process.stdout.write(usage)
    return
  }
  const scenario = scenarioNamed(values.tls ? 'get-1k-tls' : 'get-1k')
  const ends = toEnds(values.ends ?? '1000,5000,15000,25000,35000,55000,75000')
  const rounds = toCount('rounds', values.rounds) ?? 5
  const names = toNames('clients', values.clients, Object.keys(clients)) ?? [
    'dodici-wire',
    'dodici',
    'undici',
    'floor',
  ]
  const node = values.node ?? process.execPath
  const apis = toNames('apis', values.apis, scenario.apis) ?? scenario.apis
  const rows = await toRows(names, apis, scenario, node)
  const all = rows.map((row) => ({ ...row, rounds: /** @type {number[][]} */ ([]) }))
  const server = await startServer(scenario, { kind: defaultServer, node })
  try {
    for (let round = 0; round < rounds; round++) {
      process.stderr.write(`round ${round + 1} of ${rounds}\n`)
      for (const row of round % 2 === 0 ? all : all.toReversed()) {
        const { inFlight, responseBytes } = scenario
        const job = { ...toClientJob(row, scenario, server), inFlight, responseBytes, ends }
        const timeout = 60_000 + 2 * (ends.at(-1) ?? 0)
        row.rounds.push(/** @type {number[]} */ (await runWorker({ node, script: worker, job, timeout })))
      }
    }
  } finally {
    await server.stop()
  }
  const figures = all.map(({ label, api, rounds: measured }) => {
    const micros = ends.map((_, index) => median(measured.map((round) => round[index] ?? Number.NaN)))
    return { label, api, micros, steadyAfter: toSteady(micros, ends) }
  })
  if (values.json !== undefined)
    writeFileSync(values.json, `${JSON.stringify({ ends, rows: all }, null, 2)}\n`)
  const lines = figures.map(({ label, api, micros, steadyAfter }) => {
    return [label, api, ...micros.map((value) => value.toFixed(1)), steadyAfter]
  })
  console.log(`${describe(scenario)}; CPU µs a request, median of ${rounds} processes\n`)
  console.log(table([['client', 'API', ...toStretches(ends), 'steady after'], ...lines]))
}

await runMain(main)
