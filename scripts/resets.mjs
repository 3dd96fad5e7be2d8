/** What servers tolerate of resets, and how Dodici keeps to it: `npm run resets -- --help`. */

import { readOptions, runMain } from './options.mjs'
import { abortCalls } from './resets/aborts.mjs'
import { probe } from './resets/probe.mjs'
import { KINDS, startOrigin } from './soak/servers.mjs'

/** Those that are measured as they come, with their own limits. */
const SERVERS = ['Node 20', 'Node 22', 'Node 24', 'Node 26', 'Go', 'nghttpd', 'nginx', 'Envoy', 'h2o']

const help = `Usage: npm run resets -- [options]

Measures how many resets real servers tolerate on one connection, and what Dodici's aborts cost other calls there. Prints a table in
Markdown: docs/connections.md has it. scripts/install-servers.sh installs the servers. Takes about ten minutes.

  --servers NAMES  some of them, by commas: ${SERVERS.join(', ')}
  --rate N         calls a second that are given up (default: 200); a quarter as many end well beside them
  --timeout MS     after so long they are given up (default: 1000)
  --seconds N      of each engine at each server (default: 20)
`

/** Resets of one connection at most. */
const TOTAL = 2_500
const BATCH = 50

/** A server of files can't be made to wait: its uploads wait for their end. @param {string} name */
const isUpload = (name) => name === 'nghttpd'
/** Whether it has the paths of `echo.mjs` itself. @param {string} name */
const isOrigin = (name) => name.startsWith('Node') || name === 'Go'

/** @param {string} name @param {number} origin @returns {Promise<string[]>} how many resets it takes */
async function toLimits(name, origin) {
  const cells = []
  for (const path of ['/hang', '/drip']) {
    // The body of a file comes at once.
    if (path === '/drip' && isUpload(name)) return [...cells, '–']
    const { port, stop } = await KINDS[name].recipe(origin)
    const plan = { total: TOTAL, batch: BATCH, isUpload: isUpload(name) }
    const { resets, end } = await probe(port, path, plan)
    await stop()
    cells.push(
      end === null ? `more than ${resets.toLocaleString('en')}` : `${resets.toLocaleString('en')}: ${end}`,
    )
  }
  return cells
}

await runMain(async () => {
  const options = readOptions(help)
  const names = options.names('servers', SERVERS) ?? SERVERS
  const plan = {
    rate: options.count('rate', 200),
    timeout: options.count('timeout', 1_000),
    seconds: options.count('seconds', 20),
  }
  /** By a constant, or tsconfig.json would lead to the sources, of which nothing is compiled here. @type {string} */
  const name = 'dodici'
  const dodici = await import(name)
  const origin = await startOrigin()
  console.log(
    '| server | no budget, before responses | no budget, during responses | engine `node` | engine `wire` |',
  )
  console.log('| --- | --- | --- | --- | --- |')
  for (const name of names) {
    try {
      const cells = await toLimits(name, origin.port)
      let shown = name
      for (const engine of /** @type {const} */ (['node', 'wire'])) {
        const server = await KINDS[name].recipe(origin.port)
        const backend = isOrigin(name) ? 0 : origin.port
        const own = { ...plan, engine, origin: server.origin, backend, isUpload: isUpload(name) }
        const { failed, served, sessions, left } = await abortCalls(dodici, own)
        const reasons = [...new Set(failed)].map((reason) => `, ${reason}`).join('')
        cells.push(`${failed.length} of ${served + failed.length}${reasons}; ${left ?? '–'}; ${sessions}`)
        shown = name.startsWith('Node') ? `Node ${server.version}` : `${name} ${server.version}`
        await server.stop()
      }
      console.log(`| ${shown} | ${cells.join(' | ')} |`)
    } catch (error) {
      console.log(`${name} is left out: ${error instanceof Error ? error.message : String(error)}`)
    }
  }
  await origin.stop()
})
