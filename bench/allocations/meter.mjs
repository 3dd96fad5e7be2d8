/** Runs the worker on the pinned Node 24, against a server in a process of its own. */
import { spawn, spawnSync } from 'node:child_process'
import { readFile } from 'node:fs/promises'
import { fileURLToPath } from 'node:url'
import { keep, linesOf, stop } from '../../scripts/processes.mjs'
import { compileScript } from '../../scripts/support.mjs'

/** @param {string} relative */
const toFile = (relative) => fileURLToPath(new URL(relative, import.meta.url))

/** Room for all that a worker allocates, some 170 MB at most. In megabytes. */
const YOUNG_GENERATION = 256

const installer = toFile('../../scripts/install-node.sh')

/** The one version that the figures hold for, such as `v24.21.0`. */
export async function pinnedVersion() {
  // Read, not run: the script ends with an error where it has no Node to install.
  const version = /^\s*24\) version=(\S+)/m.exec(await readFile(installer, 'utf8'))?.[1]
  if (version === undefined) throw new Error(`No Node 24 is pinned in ${installer}`)
  return `v${version}`
}

/** @returns {Promise<string>} the path of that Node, installed if need be */
async function pinnedNode() {
  if (process.version === (await pinnedVersion())) return process.execPath
  const { status, stdout } = spawnSync(installer, ['24'], {
    encoding: 'utf8',
    stdio: ['ignore', 'pipe', 'inherit'],
  })
  if (status !== 0) throw new Error('The pinned Node 24 is not here, and could not be installed')
  return stdout.trim()
}

/** @param {string} node @param {string[]} args */
function start(node, args) {
  // Node options of the process that started us aren't for them: they may change what is allocated.
  const env = { ...process.env, NODE_OPTIONS: '' }
  // Their input stays open until they are done: the server ends with it, and with it when we die.
  return keep(spawn(node, args, { stdio: ['pipe', 'pipe', 'inherit'], env }))
}

/** The number that a child writes on its first line. @param {ReturnType<typeof start>} child */
async function readNumber(child) {
  const { done, value } = await linesOf(child).next()
  if (done === true) throw new Error('A child ended without a figure; it says above why')
  return Number(value)
}

/** `measure()` gives the bytes a request, in a fresh process each time. */
export async function openMeter() {
  const node = await pinnedNode()
  const { file: dodici, remove } = compileScript('../src/index.ts')
  const server = start(node, [toFile('server.mjs')])
  const close = async () => {
    await stop(server)
    remove()
  }
  try {
    const origin = `http://127.0.0.1:${await readNumber(server)}`
    return {
      measure: (/** @type {string} */ path, extra = 0) => measure(node, { path, origin, dodici, extra }),
      close,
    }
  } catch (error) {
    await close()
    throw error
  }
}

/** @param {string} node @param {import('./worker.mjs').Job} job */
async function measure(node, job) {
  const flags = [`--min-semi-space-size=${YOUNG_GENERATION}`, `--max-semi-space-size=${YOUNG_GENERATION}`]
  const worker = start(node, [...flags, toFile('worker.mjs'), JSON.stringify(job)])
  try {
    return await readNumber(worker)
  } finally {
    await stop(worker)
  }
}
