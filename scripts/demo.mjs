/**
 * Sends real requests through every API and prints the responses: `npm run demo -- --help`.
 */

import { parseArgs } from 'node:util'
import { probe } from './demo/probe.mjs'
import { runCases } from './demo/run.mjs'
import { startDemoServer } from './demo/server.mjs'
import { codeOf, DemoError, explain } from './demo/support.mjs'
import { table } from './demo/table.mjs'

/** @typedef {import('./demo/table.mjs').Row} Row */

const help = `Usage: npm run demo -- [URL] [options]

Without a URL, requests go to a server that the demo starts itself, over TLS and over cleartext HTTP/2 (h2c).
What comes back is compared with what had to come: a wrong response is a failure.

With one, they go to that server: https: negotiates HTTP/2, http: is h2c with prior knowledge.
GET requests and some small POST requests are sent to the URL; any response will do. An extended CONNECT for
websocket is sent if the server offers it; 'refused' is a response too. What takes more than any server can respond
is left out: CONNECT, trailers, informational responses, responses that never end.

  --insecure    don't check the server's certificate
  --help        print this
`

/**
 * @returns {{ url: URL | null, insecure: boolean } | null} null when only help is wanted
 */
function readArguments() {
  /** @type {{ values: { insecure?: boolean, help?: boolean }, positionals: string[] }} */
  let parsed
  try {
    parsed = parseArgs({
      options: { insecure: { type: 'boolean' }, help: { type: 'boolean', short: 'h' } },
      allowPositionals: true,
    })
  } catch (error) {
    throw new DemoError(`${explain(error)}\n\n${help}`)
  }
  const { values, positionals } = parsed
  if (values.help === true) return null
  if (positionals.length > 1) throw new DemoError(`One URL at most, please.\n\n${help}`)
  const [given] = positionals
  if (given === undefined) return { url: null, insecure: values.insecure === true }
  const url = URL.canParse(given) ? new URL(given) : null
  if (url === null || (url.protocol !== 'http:' && url.protocol !== 'https:')) {
    throw new DemoError(`Not an http: or https: URL: ${given}`)
  }
  return { url, insecure: values.insecure === true }
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

async function main() {
  const wanted = readArguments()
  if (wanted === null) {
    process.stdout.write(help)
    return
  }
  const dodici = await loadDodici()

  /** @type {Row[]} */
  const rows = []
  if (wanted.url === null) {
    const server = await startDemoServer()
    try {
      rows.push(
        ...(await runCases(dodici, {
          origin: server.h2,
          path: null,
          connect: { ca: server.ca },
          probed: null,
        })),
        ...(await runCases(dodici, { origin: server.h2c, path: null, connect: {}, probed: null })),
      )
    } finally {
      await server.close()
    }
  } else {
    const { url, insecure } = wanted
    rows.push(
      ...(await runCases(dodici, {
        origin: url.origin,
        path: `${url.pathname}${url.search}`,
        connect: insecure ? { rejectUnauthorized: false } : {},
        probed: await probe(url, insecure),
      })),
    )
  }

  console.log(table(rows))
  const failed = rows.filter(({ failure }) => failure !== null)
  if (failed.length > 0) {
    console.error(`\n${failed.map(({ api, status, failure }) => `${api}: ${status}: ${failure}`).join('\n')}`)
    process.exitCode = 1
  }
}

try {
  await main()
} catch (error) {
  console.error(error instanceof DemoError ? error.message : error)
  process.exitCode = 1
}
