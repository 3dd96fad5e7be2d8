/**
 * What a second thread, or a second process, brings: requests a second and CPU time for each request, with one core and
 * with two, which the server uses as well.
 */
import { once } from 'node:events'
import { readFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { ENGINES, readOptions, runMain, UsageError } from '../scripts/options.mjs'
import { isGone, linesOf, stop } from '../scripts/processes.mjs'
import { cores, directory, start } from './e2e/children.mjs'
import { toSpread } from './e2e/print.mjs'
import { describeMachine, nghttpdVersion, startProgram } from './e2e/servers.mjs'

const help = `Measures one dispatcher, two in worker threads, and two in processes of node:cluster, against one nghttpd
with two threads. Client and server share one core, or two. Needs the build, nghttpd, taskset and two cores.

  node bench/threads.mjs
  --rounds N      rounds, each with all setups in turn (default: 9)
  --requests N    requests of each measurement (default: 40000)
  --engine NAME   node, wire or both (default: both)
  --node FILE     the Node that runs the clients (default: this one)
`

/** @type {Readonly<Record<string, string>>} */
const SETUPS = { one: 'one thread', threads: 'two worker threads', processes: 'two cluster processes' }
const CORES = ['0', '0,1']
const BYTES = 1_024
const IN_FLIGHT = 100

/** @typedef {{ perSecond: number, client: number, server: number }} Figures `client`, `server`: CPU time for each request, in microseconds */

/** The CPU time of a process and all of its threads, to 10 ms. @param {number | undefined} pid @returns {number} microseconds */
function readCpu(pid) {
  const stat = readFileSync(`/proc/${pid}/stat`, 'utf8')
  // The name, in parentheses, may contain anything. Behind it, utime and stime are the 12th and the 13th field.
  const fields = stat.slice(stat.lastIndexOf(')') + 2).split(' ')
  return (Number(fields[11]) + Number(fields[12])) * 10_000
}

/** @param {{ on: string, setup: string, engine: string, requests: number, node: string }} plan @returns {Promise<Figures>} */
async function measure({ on, setup, engine, requests, node }) {
  writeFileSync(join(directory, `${BYTES}`), 'a'.repeat(BYTES))
  const args = ['--no-tls', '--workers=2', '--address=127.0.0.1', `--htdocs=${directory}`]
  const { child: server, ports } = await startProgram('nghttpd', (port) => [...args, `${port}`], on)
  const origin = `http://127.0.0.1:${ports[0]}`
  const warmup = Math.ceil(requests / 4)
  const job = {
    setup,
    engine,
    origin,
    path: `/${BYTES}`,
    responseBytes: BYTES,
    inFlight: IN_FLIGHT,
    warmup,
    requests,
  }
  const script = fileURLToPath(new URL('threads/client.mjs', import.meta.url))
  const client = start('client', node, [script, JSON.stringify(job)], {}, on)
  try {
    client.stderr?.pipe(process.stderr)
    const lines = linesOf(client)
    if ((await lines.next()).value !== 'ready') throw new Error(`${setup}: the client did not start`)
    const before = readCpu(server.pid)
    client.stdin?.write('go\n')
    const { done, value } = await lines.next()
    if (done === true) throw new Error(`${setup}: the client ended`)
    const facts = JSON.parse(value)
    return {
      perSecond: facts.requests / (facts.millis / 1_000),
      client: facts.cpuMicros / facts.requests,
      server: (readCpu(server.pid) - before) / facts.requests,
    }
  } finally {
    const ended = once(client, 'close')
    // Its processes end with it, and it ends with its input.
    client.stdin?.end()
    if (!isGone(client)) await ended
    await stop(server)
  }
}

await runMain(async () => {
  const options = readOptions(help)
  const engines = options.choice('engine', ENGINES, 'both')
  const rounds = options.count('rounds', 9)
  const requests = options.count('requests', 40_000)
  const node = options.text('node') ?? process.execPath
  if (nghttpdVersion === null) throw new UsageError('nghttpd is not installed')
  if (cores === null) throw new UsageError('this needs taskset and two cores')
  const setups = Object.keys(SETUPS)
  const plans = engines.flatMap((engine) =>
    CORES.flatMap((on) =>
      setups.map((setup) => ({ engine, on, setup, requests, node, figures: /** @type {Figures[]} */ ([]) })),
    ),
  )
  for (let round = 1; round <= rounds; round++) {
    process.stderr.write(`round ${round} of ${rounds}\n`)
    for (const plan of plans) plan.figures.push(await measure(plan))
  }
  const { cpu, node: version } = describeMachine({ node, server: 'nghttpd' })
  console.log(`${cpu}, Node ${version}, ${nghttpdVersion}; ${rounds} rounds: median (lowest-highest)\n`)
  console.log(
    '| engine | cores | dispatchers | requests a second | beside one thread | CPU of the client, µs | CPU of the server, µs |',
  )
  console.log('| --- | --- | --- | --- | --- | --- | --- |')
  for (const [index, { engine, on, setup, figures }] of plans.entries()) {
    const spread = (/** @type {keyof Figures} */ key, /** @type {number} */ digits) =>
      toSpread(
        figures.map((one) => one[key]),
        digits,
      )
    // All setups of an engine and its cores stand behind their first.
    const base = plans[index - (index % setups.length)].figures
    const ratios = figures.map(({ perSecond }, round) => perSecond / base[round].perSecond)
    const cells = [engine, on.split(',').length, SETUPS[setup], spread('perSecond', 0)]
    const beside = setup === 'one' ? '' : toSpread(ratios, 2)
    console.log(`| ${[...cells, beside, spread('client', 1), spread('server', 1)].join(' | ')} |`)
  }
})
