/**
 * Sends real requests through every API and prints the responses: `npm run demo -- --help`.
 */

import { parseArgs } from 'node:util'
import { compareCpu } from './demo/cpu.mjs'
import { probe } from './demo/probe.mjs'
import { runCases } from './demo/run.mjs'
import { startDemoServer } from './demo/server.mjs'
import { tell } from './demo/story.mjs'
import { codeOf, DemoError, explain } from './demo/support.mjs'
import { table } from './demo/table.mjs'

/** @typedef {import('./demo/story.mjs').Play} Play */
/** @typedef {import('./demo/table.mjs').Row} Row */

const help = `Usage: npm run demo -- [URL] [options]

Without a URL, requests go to a server that the demo starts itself, over TLS and over cleartext HTTP/2 (h2c), on both
engines. What comes back is compared with what had to come: a wrong response is a failure.

With one, they go to that server: https: negotiates HTTP/2, http: is h2c with prior knowledge.
GET requests and some small POST requests are sent to the URL; any response will do. An extended CONNECT for
websocket is sent if the server offers it; 'refused' is a response too. What takes more than any server can respond
is left out: CONNECT, trailers, informational responses, responses that never end.

  --all         a row for each request to the demo's own server
  --insecure    don't check the server's certificate
  --help        print this
`

/**
 * @returns {{ url: URL | null, insecure: boolean, all: boolean } | null} null when only help is wanted
 */
function readArguments() {
  /** @type {{ values: { insecure?: boolean, all?: boolean, help?: boolean }, positionals: string[] }} */
  let parsed
  try {
    parsed = parseArgs({
      options: {
        insecure: { type: 'boolean' },
        all: { type: 'boolean' },
        help: { type: 'boolean', short: 'h' },
      },
      allowPositionals: true,
    })
  } catch (error) {
    throw new DemoError(`${explain(error)}\n\n${help}`)
  }
  const { values, positionals } = parsed
  if (values.help === true) return null
  if (positionals.length > 1) throw new DemoError(`One URL at most, please.\n\n${help}`)
  const [given] = positionals
  const flags = { insecure: values.insecure === true, all: values.all === true }
  if (given === undefined) return { url: null, ...flags }
  const url = URL.canParse(given) ? new URL(given) : null
  if (url === null || (url.protocol !== 'http:' && url.protocol !== 'https:')) {
    throw new DemoError(`Not an http: or https: URL: ${given}`)
  }
  return { url, ...flags }
}

/** @returns {Promise<typeof import('dodici')>} */
async function loadDodici() {
  try {
    return await import('dodici')
  } catch (error) {
    if (codeOf(error) !== 'ERR_MODULE_NOT_FOUND') throw error
    throw new DemoError(`Dodici isn't built yet: run "npm run build" first.`)
  }
}

/**
 * All cases against the demo's own server, on both engines, over TLS and h2c.
 *
 * @param {typeof import('dodici')} dodici
 * @returns {Promise<Play[]>}
 */
async function play(dodici) {
  const server = await startDemoServer()
  const plays = []
  try {
    for (const engine of /** @type {const} */ (['node', 'wire'])) {
      for (const [protocol, origin, connect] of /** @type {const} */ ([
        ['h2', server.h2, { ca: server.ca }],
        ['h2c', server.h2c, {}],
      ])) {
        const rows = await runCases(dodici, { origin, path: null, connect, engine, probed: null })
        plays.push({ engine, protocol, rows })
      }
    }
  } finally {
    await server.close()
  }
  return plays
}

/** @param {Row[]} rows */
function tellFailures(rows) {
  const failed = rows.filter(({ failure }) => failure !== null)
  if (failed.length === 0) return
  console.error(`\n${failed.map(({ api, status, failure }) => `${api}: ${status}: ${failure}`).join('\n')}`)
  process.exitCode = 1
}

async function main() {
  const wanted = readArguments()
  if (wanted === null) {
    process.stdout.write(help)
    return
  }
  const { url, insecure, all } = wanted
  const dodici = await loadDodici()
  if (url === null) {
    const plays = await play(dodici)
    if (all) {
      for (const { engine, rows } of plays) console.log(`engine ${engine}\n${table(rows)}`)
    } else {
      console.log(tell(plays, await compareCpu(dodici)))
    }
    tellFailures(plays.flatMap(({ rows }) => rows))
    return
  }
  const rows = await runCases(dodici, {
    origin: url.origin,
    path: `${url.pathname}${url.search}`,
    connect: insecure ? { rejectUnauthorized: false } : {},
    probed: await probe(url, insecure),
  })
  console.log(table(rows))
  tellFailures(rows)
}

try {
  await main()
} catch (error) {
  console.error(error instanceof DemoError ? error.message : error)
  process.exitCode = 1
}
