/** What servers tolerate of resets, and how Dodici keeps to it: `npm run resets -- --help`. */

import { join } from 'node:path'
import { pathToFileURL } from 'node:url'
import { parseArgs } from 'node:util'
import { abortCalls } from './resets/aborts.mjs'
import { probe } from './resets/probe.mjs'
import { startOrigin, toRecipes } from './resets/servers.mjs'

/**
 * @typedef {import('./resets/probe.mjs').Verdict} Verdict
 * @typedef {import('./resets/aborts.mjs').Tally} Tally
 */

const help = `Usage: npm run resets -- [options]

Measures how many resets real servers tolerate on one connection, and what Dodici's aborts cost other calls there. Prints a table in
Markdown: docs/connections.md has it. scripts/install-servers.sh installs the servers. Takes about ten minutes.

  --servers NAMES  some of them, by commas
  --rate N         calls a second that are given up (default: 200); a quarter as many end well beside them
  --timeout MS     after so long they are given up (default: 1000)
  --seconds N      of each engine at each server (default: 20)
`

/** Resets of one connection at most. */
const TOTAL = 2_500
const BATCH = 50

const { values } = parseArgs({
  options: {
    help: { type: 'boolean', short: 'h' },
    servers: { type: 'string' },
    rate: { type: 'string', default: '200' },
    timeout: { type: 'string', default: '1000' },
    seconds: { type: 'string', default: '20' },
  },
})

/** @param {Verdict} verdict */
const toLimit = ({ resets, end }) =>
  end === null ? `more than ${resets.toLocaleString('en')}` : `${resets.toLocaleString('en')}: ${end}`

/** @param {Tally} tally */
function toCell({ failed, served, sessions, left }) {
  const reasons = [...new Set(failed)].map((reason) => `, ${reason}`).join('')
  return `${failed.length} of ${served + failed.length}${reasons}; ${left ?? '–'}; ${sessions}`
}

async function main() {
  const dodici = await import(pathToFileURL(join(import.meta.dirname, '../dist/index.js')).href)
  const plan = { rate: Number(values.rate), timeout: Number(values.timeout), seconds: Number(values.seconds) }
  const origin = await startOrigin()
  console.log('| server | at once, no response | at once, in a response | engine `node` | engine `wire` |')
  console.log('| --- | --- | --- | --- | --- |')
  for (const { name, start } of toRecipes(values.servers)) {
    /** @type {string[]} */
    const cells = []
    try {
      for (const path of ['/hang', '/drip']) {
        const { port, isUpload = false, stop } = await start(origin.port)
        // The body of a file comes at once.
        if (path === '/drip' && isUpload) cells.push('–')
        else cells.push(toLimit(await probe(port, path, { total: TOTAL, batch: BATCH, age: 0, isUpload })))
        await stop()
      }
      let shown = name
      for (const engine of /** @type {const} */ (['node', 'wire'])) {
        const { port, version, isOrigin = false, isUpload = false, stop } = await start(origin.port)
        const backend = isOrigin ? 0 : origin.port
        cells.push(
          toCell(
            await abortCalls(dodici, {
              ...plan,
              engine,
              origin: `http://127.0.0.1:${port}`,
              backend,
              isUpload,
            }),
          ),
        )
        shown = name.startsWith('Node') ? `Node ${version}` : `${name} ${version}`
        await stop()
      }
      console.log(`| ${shown} | ${cells.join(' | ')} |`)
    } catch (error) {
      console.log(`${name} is left out: ${error instanceof Error ? error.message : String(error)}`)
    }
  }
  await origin.stop()
}

if (values.help) console.log(help)
else await main()
