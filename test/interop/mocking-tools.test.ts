/**
 * nock and msw, which answer for servers in place of Node's sockets. Their mocks, and the servers that they let requests through to, are to
 * be what they are for Node's own fetch and for undici, with Dodici behind them.
 *
 * Each test has a process of its own: the tools replace what is global. They need Node 22: on Node 20 the pinned one plays them.
 */

import { execFile } from 'node:child_process'
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import type { IncomingMessage, ServerResponse } from 'node:http'
import { createServer } from 'node:http'
import type { Http2ServerRequest, Http2ServerResponse } from 'node:http2'
import { createSecureServer } from 'node:http2'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { promisify } from 'node:util'
import { afterAll, beforeAll, expect, it } from 'vitest'
import { findNodeForUndici8 } from '../api/undici/rig.ts'
import { lacksPackages } from '../support/clients/packages.ts'
import { listen } from '../support/servers/listen.ts'
import { read, toCertificate } from '../support/servers/server.ts'

const dist = new URL('../../dist/', import.meta.url)
const child = fileURLToPath(new URL('./children/mocking-tools.mjs', import.meta.url))

/** Node's own fetch, and undici, are here for comparison: what they get is what the others are to get. */
const BUILTIN = 'the built-in fetch'
const UNDICI = 'request() of npm undici'

/** msw mocks the global fetch alone. Requests that are sent by other functions go to the servers, as undici's do. */
const FETCHES = [
  BUILTIN,
  'the built-in fetch, over an installed Agent',
  'the built-in fetch, with an Agent',
  'the fetch of dodici/undici as the global one',
]
const REQUESTS = [
  UNDICI,
  'request() of npm undici, with an Agent',
  'request()',
  'fetch()',
  'request() of dodici/undici',
]

const MOCKS = {
  hello: '200 text/plain a mock',
  late: '200 text/plain a late mock',
  big: '200 text/plain 1050000',
  missing: '404 text/plain nothing',
  POST: '201 text/plain heard this',
  'twenty at once': '200 text/plain a mock',
}

const SCHEMES = ['https', 'http']

/** A tool that mocks TLS speaks HTTP/1.1 alone. */
function toReal(way: string) {
  // Node's own fetch offers HTTP/2 from Node 26 on.
  const version = way === UNDICI ? '1.1' : '2.0'
  return {
    'real https': '200 text/plain 1.1 GET ',
    'real https POST': '200 text/plain 1.1 POST this',
    'real http': '200 text/plain 1.1 GET ',
    'real http without the tool': '200 text/plain 1.1 GET ',
    'real https without the tool':
      way === BUILTIN ? expect.stringMatching(/ (1\.1|2\.0) GET $/) : `200 text/plain ${version} GET `,
  }
}

/** @param error of the request that gets no response */
function toMocked(error: unknown): Record<string, unknown> {
  return Object.fromEntries(
    SCHEMES.flatMap((scheme) =>
      Object.entries({ ...MOCKS, error }).map(([what, expected]) => [`${scheme} ${what}`, expected]),
    ),
  )
}

const REFUSED = {
  'refused https': 'failed: Nock: Disallowed net connect for "other.test:443/"',
  'refused http': 'failed: Nock: Disallowed net connect for "other.test:80/"',
}

const LACKING = lacksPackages('user-tools')

let folder = ''
let node = ''

beforeAll(() => {
  folder = mkdtempSync(join(tmpdir(), 'dodici-mocking-tools-'))
  node = findNodeForUndici8()
})

afterAll(() => rmSync(folder, { recursive: true, force: true }))

/** What the child has got, for each request. */
async function run(tool: string, way: string, env: Record<string, string>): Promise<unknown> {
  const { private: key, cert } = await toCertificate()
  const certificate = join(folder, 'certificate.pem')
  writeFileSync(certificate, cert)
  const answer = (
    request: IncomingMessage | Http2ServerRequest,
    response: ServerResponse | Http2ServerResponse,
  ) => {
    void read(request).then((body) => {
      response.setHeader('content-type', 'text/plain')
      response.end(`${request.httpVersion} ${request.method} ${body}`)
    })
  }
  const secure = await listen(createSecureServer({ key, cert, allowHTTP1: true }, answer))
  const plain = await listen(createServer(answer))
  const { stdout } = await promisify(execFile)(node, [child, tool, way], {
    timeout: 120_000,
    env: {
      PATH: process.env.PATH,
      DODICI: new URL('index.js', dist).href,
      ENTRY: new URL('undici.js', dist).href,
      ORIGIN: `https://localhost:${secure.port}`,
      PLAIN: `http://localhost:${plain.port}`,
      CA: certificate,
      NODE_EXTRA_CA_CERTS: certificate,
      ...env,
    },
  })
  const told: unknown = JSON.parse(stdout)
  return told
}

/** Both engines where they are asked for in different ways, and the other ways on one. */
const ON_WIRE = ['the built-in fetch, over an installed Agent', 'request()']

function toCases(ways: readonly string[]): [way: string, engine: string][] {
  return ways.flatMap((way) =>
    (ON_WIRE.includes(way) ? ['node', 'wire'] : ['node']).map((engine): [string, string] => [way, engine]),
  )
}

it.skipIf(LACKING).each(toCases([...FETCHES, ...REQUESTS]))(
  'nock mocks %s, and lets other requests through (engine %s)',
  async (way, engine) => {
    expect(await run('nock', way, { engine, MOCKS: 'yes' })).toEqual({
      ...toMocked('failed: a mocked error'),
      ...REFUSED,
      ...toReal(way),
    })
  },
)

it.skipIf(LACKING).each(toCases(FETCHES))(
  'msw mocks %s, and lets other requests through (engine %s)',
  async (way, engine) => {
    // Node's own fetch rejects without a cause here.
    const error = `failed: ${way === BUILTIN ? 'fetch failed' : 'Network error'}`
    expect(await run('msw', way, { engine, MOCKS: 'yes' })).toEqual({ ...toMocked(error), ...toReal(way) })
  },
)

it.skipIf(LACKING).each(toCases(REQUESTS))('msw lets %s through (engine %s)', async (way, engine) => {
  expect(await run('msw', way, { engine, MOCKS: 'no' })).toEqual(toReal(way))
})
