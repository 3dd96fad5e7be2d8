/** Records what README.md and docs/performance.md show: a run of all clients, its charts and its figures, and one of bodies. */
import { spawnSync } from 'node:child_process'
import { readFileSync, writeFileSync } from 'node:fs'
import { fileURLToPath } from 'node:url'
import { readOptions, runMain, UsageError } from '../scripts/options.mjs'
import { nodeVersionOf, readRevision, root } from './e2e/servers.mjs'

const help = `Runs all clients, and puts the results into bench/recorded/, and their figures into docs/performance.md. Needs the build, a work tree
without changes, and a machine that does nothing else for an hour.

  node bench/record.mjs
  --what A,B      requests, bodies (default: both)
  --rounds N      (default: 7)
  --node FILE     a Node 24 that runs the clients (default: this one)
`

const BODIES = ['get-64k', 'get-1m', 'get-100m', 'post-64k', 'post-1m', 'post-100m']
const BODY_CLIENTS = 'dodici-wire,dodici,node-http2,undici,undici-http1,go'

/** What the page shows, and nothing that it doesn't: the arguments of each run, and the files of it that are kept. */
const PARTS = {
  requests: {
    args: '--scenario get-1k,get-1k-tls --apis dispatch,request,fetch --against floor,undici',
    result: 'result.json',
    charts: ['readme-cpu.svg', 'all-cpu.svg', 'all-throughput.svg'],
  },
  bodies: {
    args: `--scenario ${BODIES.flatMap((name) => [name, `${name}-tls`])} --apis dispatch --clients ${BODY_CLIENTS} --against node-http2`,
    result: 'bodies.json',
    charts: [],
  },
}
const LINE = '24'

/** @param {string} path */
const toFile = (path) => fileURLToPath(new URL(path, import.meta.url))

/** @param {string} node @param {string[]} args */
function run(node, ...args) {
  const { status } = spawnSync(node, args, { stdio: 'inherit', cwd: root })
  if (status !== 0) throw new Error(`${args[0]} ended with ${status}`)
}

await runMain(async () => {
  const options = readOptions(help)
  const what = options.names('what', Object.keys(PARTS)) ?? Object.keys(PARTS)
  const rounds = options.count('rounds', 7)
  const node = options.text('node') ?? process.execPath
  const version = nodeVersionOf(node)
  if (!version.startsWith(`${LINE}.`))
    throw new UsageError(`--node must be a Node ${LINE}, and this is ${version}`)
  if (readRevision()?.isDirty !== false)
    throw new UsageError('the work tree has changes: a recorded run is one of a revision')
  // Written when all parts are over: to the next part, the work tree would have changes.
  /** @type {Map<string, Buffer>} */
  const made = new Map()
  for (const name of what) {
    const { args, result, charts } = PARTS[/** @type {keyof typeof PARTS} */ (name)]
    // By its own Node, so that the command line that is recorded names no file of this machine.
    run(node, 'bench/e2e/run.mjs', ...args.split(' '), '--rounds', `${rounds}`)
    made.set(result, readFileSync(toFile('results/latest.json')))
    for (const chart of charts) made.set(chart, readFileSync(toFile(`results/${chart}`)))
  }
  for (const [name, bytes] of made) writeFileSync(toFile(`recorded/${name}`), bytes)
  run(node, 'scripts/readme-figures.mjs', '--write')
})
