/** Records what README.md and docs/performance.md show: a run of all clients, its two charts and its figures. */
import { spawnSync } from 'node:child_process'
import { copyFileSync } from 'node:fs'
import { fileURLToPath } from 'node:url'
import { readOptions, runMain, UsageError } from '../scripts/options.mjs'
import { nodeVersionOf, readRevision, root } from './e2e/servers.mjs'

const help = `Runs all clients, and puts the result into bench/recorded/, and its figures into docs/performance.md. Needs the build, a work tree without
changes, and a machine that does nothing else for half an hour.

  node bench/record.mjs
  --rounds N      (default: 7)
  --node FILE     a Node 24 that runs the clients (default: this one)
`

/** What they show, and nothing that it doesn't. */
const SHOWN = '--scenario get-1k,get-1k-tls --apis dispatch,request,fetch --against floor,undici'.split(' ')
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
  const rounds = options.count('rounds', 7)
  const node = options.text('node') ?? process.execPath
  const version = nodeVersionOf(node)
  if (!version.startsWith(`${LINE}.`))
    throw new UsageError(`--node must be a Node ${LINE}, and this is ${version}`)
  if (readRevision()?.isDirty !== false)
    throw new UsageError('the work tree has changes: a recorded run is one of a revision')
  // By its own Node, so that the command line that is recorded names no file of this machine.
  run(node, 'bench/e2e/run.mjs', ...SHOWN, '--rounds', `${rounds}`)
  copyFileSync(toFile('results/latest.json'), toFile('recorded/result.json'))
  for (const chart of ['readme-cpu.svg', 'all-cpu.svg', 'all-throughput.svg'])
    copyFileSync(toFile(`results/${chart}`), toFile(`recorded/${chart}`))
  run(node, 'scripts/readme-figures.mjs', '--write')
})
