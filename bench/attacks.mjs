/**
 * What the attacks of a hostile server cost a client: CPU time, memory, and how the calls end. Each attack meets a client
 * of its own, in a process of its own, on each engine.
 */
import { spawnSync } from 'node:child_process'
import { readFileSync, writeFileSync } from 'node:fs'
import { setTimeout as wait } from 'node:timers/promises'
import { makeCertificate } from '../scripts/certificate.mjs'
import { Child } from '../scripts/children.mjs'
import { readOptions, runMain, UsageError } from '../scripts/options.mjs'
import { withPart } from '../scripts/page.mjs'
import { compileScript, loadModules } from '../scripts/support.mjs'

const MEGABYTE = 1_000_000
/** Of a client that repeats its request. */
const CALLS = 1_000
const ENGINES = ['wire', 'node']
const PAGE = new URL('../docs/threat-model.md', import.meta.url)

const help = `Plays the attacks of a hostile server to clients of both engines, and prints a table in Markdown.

  npm run bench:attacks -- [options]
  --attacks TEXT   only those with TEXT in their names, such as PING
  --engine NAME    wire or node, and not both
  --megabytes N    how much of most attacks is sent (default: 4)
  --patience N     how many seconds a client bears it (default: 20)
  --node FILE      another Node
  --write          put the table into docs/threat-model.md
`

/** @typedef {Awaited<ReturnType<import('./attacks/client.mjs').Methods['suffer']>>} Figures */
/** @typedef {{ name: string, engine: string, figures: Figures | string }} Row */

function toSetting() {
  const options = readOptions(help)
  const attacks = options.text('attacks') ?? ''
  const write = options.flag('write')
  const engines = options.names('engine', ENGINES) ?? ENGINES
  if (write && (attacks !== '' || options.text('engine') !== undefined))
    throw new UsageError('--write needs all attacks, on both engines')
  const bytes = options.count('megabytes', 4) * MEGABYTE
  const patience = options.count('patience', 20) * 1_000
  return { attacks, engines, bytes, patience, node: options.text('node') ?? process.execPath, write }
}

/**
 * @param {{ peer: string, client: string }} files
 * @param {{ name: string, engine: string, bytes: number, calls: number, patience: number }} job
 * @param {{ key: string, cert: string }} certificate @param {string} node
 * @returns {Promise<Figures | string>} a string: what became of the process
 */
async function measure(files, job, certificate, node) {
  const env = { ...process.env, NODE_OPTIONS: '' }
  /** @type {Child<import('./attacks/peer.mjs').Methods>} */
  const peer = new Child(files.peer, { name: job.name, ...certificate }, { env })
  const own = { ...job, origin: await peer.ask('listen') }
  /** @type {Child<import('./attacks/client.mjs').Methods>} */
  const client = new Child(files.client, own, { execPath: node, execArgv: ['--expose-gc'], env })
  // A client that is stuck natively reaches no limit of its own.
  const timer = new AbortController()
  const late = wait(3 * job.patience + 10_000, 'the process hangs', timer).catch(() => '')
  try {
    return await Promise.race([client.ask('suffer').catch(({ message }) => message), late])
  } finally {
    timer.abort()
    await Promise.all([client.stop(), peer.stop()])
  }
}

/** @param {number} bytes */
const toMegabytes = (bytes) => (bytes / MEGABYTE).toFixed(bytes < MEGABYTE ? 2 : 1)

/** @param {Row} row */
function toMarkdown({ name, engine, figures }) {
  if (typeof figures === 'string') return `| ${name} | \`${engine}\` | ${figures} | | | | | | |`
  const { call, sibling, next, bytesRead, cpu, peak, held } = figures
  const outcomes = [call, sibling === 'sibling' ? 'served' : sibling, next === '/next' ? 'served' : next]
  // A few bytes tell nothing of the cost of many.
  const ns = bytesRead < 10_000 ? '' : ((cpu * MEGABYTE) / bytesRead).toFixed(0)
  const cells = [name, `\`${engine}\``, ...outcomes, toMegabytes(bytesRead), cpu.toFixed(0), ns]
  return `| ${[...cells, `${toMegabytes(peak)}, ${toMegabytes(held)}`].join(' | ')} |`
}

const HEAD = [
  '| attack | engine | the call | its sibling | the next call | MB read | CPU, ms | ns a byte | MB of memory: peak, held |',
  '| --- | --- | --- | --- | --- | --- | --- | --- | --- |',
]

await runMain(async () => {
  const { attacks, engines, bytes, patience, node, write } = toSetting()
  const { ATTACKS } = await loadModules(`export { ATTACKS } from '../test/support/peers/attacks.ts'`)
  /** @type {string[]} */
  const all = ATTACKS.map((/** @type {{ name: string }} */ { name }) => name)
  const names = all.filter((name) => name.includes(attacks))
  if (names.length === 0) throw new UsageError(`--attacks: none has ${attacks} in its name`)
  const certificate = await makeCertificate()
  const [peer, client] = ['peer', 'client'].map((script) => compileScript(`../bench/attacks/${script}.mjs`))
  /** @type {Row[]} */
  const rows = []
  try {
    for (const name of names) {
      for (const engine of engines) {
        process.stderr.write(`${name}, ${engine}\n`)
        const job = { name, engine, bytes, calls: CALLS, patience }
        const figures = await measure({ peer: peer.file, client: client.file }, job, certificate, node)
        rows.push({ name, engine, figures })
      }
    }
  } finally {
    peer.remove()
    client.remove()
  }
  const { stdout: version } = spawnSync(node, ['--version'], { encoding: 'utf8' })
  const about = `Node ${version.trim()}, ${bytes / MEGABYTE} MB of most attacks.`
  const table = [about, '', ...HEAD, ...rows.map(toMarkdown)].join('\n')
  process.stdout.write(`${table}\n`)
  if (!write) return
  const page = readFileSync(PAGE, 'utf8')
  writeFileSync(PAGE, withPart(page, '<!-- figures -->\n', '\n<!-- end of figures -->', table))
})
