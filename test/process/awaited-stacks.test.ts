/** What Node prints of an error that a program doesn't catch. */

import { execFile } from 'node:child_process'
import { once } from 'node:events'
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { createServer as createHttp1 } from 'node:http'
import { createServer as createHttp2, createSecureServer } from 'node:http2'
import type { AddressInfo, Server } from 'node:net'
import { createServer as createTcp } from 'node:net'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { generate } from 'selfsigned'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { ENGINES } from '../support/clients/engines.ts'

const dist = new URL('../../dist/index.js', import.meta.url).href
const folder = mkdtempSync(join(tmpdir(), 'dodici-stacks-'))
const servers: Server[] = []
/** The port of each kind of server. */
const ports: Record<string, number> = {}

async function listen(kind: string, server: Server): Promise<void> {
  server.listen(0)
  await once(server, 'listening')
  const { port } = server.address() as AddressInfo
  ports[kind] = port
  servers.push(server)
}

beforeAll(async () => {
  const { private: key, cert } = await generate([{ name: 'commonName', value: 'localhost' }], {
    keyType: 'ec',
  })
  await listen('refused', createTcp())
  await new Promise((resolve) => servers.pop()?.close(resolve))
  await listen(
    'http1',
    createHttp1((_request, response) => response.end('http/1.1')),
  )
  await listen(
    'closing',
    createTcp((socket) => socket.on('data', () => socket.destroy()).on('error', () => null)),
  )
  await listen('tls', createSecureServer({ key, cert }))
  await listen(
    'http2',
    createHttp2((request, response) => {
      if (request.url === '/reset') request.stream.close(2)
      if (request.url === '/html') response.end('<p>no JSON</p>')
      if (request.url !== '/cut') return
      request.stream.on('error', () => {})
      response.write('part', () => request.stream.destroy(new Error('the rest never comes')))
    }),
  )
})

afterAll(() => {
  for (const server of servers) server.close()
  rmSync(folder, { recursive: true, force: true })
})

/** Runs a program that catches nothing. @returns what it wrote to its standard error */
function run(name: string, code: string): Promise<string> {
  const file = join(folder, `${name}.mjs`)
  writeFileSync(file, code)
  return new Promise((resolve) => {
    execFile(process.execPath, [file], { env: { ...process.env, NODE_OPTIONS: '' } }, (_error, _out, said) =>
      resolve(said),
    )
  })
}

const toProgram = (engine: string, call: string): string => `import * as dodici from '${dist}'
const dispatcher = new dodici.Agent({ engine: '${engine}', h2c: true, headersTimeout: 100 })
async function placeOrder() {
  return await ${call}
}
await placeOrder()
`

/** The server, the path of the request, what the first line of the error says, and the most lines that Node prints. */
const CASES: readonly (readonly [what: string, server: string, path: string, said: RegExp, lines: number])[] =
  [
    ['a refused connection', 'refused', '/', /^ConnectError: Could not connect to .*ECONNREFUSED/m, 26],
    ['a connection that is closed', 'closing', '/', /^SocketError: The connection was closed/m, 20],
    ['a stream that is reset', 'http2', '/reset', /^StreamError: The stream was reset/m, 28],
    ['a server that is late', 'http2', '/slow', /^HeadersTimeoutError: No response within/m, 20],
  ]

describe.each(ENGINES)('an uncaught error, engine %s', (engine) => {
  it.each(CASES)('of request(): %s leads to the caller', async (_what, server, path, said, lines) => {
    const scheme = server === 'tls' ? 'https' : 'http'
    const url = `${scheme}://localhost:${ports[server]}${path}`
    const text = await run(
      `${server}${path.slice(1)}-${engine}`,
      toProgram(engine, `dodici.request('${url}', { dispatcher })`),
    )
    expect(text).toMatch(said)
    expect(text).toMatch(/^ {4}at async placeOrder \(file:.*\.mjs:4:\d+\)$/m)
    expect(text).not.toContain(fileURLToPath(new URL('parts/', dist)))
    expect(text.trimEnd().split('\n').length).toBeLessThanOrEqual(lines)
  })

  it('of fetch(), whose cause has no frames of Dodici', async () => {
    const url = `http://localhost:${ports.refused}/`
    const text = await run(`fetch-${engine}`, toProgram(engine, `dodici.fetch('${url}', { dispatcher })`))
    expect(text).toMatch(/^TypeError: fetch failed\n {4}at async placeOrder /m)
    expect(text).toMatch(/\[cause\]: \[ConnectError: Could not connect/)
    expect(text.trimEnd().split('\n').length).toBeLessThanOrEqual(28)
  })

  it('of several requests, each of which leads to its own caller', async () => {
    const url = `http://localhost:${ports.refused}/`
    const code = `import * as dodici from '${dist}'
const dispatcher = new dodici.Agent({ engine: '${engine}', h2c: true })
async function first() { return await dodici.request('${url}', { dispatcher }) }
async function second() { return await dodici.request('${url}', { dispatcher }) }
const [one, two] = await Promise.allSettled([first(), second()])
console.error(one.reason.stack + two.reason.stack)
`
    const text = await run(`several-${engine}`, code)
    expect(text).toMatch(/at async first [\s\S]*at async second /)
    expect(text.match(/at async first/g)).toHaveLength(1)
  })

  it('keeps its own stack where nothing awaits the promise', async () => {
    const url = `http://localhost:${ports.refused}/`
    const text = await run(
      `then-${engine}`,
      toProgram(
        engine,
        `null\n}\nfunction placeOrders() {\n  dodici.request('${url}', { dispatcher }).then(() => null)\n}\nplaceOrders()\n{`,
      ),
    )
    expect(text).toMatch(/^ConnectError: Could not connect to .*\n {4}at /m)
  })
})
