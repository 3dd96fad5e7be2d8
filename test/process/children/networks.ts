/** A client and its server in a namespace whose interfaces and routes the test has made. */
import { once } from 'node:events'
import { readFileSync } from 'node:fs'
import type { ServerHttp2Session } from 'node:http2'
import { createSecureServer } from 'node:http2'
import { createServer as createHttp1Server } from 'node:https'
import type { AddressInfo, LookupFunction } from 'node:net'
import { isIP } from 'node:net'
import { Client } from '../../../src/index.ts'
import type { ClientOptions } from '../../../types/index.ts'

const [, , scene = '', engine = '', key = '', ca = '', ...addresses] = process.argv

/** A server on all addresses. Each request is told at which address it has come. */
async function start(isHttp1: boolean): Promise<{ port: number; stop(): void }> {
  const server = isHttp1
    ? createHttp1Server({ key, cert: ca }, (request, response) => {
        response.end(`${request.socket.localAddress} ${request.httpVersion}`)
      })
    : createSecureServer({ key, cert: ca }, (request, response) => {
        response.end(`${request.socket.localAddress} ${request.httpVersion}`)
      })
  const sessions: ServerHttp2Session[] = []
  server.on('session', (session: ServerHttp2Session) => sessions.push(session.on('error', () => {})))
  server.on('tlsClientError', () => {})
  server.listen(0, '::')
  await once(server, 'listening')
  return {
    port: (server.address() as AddressInfo).port,
    stop: () => {
      for (const session of sessions) session.destroy()
      server.close()
      if ('closeAllConnections' in server) server.closeAllConnections()
    },
  }
}

/** A name that has these addresses. */
function toLookup(addresses: readonly string[]): LookupFunction {
  const all = addresses.map((address) => ({ address, family: isIP(address) }))
  return (_hostname, options, callback) => {
    if (options.all === true) callback(null, all)
    else callback(null, all[0]?.address ?? '', all[0]?.family)
  }
}

/** Connections of this namespace that wait for the response to their SYN. */
function countConnecting(): number {
  const tables = ['/proc/self/net/tcp', '/proc/self/net/tcp6'].map((file) => readFileSync(file, 'utf8'))
  return tables
    .join('\n')
    .split('\n')
    .filter((line) => / 02 [\dA-F]{8}:/.test(line)).length
}

/** Waits, from turn to turn, until something is so. */
async function until(isTrue: () => boolean): Promise<void> {
  while (!isTrue()) await new Promise((resolve) => setImmediate(resolve))
}

async function ask(port: number, addresses: readonly string[], options: ClientOptions, signal?: AbortSignal) {
  const connect = { ca, lookup: toLookup(addresses), ...(options.connect as object) }
  const client = new Client(`https://localhost:${port}`, { ...options, engine: engine as 'wire', connect })
  try {
    const from = performance.now()
    const { body } = await client.request({ path: '/', method: 'GET', ...(signal && { signal }) })
    return { said: await body.text(), took: performance.now() - from }
  } catch (error) {
    const { name, code, message } = Object(error)
    return { name, code, message: String(message) }
  } finally {
    await client.destroy()
  }
}

const { port, stop } = await start(scene === 'http1')
let outcome: object
if (scene === 'aborted') {
  const abort = new AbortController()
  const failed = ask(port, addresses, {}, abort.signal)
  await until(() => countConnecting() > 0)
  abort.abort()
  outcome = await failed
} else if (scene === 'late') outcome = await ask(port, addresses, { connectTimeout: 600 })
else if (scene === 'refused') {
  stop()
  outcome = await ask(1, addresses, {})
} else if (scene === 'patient')
  outcome = await ask(port, addresses, { autoSelectFamilyAttemptTimeout: 1_500 })
else outcome = await ask(port, addresses, {})
await until(() => countConnecting() === 0)
if (scene !== 'refused') stop()
console.log(JSON.stringify(outcome))
