/**
 * What `dodici load` can, and whether it tells the truth: beside h2load, beside a server that takes a known time, while a
 * server stops for a second, and with a second worker.
 */
import { once } from 'node:events'
import { writeFileSync } from 'node:fs'
import { loadavg } from 'node:os'
import { join } from 'node:path'
import { createInterface } from 'node:readline'
import { fileURLToPath } from 'node:url'
import { parseArgs } from 'node:util'
import { freePort } from '../scripts/free-port.mjs'
import { cores, outputOf, start, stop } from './e2e/children.mjs'
import { describeMachine } from './e2e/machine.mjs'
import { runMain, toCount, toNames, UsageError } from './e2e/options.mjs'
import { nghttpdVersion } from './e2e/servers.mjs'
import { median } from './e2e/statistics.mjs'
import { directory } from './e2e/temporary.mjs'

const usage = `Measures dodici load. The server has one core, and the client the other. Needs the build, nghttpd, h2load,
taskset and two cores.

  node bench/load.mjs
  --parts NAMES    h2load, delay, pause, workers (default: all)
  --rounds N       rounds of h2load and of workers, each with both sides in turn (default: 5)
  --requests N     requests of each measurement of h2load and of workers (default: 300000)
  --seconds N      how long parts delay and pause last (default: 10)
  --node FILE      the Node that runs dodici load (default: this one)
`

const PARTS = ['h2load', 'delay', 'pause', 'workers']
const BYTES = 1_024
const STREAMS = 100
/** Of a run, in milliseconds. */
const TIMEOUT = 300_000
/** Of the server of part delay, in milliseconds. */
const DELAY = 50

const cli = fileURLToPath(new URL('../dist/cli.js', import.meta.url))
const toScript = (/** @type {string} */ name) => fileURLToPath(new URL(`load/${name}`, import.meta.url))

/** @typedef {{ node: string, rounds: number, requests: number, seconds: number }} Options */
/** @typedef {Record<'p50' | 'p90' | 'p99' | 'max', number>} Latency */
/** @typedef {{ requestsPerSecond: number, responses: number, latency: Latency, serviceTime: Latency }} Report */

/** @param {string} text */
const say = (text) => process.stdout.write(`${text}\n`)

/** @param {number} value @param {number} [digits] */
function toText(value, digits = 0) {
  return value.toLocaleString('en', { minimumFractionDigits: digits, maximumFractionDigits: digits })
}

/** @param {readonly number[]} values @param {number} [digits] */
function toSpread(values, digits = 0) {
  const [middle, least, most] = [median(values), Math.min(...values), Math.max(...values)]
  return `${toText(middle, digits)} (${toText(least, digits)}-${toText(most, digits)})`
}

/**
 * Runs dodici load, on the client's core; with `isFree` on all.
 *
 * @param {Options} options @param {readonly string[]} args
 * @returns {Promise<Report>}
 */
async function load({ node }, args, isFree = false) {
  const command = [cli, 'load', '--json', ...args]
  const child = isFree
    ? start('client', 'taskset', ['-c', '0,1', node, ...command])
    : start('client', node, command)
  return JSON.parse(await outputOf(child, TIMEOUT))
}

/** @returns {Promise<{ child: import('node:child_process').ChildProcess, url: string }>} */
async function startNghttpd() {
  writeFileSync(join(directory, 'file'), 'a'.repeat(BYTES))
  const port = await freePort()
  const child = start('server', 'nghttpd', [
    '--no-tls',
    '--address=127.0.0.1',
    `--htdocs=${directory}`,
    `${port}`,
  ])
  child.stdout?.resume()
  child.stderr?.resume()
  const url = `http://127.0.0.1:${port}/file`
  for (let tries = 0; tries < 50; tries++) {
    const probe = start('client', 'h2load', ['-n', '1', url])
    if ((await outputOf(probe, TIMEOUT)).includes('1 succeeded')) return { child, url }
  }
  throw new Error('nghttpd did not start')
}

/**
 * A script of ours that writes its port.
 *
 * @param {string[]} args
 */
async function startScript(...args) {
  const child = start('server', process.execPath, args)
  child.stderr?.pipe(process.stderr)
  if (child.stdout === null) throw new Error('no output to read')
  const lines = createInterface({ input: child.stdout })[Symbol.asyncIterator]()
  const { value: port } = await lines.next()
  return { child, lines, url: `http://127.0.0.1:${port}/` }
}

/** @param {Options} options */
async function compareH2load(options) {
  const { rounds, requests } = options
  const { child, url } = await startNghttpd()
  /** @type {number[]} */
  const own = []
  /** @type {number[]} */
  const theirs = []
  const counts = ['-c', '1', '-m', `${STREAMS}`, '-n', `${requests}`]
  for (let round = 0; round < rounds; round++) {
    const h2load = start('client', 'h2load', ['-t', '1', ...counts, url])
    theirs.push(Number(/finished in [^,]+, ([\d.]+) req\/s/.exec(await outputOf(h2load, TIMEOUT))?.[1]))
    own.push((await load(options, [...counts, url])).requestsPerSecond)
  }
  await stop(child)
  const ratios = own.map((value, round) => value / (theirs[round] ?? Number.NaN))
  say(`| h2load, requests/s | ${toSpread(theirs)} |`)
  say(`| dodici load, requests/s | ${toSpread(own)} |`)
  say(`| dodici load ÷ h2load, of each pair | ${toSpread(ratios, 2)} |`)
}

/** @param {Options} options */
async function compareDelay(options) {
  const { child, lines, url } = await startScript(toScript('delay-server.mjs'), `${DELAY}`)
  const { latency } = await load(options, ['-r', '200', '-d', `${options.seconds}`, url])
  child.stdin?.end()
  const { value } = await lines.next()
  const server = JSON.parse(value)
  for (const share of /** @type {const} */ (['p50', 'p99'])) {
    const ratio = latency[share] / server[share]
    say(`| ${share}, the server's own, ms | ${toText(server[share], 2)} |`)
    say(`| ${share}, dodici load, ms | ${toText(latency[share], 2)} (× ${toText(ratio, 3)}) |`)
  }
}

/** @param {Options} options */
async function showPause(options) {
  const { child, url } = await startNghttpd()
  const running = load(options, ['-r', '1000', '-m', '5', '-d', `${options.seconds}`, url])
  await new Promise((resolve) => setTimeout(resolve, options.seconds * 250))
  child.kill('SIGSTOP')
  await new Promise((resolve) => setTimeout(resolve, 1_000))
  child.kill('SIGCONT')
  const { latency, serviceTime } = await running
  await stop(child)
  for (const share of /** @type {const} */ (['p50', 'p90', 'p99', 'max'])) {
    say(
      `| ${share}: since due, since sent, ms | ${toText(latency[share], 2)}, ${toText(serviceTime[share], 2)} |`,
    )
  }
}

/** @param {Options} options */
async function compareWorkers(options) {
  const { rounds, requests } = options
  const { child, url } = await startScript(toScript('fields-server.mjs'))
  const args = ['-c', '8', '-m', `${STREAMS}`, '-n', `${requests}`, '--warm-up', '2s', url]
  /** @type {Record<'1' | '2', number[]>} */
  const figures = { 1: [], 2: [] }
  for (let round = 0; round < rounds; round++) {
    for (const workers of /** @type {const} */ (['1', '2'])) {
      figures[workers].push((await load(options, ['-w', workers, ...args], true)).requestsPerSecond)
    }
  }
  const closed = once(child, 'close')
  child.stdin?.end()
  await closed
  const ratios = figures[2].map((value, round) => value / (figures[1][round] ?? Number.NaN))
  say(`| one worker, requests/s | ${toSpread(figures[1])} |`)
  say(`| two workers, requests/s | ${toSpread(figures[2])} |`)
  say(`| two ÷ one, of each pair | ${toSpread(ratios, 2)} |`)
}

const RUNS = { h2load: compareH2load, delay: compareDelay, pause: showPause, workers: compareWorkers }

async function main() {
  const { values } = parseArgs({
    options: {
      parts: { type: 'string' },
      rounds: { type: 'string' },
      requests: { type: 'string' },
      seconds: { type: 'string' },
      node: { type: 'string', default: process.execPath },
      help: { type: 'boolean', default: false },
    },
  })
  if (values.help) {
    process.stdout.write(usage)
    return
  }
  const parts = toNames('parts', values.parts, PARTS) ?? PARTS
  const rounds = toCount('rounds', values.rounds) ?? 5
  const requests = toCount('requests', values.requests) ?? 300_000
  const seconds = toCount('seconds', values.seconds) ?? 10
  if (nghttpdVersion === null) throw new UsageError('nghttpd is not installed')
  if (cores === null) throw new UsageError('this needs taskset and two cores')
  const { cpu, node } = describeMachine({ node: values.node, server: 'nghttpd' })
  say(
    `${cpu}, Node ${node}, ${nghttpdVersion}; load average ${toText(loadavg()[0] ?? 0, 1)}; median (lowest-highest)`,
  )
  for (const part of parts) {
    say(`\n| ${part} | |\n| --- | --- |`)
    await RUNS[/** @type {keyof typeof RUNS} */ (part)]({ node: values.node, rounds, requests, seconds })
  }
}

await runMain(main)
