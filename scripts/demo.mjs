/**
 * Sends real requests through every API and prints what came back: `npm run demo -- --help`.
 */

import { subscribe } from 'node:diagnostics_channel'
import { once } from 'node:events'
import { connect as connectTcp } from 'node:net'
import { performance } from 'node:perf_hooks'
import { connect as connectTls, TLSSocket } from 'node:tls'
import { parseArgs } from 'node:util'
import { cases } from './demo/cases.mjs'
import { startDemoServer } from './demo/server.mjs'

/** @typedef {import('./demo/cases.mjs').ClientLike} ClientLike */
/** @typedef {import('./demo/cases.mjs').Outcome} Outcome */

const help = `Usage: npm run demo -- [URL] [options]

Without a URL, requests go to a server that the demo starts itself, over TLS and over cleartext HTTP/2 (h2c).
With one, they go to that server: https: negotiates HTTP/2, http: is h2c with prior knowledge.
GET requests and two small POST requests are sent to the URL; any answer will do.

  --insecure    don't check the server's certificate
  --help        print this
`

/** How long a case, a probe or a close may take, in milliseconds. */
const limit = 10_000

/** An error whose message is all that the user needs. */
class DemoError extends Error {}

/**
 * One row of the table; what isn't known stays empty.
 *
 * @typedef {object} Row
 * @property {string} api
 * @property {string} protocol
 * @property {string} status
 * @property {string} bytes
 * @property {string} milliseconds
 * @property {string} headers
 * @property {string | null} failure
 */

/**
 * A server to send requests to.
 *
 * @typedef {object} Target
 * @property {string} origin
 * @property {string | null} path where all cases go; null: each has a path of its own
 * @property {object} connect the client's `connect` options
 * @property {string | null} probed the protocol that a handshake of our own got; null: the server reports it
 */

/** @type {WeakSet<object>} header objects, as node:http2 handed them out */
const sessionHeaders = new WeakSet()
subscribe('http2.client.stream.finish', (message) => {
  if (typeof message === 'object' && message !== null && 'headers' in message) {
    const { headers } = message
    if (typeof headers === 'object' && headers !== null) sessionHeaders.add(headers)
  }
})

/** @type {TLSSocket[]} the TLS sockets that were opened in this process; Node 20 publishes none of them */
const tlsSockets = []
subscribe('net.client.socket', (message) => {
  if (typeof message !== 'object' || message === null || !('socket' in message)) return
  if (message.socket instanceof TLSSocket) tlsSockets.push(message.socket)
})

/**
 * @param {Outcome['headers']} headers
 * @returns {string}
 */
function describeHeaders(headers) {
  if (Array.isArray(headers)) return 'raw array'
  // Node 20 doesn't publish the session's objects; that it has no prototype, as node made it, still can be
  // seen.
  if (sessionHeaders.has(headers)) return "object (same as the session's)"
  return Object.getPrototypeOf(headers) === null ? 'object (no prototype)' : 'object (a copy)'
}

/**
 * @param {Outcome['headers']} headers
 * @param {string} name
 * @returns {string | undefined}
 */
function headerValue(headers, name) {
  const value = Array.isArray(headers) ? headers[headers.indexOf(name) + 1] : headers[name]
  return typeof value === 'string' ? value : undefined
}

/**
 * @template T
 * @param {Promise<T>} promise
 * @returns {Promise<T>}
 */
async function withinLimit(promise) {
  /** @type {NodeJS.Timeout | undefined} */
  let timer
  const late = new Promise((_, reject) => {
    timer = setTimeout(() => {
      reject(Object.assign(new Error(`nothing after ${limit / 1000} s`), { code: 'DEMO_TIMEOUT' }))
    }, limit)
  })
  try {
    return /** @type {T} */ (await Promise.race([promise, late]))
  } finally {
    clearTimeout(timer)
  }
}

/**
 * @param {unknown} error
 * @returns {string}
 */
function codeOf(error) {
  if (!(error instanceof Error)) return String(error)
  return 'code' in error && typeof error.code === 'string' ? error.code : error.name
}

/**
 * @param {unknown} error
 * @returns {string} the message, and those of what caused it
 */
function explain(error) {
  if (!(error instanceof Error)) return String(error)
  // Several addresses that all fail make an AggregateError, whose own message is empty.
  const message =
    error.message || (error instanceof AggregateError ? error.errors.map(explain).join('; ') : error.name)
  return error.cause === undefined || error.cause === null ? message : `${message} (${explain(error.cause)})`
}

/**
 * @param {ClientLike} client
 * @param {Target} target
 * @param {import('./demo/cases.mjs').Case} testCase
 * @returns {Promise<Row>}
 */
async function runCase(client, target, testCase) {
  const before = performance.now()
  const elapsed = () => (performance.now() - before).toFixed(1)
  try {
    const { status, bytes, headers, problem } = await withinLimit(
      testCase.run(client, target.path ?? testCase.path),
    )
    const row = {
      api: testCase.api,
      status: `${status}`,
      bytes: `${bytes}`,
      milliseconds: elapsed(),
      headers: describeHeaders(headers),
    }
    // A server of somebody else's owes us nothing but an answer.
    if (target.probed !== null) {
      return { ...row, protocol: tlsSockets.at(-1)?.alpnProtocol || target.probed, failure: null }
    }
    const failure = status !== 200 ? 'the status is not 200' : problem
    return { ...row, protocol: headerValue(headers, 'x-protocol') ?? 'unknown', failure }
  } catch (error) {
    return {
      api: testCase.api,
      protocol: '',
      status: codeOf(error),
      bytes: '',
      milliseconds: elapsed(),
      headers: '',
      failure: explain(error),
    }
  }
}

/**
 * @param {typeof import('dodici')} dodici
 * @param {Target} target
 * @returns {Promise<Row[]>}
 */
async function runCases({ Client }, target) {
  /** @type {ClientLike} */
  const client = new Client(target.origin, { connect: target.connect })
  const rows = []
  try {
    for (const testCase of cases) rows.push(await runCase(client, target, testCase))
    // After a failure there may be a request that never ends, and close() would wait for it.
    if (rows.every(({ failure }) => failure === null)) await withinLimit(client.close())
  } finally {
    await client.destroy()
  }
  return rows
}

/**
 * Finds out whether a server is there and, over TLS, what it negotiates, so that 'nobody is there' is one
 * clear message instead of a table full of errors.
 *
 * @param {URL} url
 * @param {boolean} insecure
 * @returns {Promise<string>} the protocol
 */
async function probe(url, insecure) {
  const tls = url.protocol === 'https:'
  const host = url.hostname.replace(/^\[|\]$/g, '')
  const port = Number(url.port) || (tls ? 443 : 80)
  const tcp = connectTcp({ host, port })
  try {
    await withinLimit(once(tcp, 'connect'))
  } catch (error) {
    tcp.destroy()
    throw new DemoError(`Can't reach ${url.origin}: ${explain(error)}`)
  }
  if (!tls) {
    tcp.destroy()
    return 'h2c'
  }
  // The offer that the client makes too. Whether the certificate is good is for the client to say, in the
  // table.
  const secured = connectTls({
    socket: tcp,
    ...(/^[\d.]+$|:/.test(host) ? {} : { servername: host }),
    ALPNProtocols: ['h2', 'http/1.1'],
    rejectUnauthorized: false,
  })
  try {
    await withinLimit(once(secured, 'secureConnect'))
    if (!secured.authorized && !insecure) {
      console.error(
        `The certificate isn't trusted (${secured.authorizationError}); --insecure skips the check.`,
      )
    }
    return secured.alpnProtocol || 'http/1.1'
  } catch (error) {
    throw new DemoError(`No TLS with ${url.origin}: ${explain(error)}`)
  } finally {
    secured.destroy()
  }
}

/** @type {{ title: string, key: Exclude<keyof Row, 'failure'>, right: boolean }[]} */
const columns = [
  { title: 'API', key: 'api', right: false },
  { title: 'protocol', key: 'protocol', right: false },
  { title: 'status', key: 'status', right: false },
  { title: 'bytes', key: 'bytes', right: true },
  { title: 'ms', key: 'milliseconds', right: true },
  { title: 'headers', key: 'headers', right: false },
]

/**
 * @param {Row[]} rows
 * @returns {string}
 */
function table(rows) {
  const cells = columns.map(({ title, key, right }) => {
    const column = [title, ...rows.map((row) => row[key])]
    const width = Math.max(...column.map((cell) => cell.length))
    return column.map((cell) => (right ? cell.padStart(width) : cell.padEnd(width)))
  })
  return [-1, ...rows.keys()]
    .map((row) =>
      cells
        .map((column) => column[row + 1])
        .join('  ')
        .trimEnd(),
    )
    .join('\n')
}

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
