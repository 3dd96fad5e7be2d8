/**
 * What `dodici load` can, and whether it tells the truth: beside h2load, beside a server that takes a known time, while a
 * server stops for a second, and with a second worker.
 */
import { once } from 'node:events'
import { writeFileSync } from 'node:fs'
import { loadavg } from 'node:os'
import { join } from 'node:path'
import { setTimeout } from 'node:timers/promises'
import { fileURLToPath } from 'node:url'
import { readOptions, runMain, UsageError } from '../scripts/options.mjs'
import { linesOf, outputOf, stop } from '../scripts/processes.mjs'
import { cores, directory, start } from './e2e/children.mjs'
import { toSpread } from './e2e/print.mjs'
import { describeMachine, nghttpdVersion, startProgram } from './e2e/servers.mjs'

const help = `Measures dodici load. The server has one core, and the client the other. Needs the build, nghttpd, h2load,
taskset and two cores.

  node bench/load.mjs
  --parts NAMES    h2load, delay, pause, workers (default: all)
  --rounds N       rounds of h2load and of workers, each with both sides in turn (default: 5)
  --requests N     requests of each measurement of h2load and of workers (default: 300000)
  --seconds N      how long parts delay and pause last (default: 10)
  --node FILE      the Node that runs dodici load (default: this one)
`

const BYTES = 1_024
const STREAMS = 100
/** Of a run, in milliseconds. */
const TIMEOUT = 300_000
/** Of the server of part delay, in milliseconds. */
const DELAY = 50

const cli = fileURLToPath(new URL('../dist/cli.js', import.meta.url))

/** @typedef {{ node: string, rounds: number, requests: number, seconds: number }} Setting */
/** @typedef {Record<'p50' | 'p90' | 'p99' | 'max', number>} Latency */

/** @param {number} value */
const toMs = (value) => value.toLocaleString('en', { minimumFractionDigits: 2, maximumFractionDigits: 2 })

/**
 * Runs dodici load, on the client's core, or on others.
 *
 * @param {Setting} setting @param {readonly string[]} args @param {string} [on]
 * @returns {Promise<{ requestsPerSecond: number, latency: Latency, serviceTime: Latency }>}
 */
async function load({ node }, args, on) {
  return JSON.parse(await outputOf(start('client', node, [cli, 'load', '--json', ...args], {}, on), TIMEOUT))
}

async function startNghttpd() {
  writeFileSync(join(directory, 'file'), 'a'.repeat(BYTES))
  const args = ['--no-tls', '--address=127.0.0.1', `--htdocs=${directory}`]
  const { child, ports } = await startProgram('nghttpd', (port) => [...args, `${port}`])
  return { child, url: `http://127.0.0.1:${ports[0]}/file` }
}

/** A script of ours that writes its port. @param {string} name @param {string[]} args */
async function startScript(name, ...args) {
  const child = start('server', process.execPath, [
    fileURLToPath(new URL(`load/${name}`, import.meta.url)),
    ...args,
  ])
  child.stderr?.pipe(process.stderr)
  const lines = linesOf(child)
  const { value: port } = await lines.next()
  return { child, lines, url: `http://127.0.0.1:${port}/` }
}

/** @type {Readonly<Record<string, (setting: Setting) => Promise<void>>>} */
const PARTS = {
  async h2load(setting) {
    const { child, url } = await startNghttpd()
    /** @type {[own: number, theirs: number][]} */
    const pairs = []
    const counts = ['-c', '1', '-m', `${STREAMS}`, '-n', `${setting.requests}`]
    for (let round = 0; round < setting.rounds; round++) {
      const said = await outputOf(start('client', 'h2load', ['-t', '1', ...counts, url]), TIMEOUT)
      const theirs = Number(/finished in [^,]+, ([\d.]+) req\/s/.exec(said)?.[1])
      pairs.push([(await load(setting, [...counts, url])).requestsPerSecond, theirs])
    }
    await stop(child)
    console.log(`| h2load, requests/s | ${toSpread(pairs.map(([, theirs]) => theirs))} |`)
    console.log(`| dodici load, requests/s | ${toSpread(pairs.map(([own]) => own))} |`)
    console.log(
      `| dodici load ÷ h2load, of each pair | ${toSpread(
        pairs.map(([own, theirs]) => own / theirs),
        2,
      )} |`,
    )
  },

  async delay(setting) {
    const { child, lines, url } = await startScript('delay-server.mjs', `${DELAY}`)
    const { latency } = await load(setting, ['-r', '200', '-D', `${setting.seconds}`, url])
    child.stdin?.end()
    const { value = '' } = await lines.next()
    /** @type {Latency} */
    const server = JSON.parse(value)
    for (const share of /** @type {const} */ (['p50', 'p99'])) {
      console.log(`| ${share}, the server's own, ms | ${toMs(server[share])} |`)
      const ratio = (latency[share] / server[share]).toFixed(3)
      console.log(`| ${share}, dodici load, ms | ${toMs(latency[share])} (× ${ratio}) |`)
    }
  },

  async pause(setting) {
    const { child, url } = await startNghttpd()
    const running = load(setting, ['-r', '1000', '-m', '5', '-D', `${setting.seconds}`, url])
    await setTimeout(setting.seconds * 250)
    child.kill('SIGSTOP')
    await setTimeout(1_000)
    child.kill('SIGCONT')
    const { latency, serviceTime } = await running
    await stop(child)
    for (const share of /** @type {const} */ (['p50', 'p90', 'p99', 'max']))
      console.log(
        `| ${share}: since due, since sent, ms | ${toMs(latency[share])}, ${toMs(serviceTime[share])} |`,
      )
  },

  async workers(setting) {
    const { child, url } = await startScript('fields-server.mjs')
    const args = ['-c', '8', '-m', `${STREAMS}`, '-n', `${setting.requests}`, '--warm-up', '2s', url]
    /** @type {number[][]} */
    const [one, two] = [[], []]
    for (let round = 0; round < setting.rounds; round++)
      for (const [index, list] of [one, two].entries())
        list.push((await load(setting, ['-w', `${index + 1}`, ...args], '0,1')).requestsPerSecond)
    const closed = once(child, 'close')
    child.stdin?.end()
    await closed
    console.log(`| one worker, requests/s | ${toSpread(one)} |`)
    console.log(`| two workers, requests/s | ${toSpread(two)} |`)
    console.log(
      `| two ÷ one, of each pair | ${toSpread(
        two.map((value, round) => value / one[round]),
        2,
      )} |`,
    )
  },
}

await runMain(async () => {
  const options = readOptions(help)
  const parts = options.names('parts', Object.keys(PARTS)) ?? Object.keys(PARTS)
  const setting = {
    node: options.text('node') ?? process.execPath,
    rounds: options.count('rounds', 5),
    requests: options.count('requests', 300_000),
    seconds: options.count('seconds', 10),
  }
  if (nghttpdVersion === null) throw new UsageError('nghttpd is not installed')
  if (cores === null) throw new UsageError('this needs taskset and two cores')
  const { cpu, node } = describeMachine({ node: setting.node, server: 'nghttpd' })
  console.log(
    `${cpu}, Node ${node}, ${nghttpdVersion}; load average ${loadavg()[0].toFixed(1)}; median (lowest-highest)`,
  )
  for (const part of parts) {
    console.log(`\n| ${part} | |\n| --- | --- |`)
    await PARTS[part](setting)
  }
})
