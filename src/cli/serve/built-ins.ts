/**
 * The built-in routes of `dodici serve`.
 *
 * @module
 */

import { createHash } from 'node:crypto'
import type { Exchange, Route } from './exchange.ts'
import { allow } from './exchange.ts'

/** In milliseconds: ten minutes. */
const MAX_DELAY = 600_000

/** A tebibyte: more than fits into memory, so that a client can be tested with it. */
const MAX_BYTES = 2 ** 40

/** How much of `/bytes/N` is written at once. */
const PIECE = Buffer.alloc(65_536, 'dodici. ')

/** The first segment of the path, and what serves it. `argument` is the second segment. */
interface BuiltIn {
  /** For the list: `/delay/MS`. */
  readonly usage: string
  readonly summary: string
  readonly route: (exchange: Exchange, argument: string) => Promise<void> | void
}

const BUILT_INS: Readonly<Record<string, BuiltIn>> = {
  echo: { usage: '/echo', summary: 'the request body, for any method', route: echo },
  headers: { usage: '/headers', summary: 'the request header section as JSON', route: showHeaders },
  delay: { usage: '/delay/MS', summary: 'a response after MS milliseconds', route: delay },
  status: { usage: '/status/N', summary: 'a response with status N, 200 to 599', route: sendStatus },
  bytes: { usage: '/bytes/N', summary: 'a body of N bytes, as fast as it is read', route: sendBytes },
  sse: { usage: '/sse', summary: 'server-sent events: ?count=5&interval=1000', route: sendEvents },
  trailers: { usage: '/trailers', summary: 'the request body, followed by trailers', route: sendTrailers },
  ws: { usage: '/ws', summary: 'WebSocket: echoes each message', route: refuseNoWebSocket },
}

/** The list of the built-in routes, one per line. */
export function toBuiltInList(): string {
  return Object.values(BUILT_INS)
    .map(({ usage, summary }) => `  ${usage.padEnd(12)}${summary}`)
    .join('\n')
}

/** A path's built-in route; null if there is none. */
export function toBuiltIn(path: string): Route | null {
  const [, name = '', argument = '', ...rest] = path.split('/')
  const builtIn = Object.hasOwn(BUILT_INS, name) ? BUILT_INS[name] : undefined
  if (builtIn === undefined) return null
  const takesArgument = builtIn.usage.lastIndexOf('/') > 0
  if (takesArgument ? rest.length > 0 : path !== builtIn.usage) return null
  return (exchange) => builtIn.route(exchange, argument)
}

async function echo(exchange: Exchange): Promise<void> {
  const { request } = exchange
  const type = request.headers['content-type']
  const length = request.headers['content-length']
  exchange.respond(200, {
    'content-type': typeof type === 'string' ? type : 'application/octet-stream',
    ...(typeof length === 'string' ? { 'content-length': length } : {}),
  })
  if (exchange.method === 'HEAD') request.resume()
  else for await (const bytes of request) await exchange.write(bytes)
  exchange.end()
}

function showHeaders(exchange: Exchange): void {
  const { method, request } = exchange
  const shown = { method, path: request.url, httpVersion: request.httpVersion, headers: request.headers }
  request.resume()
  exchange.sendText(200, `${JSON.stringify(shown, null, 2)}\n`, { 'content-type': 'application/json' })
}

async function delay(exchange: Exchange, argument: string): Promise<void> {
  exchange.request.resume()
  const milliseconds = toNumber(exchange, argument, 0, MAX_DELAY)
  if (milliseconds === null) return
  await exchange.pause(milliseconds)
  exchange.sendText(200, `${milliseconds} ms later\n`)
}

function sendStatus(exchange: Exchange, argument: string): void {
  exchange.request.resume()
  const status = toNumber(exchange, argument, 200, 599)
  // RFC 9110 §15.4.6: the client is told to fill in another document; there is none.
  if (status !== null) exchange.sendText(status, status === 205 ? '' : `${status}\n`)
}

async function sendBytes(exchange: Exchange, argument: string): Promise<void> {
  exchange.request.resume()
  const length = toNumber(exchange, argument, 0, MAX_BYTES)
  if (length === null) return
  exchange.respond(200, { 'content-type': 'application/octet-stream', 'content-length': length })
  let rest = exchange.method === 'HEAD' ? 0 : length
  while (rest > 0 && !exchange.isOver) {
    const piece = rest < PIECE.length ? PIECE.subarray(0, rest) : PIECE
    await exchange.write(piece)
    rest -= piece.length
  }
  exchange.end()
}

/** The HTML standard, §9.2: an event ends with an empty line. */
async function sendEvents(exchange: Exchange): Promise<void> {
  exchange.request.resume()
  const { query } = exchange
  if (!allow(exchange, 'GET', 'HEAD')) return
  const count = toNumber(exchange, query.get('count') ?? '5', 0, MAX_BYTES)
  if (count === null) return
  const interval = toNumber(exchange, query.get('interval') ?? '1000', 0, MAX_DELAY)
  if (interval === null) return
  exchange.respond(200, { 'content-type': 'text/event-stream', 'cache-control': 'no-store' })
  const isEndless = count === 0
  const last = exchange.method === 'HEAD' ? 0 : isEndless ? Number.POSITIVE_INFINITY : count
  for (let id = 1; id <= last && !exchange.isOver; id++) {
    const data = JSON.stringify({ id, time: new Date().toISOString() })
    await exchange.write(Buffer.from(`event: tick\nid: ${id}\ndata: ${data}\n\n`))
    if (id < last) await exchange.pause(interval)
  }
  exchange.end()
}

/** Sends the body back, then its length and its SHA-256, and the request's trailers. */
async function sendTrailers(exchange: Exchange): Promise<void> {
  const { request } = exchange
  const hash = createHash('sha256')
  let length = 0
  exchange.respond(200, {
    'content-type': 'application/octet-stream',
    trailer: 'x-body-length, x-body-sha256',
  })
  for await (const bytes of request) {
    hash.update(bytes)
    length += bytes.length
    if (exchange.method !== 'HEAD') await exchange.write(bytes)
  }
  const received = Object.entries(request.trailers).map(([name, value]) => [name, String(value)] as const)
  exchange.end({
    ...Object.fromEntries(received),
    'x-body-length': `${length}`,
    'x-body-sha256': hash.digest('hex'),
  })
}

/** A WebSocket handshake isn't a request that arrives here. */
function refuseNoWebSocket(exchange: Exchange): void {
  exchange.request.resume()
  exchange.sendText(400, 'This path is a WebSocket: use Upgrade, or extended CONNECT over HTTP/2.\n')
}

/** A number in a path or a query. Anything else gets a 400, and null. */
function toNumber(exchange: Exchange, text: string, least: number, most: number): number | null {
  const value = /^\d{1,15}$/.test(text) ? Number(text) : Number.NaN
  if (value >= least && value <= most) return value
  exchange.sendText(400, `This path needs a whole number from ${least} to ${most}.\n`)
  return null
}
