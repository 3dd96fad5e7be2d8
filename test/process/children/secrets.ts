/**
 * Plants secrets in requests. Inspects and logs every value that a caller, a handler or a listener gets, without
 * reading the secrets themselves. Reports each value that has shown a secret. The parent reads the log.
 */
import { subscribe } from 'node:diagnostics_channel'
import { EventEmitter, once } from 'node:events'
import { createServer } from 'node:http'
import type { AddressInfo } from 'node:net'
import { inspect } from 'node:util'
import { Agent, Client, fetch, request } from '../../../src/index.ts'
import type { ClientOptions } from '../../../types/index.ts'
import { listenPeer } from '../../support/peers/peer.ts'
import type { Look, Outcome } from './secrets-scenes.ts'
import { APIS, BAD_INPUT, MARK, OUTCOMES, QUERY, SCRIPT, toLimits } from './secrets-scenes.ts'

const INFINITE = {
  depth: Number.POSITIVE_INFINITY,
  showHidden: true,
  maxArrayLength: null,
  maxStringLength: null,
}

/** The places that have shown a secret, each once. */
const leaks = new Set<string>()
/** Names of the inspected errors; for fetch, of their causes. */
const kinds = new Set<string>()
let looks = 0

function toTexts(value: unknown, isForeign: boolean): [how: string, text: string][] {
  const texts: [string, string][] = [
    ['inspect', inspect(value)],
    ['inspect all', inspect(value, INFINITE)],
    ['json', toJson(value)],
  ]
  // Node's own sockets refer to the sessions on them: hiding that is node's matter.
  if (!isForeign) texts.push(['inspect raw', inspect(value, { ...INFINITE, customInspect: false })])
  if (!(value instanceof Error)) return texts
  return [...texts, ['message', value.message], ['stack', `${value.stack}`], ['text', String(value)]]
}

/** A value that can't be written throws, with a message of its own. */
function toJson(value: unknown): string {
  try {
    return JSON.stringify(value) ?? ''
  } catch (thrown) {
    return String(thrown)
  }
}

function lookAt(where: string, value: unknown, isForeign = false): void {
  looks++
  for (const [how, text] of toTexts(value, isForeign)) if (text.includes(MARK)) leaks.add(`${where}, ${how}`)
  console.log(where, value)
  if (!(value instanceof Error)) return
  console.error(value)
  kinds.add((value.message === 'fetch failed' && value.cause instanceof Error ? value.cause : value).name)
}

process.on('warning', (warning) => lookAt('warning', warning))
process.on('unhandledRejection', (reason) => lookAt('unhandled rejection', reason))

/** By their contract, undici's channels publish the request: see docs/differences.md. */
const REQUEST = ['create', 'bodySent', 'bodyChunkSent', 'headers', 'bodyChunkReceived', 'trailers', 'error']
const CONNECTION = ['beforeConnect', 'connected', 'connectError']
const SESSION = ['open', 'ready', 'draining', 'closed', 'ping', 'stall']
const contract = new Set<string>()

function listen(): void {
  for (const name of REQUEST) listenTo(`undici:request:${name}`)
  listenTo('undici:client:sendHeaders')
  for (const name of CONNECTION) {
    subscribe(`undici:client:${name}`, (message) => {
      // The fallback's dispatcher publishes its own messages, about HTTP/1.1.
      if (Object(message).connectParams.version === 'h2') lookAt(name, message, true)
    })
  }
  for (const name of SESSION) subscribe(`dodici:session:${name}`, (message) => lookAt(name, message, true))
}

function listenTo(channel: string): void {
  subscribe(channel, (message) => {
    if (inspect(message, { depth: 4 }).includes(MARK)) contract.add(channel)
  })
}

function toClient(origin: string, where: string, options: ClientOptions): Client {
  const client = new Client(origin, { pingInterval: 0, ...toLimits('ok'), ...options })
  for (const event of ['connect', 'disconnect', 'connectionError', 'drain'] as const)
    client.on(event, (...values: unknown[]) => lookAt(`${where}: ${event}`, values))
  return client
}

/** One call of an API, and an inspection of everything that it gives. */
async function play(client: Client, where: string, api: string, outcome: Outcome): Promise<void> {
  const look: Look = (what, value) =>
    lookAt(`${where}: ${what}`, value, what === 'result' && api !== 'request')
  const abort = new AbortController()
  const running = APIS[api]?.(client, outcome, look, abort.signal).catch((error: unknown) => error)
  look('client', client)
  look('stats', client.stats)
  look('signal', abort.signal)
  if (outcome === 'abort') abort.abort()
  const error = await running
  if (error !== undefined) look('error', error)
  look('client at the end', client)
  await client.destroy()
}

async function playAll(engine: 'node' | 'wire'): Promise<void> {
  for (const api of Object.keys(APIS)) {
    await Promise.all(
      OUTCOMES.map(async (outcome) => {
        const peer = await listenPeer(SCRIPT)
        const where = `${engine}: ${api}, ${outcome}`
        const client = toClient(peer.origin, where, { engine, fallback: null, ...toLimits(outcome) })
        await play(client, where, api, outcome)
        await peer.close()
      }),
    )
  }
}

/** Origins without a server, or with one that can't be trusted. */
async function playConnections(engine: 'node' | 'wire'): Promise<void> {
  const peer = await listenPeer(SCRIPT)
  const { port } = new URL(peer.origin)
  const connects: Record<string, [origin: string, options: ClientOptions]> = {
    'no TLS': [`https://127.0.0.1:${port}`, { connect: { passphrase: `${MARK}-passphrase` } }],
    'a bad key': [`https://127.0.0.1:${port}`, { connect: { key: `${MARK}-key`, cert: `${MARK}-cert` } }],
    refused: ['http://127.0.0.1:1', {}],
    'no such socket': ['http://127.0.0.1', { socketPath: '/nowhere/at/all' }],
    'a connector that fails': [
      'http://a.example',
      { connect: (_asked, callback) => callback(new Error('no'), null) },
    ],
  }
  for (const [name, [origin, options]] of Object.entries(connects)) {
    const where = `${engine}: request, ${name}`
    await play(toClient(origin, where, { engine, fallback: null, ...options }), where, 'request', 'ok')
  }
  await peer.close()
}

async function playBadInput(engine: 'node' | 'wire'): Promise<void> {
  const peer = await listenPeer(SCRIPT)
  const secure = peer.origin.replace('http:', 'https:')
  for (const [name, options] of Object.entries(BAD_INPUT)) {
    const where = `${engine}: bad input, ${name}`
    const client = toClient('servername' in options ? secure : peer.origin, where, { engine, fallback: null })
    const given = { method: 'POST', body: 'b', ...options }
    const error = await client.request(given as never).then(
      ({ statusCode }) => `${where} was taken: ${statusCode}`,
      (thrown: unknown) => thrown,
    )
    if (!(error instanceof Error)) throw new Error(`${error}`)
    lookAt(`${where}: error`, error)
    await client.destroy()
  }
  await peer.close()
}

/** Error messages about URLs, from the functions that take them. */
async function playUrls(): Promise<void> {
  const urls = [
    `https://user:${MARK}-password@a b/?${QUERY}`,
    `https://user:${MARK}-password@a.example/?${QUERY}`,
  ]
  for (const [index, url] of urls.entries()) {
    lookAt(`fetch of URL ${index}`, await fetch(url).catch((error: unknown) => error))
    lookAt(`request of URL ${index}`, await request(`ftp${url.slice(5)}`).catch((error: unknown) => error))
  }
  const headers = { authorization: `${MARK}-authorization\n` }
  lookAt('headers of fetch', await fetch('https://a.example/', { headers }).catch((error: unknown) => error))
}

/** Over HTTP/1.1 another dispatcher serves, with errors of its own. */
async function playFallback(): Promise<void> {
  const server = createServer((asked) => asked.socket.destroy()).listen(0, '127.0.0.1')
  await once(server, 'listening')
  const agent = new Agent()
  const origin = `http://127.0.0.1:${(server.address() as AddressInfo).port}`
  const headers = { authorization: `${MARK}-authorization` }
  const error = await agent
    .request({ origin, path: `/?${QUERY}`, method: 'POST', body: `${MARK}-body`, headers })
    .catch((thrown: unknown) => thrown)
  lookAt('fallback: error', error)
  lookAt('fallback: agent', agent)
  await agent.destroy()
  server.close()
}

/** More listeners on one signal than Node's limit: its warning contains the signal. */
async function playWarning(): Promise<void> {
  const peer = await listenPeer(SCRIPT)
  const client = toClient(peer.origin, 'warning', {})
  const signal = new EventEmitter()
  const request = { path: `/ok?${QUERY}`, method: 'GET', headers: { cookie: `${MARK}-cookie` }, signal }
  const calls = Array.from({ length: 20 }, async () => {
    const { body } = await client.request(request)
    await body.text()
  })
  lookAt('signal of many', signal)
  await Promise.all(calls)
  await client.destroy()
  await peer.close()
}

if (process.argv[2] === 'control') {
  // A shown secret must be found, in each way; otherwise the rest proves nothing.
  class Leaky {
    readonly hidden = `${MARK}-control`
  }
  lookAt('control: object', new Leaky())
  lookAt('control: error', new Error(`${MARK}-control`))
  lookAt('control: cause', new Error('a', { cause: new Error('b', { cause: { deep: { deep: MARK } } }) }))
  process.emitWarning(`${MARK}-control`)
  await new Promise((resolve) => setImmediate(resolve))
} else {
  if (process.argv[2] === 'heard') listen()
  for (const engine of ['node', 'wire'] as const) {
    await playAll(engine)
    await playConnections(engine)
    await playBadInput(engine)
  }
  await playUrls()
  await playFallback()
  await playWarning()
}
console.log(
  `\nREPORT ${JSON.stringify({ leaks: [...leaks], contract: [...contract].sort(), kinds: [...kinds], looks })}`,
)
