/**
 * What `dodici load` can, and whether it tells the truth: beside h2load, beside a server that takes a known time, while a
 * server stops for a second, and with a second worker.
 */
import { once } from 'node:events'
import { readFileSync, rmSync, writeFileSync } from 'node:fs'
import { loadavg } from 'node:os'
import { join } from 'node:path'
import { setTimeout } from 'node:timers/promises'
import { fileURLToPath } from 'node:url'
import { readOptions, runMain, UsageError } from '../scripts/options.mjs'
import { outputOf, stop } from '../scripts/processes.mjs'
import { cores, directory, start } from './e2e/children.mjs'
import { percentile } from './e2e/load.mjs'
import { toSpread } from './e2e/print.mjs'
import { describeMachine, nghttpdVersion, startProgram, startScript } from './e2e/servers.mjs'

const help = `Measures dodici load. The server has one core, and the client the other. Needs the build, nghttpd, h2load,
taskset and two cores.

  node bench/load.mjs
  --parts NAMES    h2load, delay, pause, workers (default: all)
  --rounds N       rounds of h2load, delay and workers, each with both sides in turn (default: 5)
  --requests N     requests of each measurement of h2load (default: 1000000: a shorter one measures how V8 warms up)
                   and of workers (default: 300000)
  --seconds N      how long each measurement of parts delay and pause lasts (default: 10)
  --node FILE      the Node that runs dodici load (default: this one)
`

const BYTES = 1_024
const STREAMS = 100
/** Of a run, in milliseconds. */
const TIMEOUT = 300_000
/** Of the server of part delay, in milliseconds. */
const DELAY = 50

const cli = fileURLToPath(new URL('../dist/cli.js', import.meta.url))

/** @typedef {{ node: string, rounds: number, requests: number | null, seconds: number }} Setting */
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

/** What h2load's log says of each response, in milliseconds. @param {readonly string[]} args */
async function latenciesOfH2load(args) {
  const log = join(directory, 'h2load.log')
  rmSync(log, { force: true })
  const whole = ['-c', '1', '-m', `${STREAMS}`, '-t', '1', '--log-file', log, ...args]
  await outputOf(start('client', 'h2load', whole), TIMEOUT)
  const lines = readFileSync(log, 'utf8').trim().split('\n')
  return Float64Array.from(lines, (line) => Number(line.split('\t')[2]) / 1_000)
}

async function startNghttpd() {
  writeFileSync(join(directory, 'file'), 'a'.repeat(BYTES))
  const args = ['--no-tls', '--address=127.0.0.1', `--htdocs=${directory}`]
  const { child, ports } = await startProgram('nghttpd', (port) => [...args, `${port}`])
  return { child, url: `http://127.0.0.1:${ports[0]}/file` }
}

/** A script of this benchmark. @param {string} name @param {object} options */
async function startOwn(name, options = {}) {
  const { ports, ...started } = await startScript(process.execPath, `../load/${name}`, options)
  return { ...started, url: `http://127.0.0.1:${ports[0]}/` }
}

/** @type {Readonly<Record<string, (setting: Setting) => Promise<void>>>} */
const PARTS = {
  async h2load(setting) {
    const { child, url } = await startNghttpd()
    /** @type {[own: number, theirs: number][]} */
    const pairs = []
    const counts = ['-c', '1', '-m', `${STREAMS}`, '-n', `${setting.requests ?? 1_000_000}`]
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
    const { child, lines, url } = await startOwn('delay-server.mjs', { delay: DELAY })
    const shares = { p50: 0.5, p90: 0.9, p99: 0.99 }
    /** @type {Record<keyof typeof shares, [own: number, theirs: number][]>} */
    const pairs = { p50: [], p90: [], p99: [] }
    for (let round = 0; round < setting.rounds; round++) {
      const theirs = await latenciesOfH2load(['--rps', '200', '-D', `${setting.seconds}`, url])
      const { latency } = await load(setting, ['--rate', '200', '-D', `${setting.seconds}`, url])
      for (const share of /** @type {const} */ (['p50', 'p90', 'p99']))
        pairs[share].push([latency[share], percentile(theirs, shares[share])])
    }
    child.stdin?.end()
    const { value = '' } = await lines.next()
    /** @type {Record<string, number>} */
    const server = JSON.parse(value)
    for (const [share, list] of Object.entries(pairs)) {
      if (server[share] !== undefined)
        console.log(`| ${share}, the server's own, ms | ${toMs(server[share])} |`)
      console.log(
        `| ${share}, h2load, ms | ${toSpread(
          list.map(([, theirs]) => theirs),
          2,
        )} |`,
      )
      console.log(
        `| ${share}, dodici load, ms | ${toSpread(
          list.map(([own]) => own),
          2,
        )} |`,
      )
      console.log(
        `| ${share}, dodici load ÷ h2load | ${toSpread(
          list.map(([own, theirs]) => own / theirs),
          3,
        )} |`,
      )
    }
  },

  async pause(setting) {
    const { child, url } = await startNghttpd()
    const running = load(setting, ['--rate', '1000', '-m', '5', '-D', `${setting.seconds}`, url])
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
    const { child, url } = await startOwn('fields-server.mjs')
    const args = [
      '-c',
      '8',
      '-m',
      `${STREAMS}`,
      '-n',
      `${setting.requests ?? 300_000}`,
      '--warm-up',
      '2s',
      url,
    ]
    /** @type {number[][]} */
    const [one, two] = [[], []]
    for (let round = 0; round < setting.rounds; round++)
      for (const [index, list] of [one, two].entries())
        list.push((await load(setting, ['-t', `${index + 1}`, ...args], '0,1')).requestsPerSecond)
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
    requests: options.text('requests') === undefined ? null : options.count('requests', 1),
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
