/**
 * What a second thread, or a second process, brings: requests a second and CPU time for each request, with one core and
 * with two, which the server uses as well.
 */
import { once } from 'node:events'
import { readFileSync, writeFileSync } from 'node:fs'
import { connect } from 'node:net'
import { join } from 'node:path'
import { createInterface } from 'node:readline'
import { fileURLToPath } from 'node:url'
import { parseArgs } from 'node:util'
import { freePort } from '../scripts/free-port.mjs'
import { cores, start, stop } from './e2e/children.mjs'
import { describeMachine } from './e2e/machine.mjs'
import { runMain, toCount, UsageError } from './e2e/options.mjs'
import { nghttpdVersion } from './e2e/servers.mjs'
import { median } from './e2e/statistics.mjs'
import { directory } from './e2e/temporary.mjs'

const usage = `Measures one dispatcher, two in worker threads, and two in processes of node:cluster, against one nghttpd
with two threads. Client and server share one core, or two. Needs the build, nghttpd, taskset and two cores.

  node bench/threads.mjs
  --rounds N      rounds, each with all setups in turn (default: 9)
  --requests N    requests of each measurement (default: 40000)
  --engine NAME   node or wire (default: both)
  --node FILE     the Node that runs the clients (default: this one)
`

const SETUPS = /** @type {const} */ ({
  one: 'one thread',
  threads: 'two worker threads',
  processes: 'two cluster processes',
})
const CORES = ['0', '0,1']
const BYTES = 1_024
const IN_FLIGHT = 100

/**
 * @typedef {object} Figures
 * @property {number} perSecond
 * @property {number} client CPU time for each request, in microseconds
 * @property {number} server the same of the server
 */

/** @param {string[]} of the cores @param {string} file @param {string[]} args @param {'client' | 'server'} role */
const startOn = (of, role, file, args) => start(role, 'taskset', ['-c', of.join(','), file, ...args])

/**
 * The CPU time of a process and all of its threads, to 10 ms.
 *
 * @param {number | undefined} pid
 * @returns {number} microseconds
 */
function readCpu(pid) {
  const stat = readFileSync(`/proc/${pid}/stat`, 'utf8')
  // The name, in parentheses, may contain anything. Behind it, utime and stime are the 12th and the 13th field.
  const fields = stat.slice(stat.lastIndexOf(')') + 2).split(' ')
  return (Number(fields[11]) + Number(fields[12])) * 10_000
}

/** @param {string} on cores */
async function startServer(on) {
  const port = await freePort()
  const file = `${BYTES}`
  writeFileSync(join(directory, file), 'a'.repeat(BYTES))
  const args = ['--no-tls', '--workers=2', '--address=127.0.0.1', `--htdocs=${directory}`, `${port}`]
  const child = startOn(on.split(','), 'server', 'nghttpd', args)
  child.stdout?.resume()
  child.stderr?.resume()
  while (child.exitCode === null) {
    const socket = connect(port, '127.0.0.1')
    const isOpen = await once(socket, 'connect').then(
      () => true,
      () => false,
    )
    socket.destroy()
    if (isOpen) return { child, origin: `http://127.0.0.1:${port}`, path: `/${file}` }
  }
  throw new Error('nghttpd did not start')
}

/**
 * @param {{ on: string, setup: string, engine: string, requests: number, node: string }} options
 * @returns {Promise<Figures>}
 */
async function measure({ on, setup, engine, requests, node }) {
  const server = await startServer(on)
  const warmup = Math.ceil(requests / 4)
  const { origin, path } = server
  const job = { setup, engine, origin, path, responseBytes: BYTES, inFlight: IN_FLIGHT, warmup, requests }
  const script = fileURLToPath(new URL('threads/client.mjs', import.meta.url))
  const client = startOn(on.split(','), 'client', node, [script, JSON.stringify(job)])
  try {
    client.stderr?.pipe(process.stderr)
    if (client.stdout === null) throw new Error('no output to read')
    const lines = createInterface({ input: client.stdout })[Symbol.asyncIterator]()
    if ((await lines.next()).value !== 'ready') throw new Error(`${setup}: the client did not start`)
    const before = readCpu(server.child.pid)
    client.stdin?.write('go\n')
    const { done, value } = await lines.next()
    if (done === true) throw new Error(`${setup}: the client ended`)
    const facts = JSON.parse(value)
    return {
      perSecond: facts.requests / (facts.millis / 1_000),
      client: facts.cpuMicros / facts.requests,
      server: (readCpu(server.child.pid) - before) / facts.requests,
    }
  } finally {
    const ended = once(client, 'close')
    // Its processes end with it, and it ends with its input.
    client.stdin?.end()
    if (client.exitCode === null && client.signalCode === null) await ended
    await stop(server.child)
  }
}

/** @param {readonly number[]} values @param {number} digits */
function toCell(values, digits) {
  const [middle, least, most] = [median(values), Math.min(...values), Math.max(...values)].map((value) =>
    value.toLocaleString('en', { minimumFractionDigits: digits, maximumFractionDigits: digits }),
  )
  return `${middle} (${least}-${most})`
}

function readOptions() {
  const { values } = parseArgs({
    options: {
      rounds: { type: 'string' },
      requests: { type: 'string' },
      engine: { type: 'string' },
      node: { type: 'string', default: process.execPath },
      help: { type: 'boolean', default: false },
    },
  })
  const engines = ['node', 'wire'].filter((name) => name === (values.engine ?? name))
  if (engines.length === 0) throw new UsageError('--engine must be node or wire')
  const rounds = toCount('rounds', values.rounds) ?? 9
  const requests = toCount('requests', values.requests) ?? 40_000
  return { engines, rounds, requests, node: values.node, help: values.help }
}

async function main() {
  const { engines, rounds, requests, node, help } = readOptions()
  if (help) {
    process.stdout.write(usage)
    return
  }
  if (nghttpdVersion === null) throw new UsageError('nghttpd is not installed')
  if (cores === null) throw new UsageError('this needs taskset and two cores')
  const plans = engines.flatMap((engine) =>
    CORES.flatMap((on) => Object.keys(SETUPS).map((setup) => ({ engine, on, setup, requests, node }))),
  )
  /** @type {Figures[][]} of each plan, by round */
  const figures = plans.map(() => [])
  for (let round = 1; round <= rounds; round++) {
    process.stderr.write(`round ${round} of ${rounds}\n`)
    for (const [index, plan] of plans.entries()) figures[index]?.push(await measure(plan))
  }
  const { cpu, node: version } = describeMachine({ node, server: 'nghttpd' })
  process.stdout.write(
    `${cpu}, Node ${version}, ${nghttpdVersion}; ${rounds} rounds: median (lowest-highest)\n\n`,
  )
  process.stdout.write(
    '| engine | cores | dispatchers | requests a second | beside one thread | CPU of the client, µs | CPU of the server, µs |\n',
  )
  process.stdout.write('| --- | --- | --- | --- | --- | --- | --- |\n')
  for (const [index, { engine, on, setup }] of plans.entries()) {
    const own = figures[index] ?? []
    // All setups of an engine and its cores stand behind their first.
    const base = figures[index - (index % Object.keys(SETUPS).length)] ?? []
    const ratios = own.map(({ perSecond }, round) => perSecond / (base[round]?.perSecond ?? Number.NaN))
    const cells = [
      engine,
      on.split(',').length,
      SETUPS[/** @type {keyof typeof SETUPS} */ (setup)],
      toCell(
        own.map(({ perSecond }) => perSecond),
        0,
      ),
      setup === 'one' ? '' : toCell(ratios, 2),
      toCell(
        own.map(({ client }) => client),
        1,
      ),
      toCell(
        own.map(({ server }) => server),
        1,
      ),
    ]
    process.stdout.write(`| ${cells.join(' | ')} |\n`)
  }
}

await runMain(main)
