/** Origins that record their requests, over HTTP/2 or HTTP/1.1. */

import { once } from 'node:events'
import { createServer } from 'node:http'
import type { Http2Session } from 'node:http2'
import { createServer as createHttp2Server } from 'node:http2'
import type { AddressInfo, Socket } from 'node:net'
import { onTestFinished } from 'vitest'
import type { Agent } from '../../../src/index.ts'
import { toAgent } from '../../support/clients/agents.ts'

export type Protocol = 'HTTP/2' | 'HTTP/1.1'

/** One request, as the origin received it. */
export interface Seen {
  readonly method: string
  readonly path: string
  /** Without the pseudo-headers; names in lower case, values as latin1. */
  readonly fields: readonly (readonly [name: string, value: string])[]
  /** As latin1. */
  readonly body: string
}

/** The response. By default 200 without any fields, with the path as body. */
export interface Reply {
  readonly status?: number
  readonly reason?: string
  readonly fields?: Readonly<Record<string, string | string[]>>
  readonly body?: string | Uint8Array
}

export interface Origin {
  readonly origin: string
  /** All requests so far. */
  readonly seen: readonly Seen[]
  /** How many connections there have been. */
  readonly connections: number
  /** How many of them are open. */
  readonly open: number
}

interface Incoming extends AsyncIterable<Buffer> {
  readonly method?: string | undefined
  readonly url?: string | undefined
  readonly rawHeaders: readonly string[]
}

interface Outgoing {
  statusCode: number
  statusMessage: string
  setHeader(name: string, value: string | string[]): unknown
  end(body: Buffer): unknown
}

function toPairs(raw: readonly string[]): [string, string][] {
  const pairs: [string, string][] = []
  for (let i = 0; i < raw.length; i += 2) pairs.push([String(raw[i]).toLowerCase(), String(raw[i + 1])])
  return pairs.filter(([name]) => !name.startsWith(':'))
}

async function serve(request: Incoming, response: Outgoing, onSeen: (seen: Seen) => Reply): Promise<void> {
  const { method = '', url: path = '', rawHeaders } = request
  const chunks: Buffer[] = []
  for await (const chunk of request) chunks.push(chunk)
  const body = Buffer.concat(chunks).toString('latin1')
  const reply = onSeen({ method, path, fields: toPairs(rawHeaders), body })
  response.statusCode = reply.status ?? 200
  if (reply.reason !== undefined) response.statusMessage = reply.reason
  for (const [name, value] of Object.entries(reply.fields ?? {})) response.setHeader(name, value)
  // A string would take the header with it into UTF-8.
  response.end(Buffer.from(reply.body ?? path))
}

function ignore(): void {}

/** Starts an origin, without TLS, that ends with the test. */
export async function startOrigin(
  protocol: Protocol,
  toReply: (seen: Seen) => Reply = () => ({}),
): Promise<Origin> {
  const seen: Seen[] = []
  const open = new Set<Socket>()
  const sessions = new Set<Http2Session>()
  let connections = 0
  const onRequest = (request: Incoming, response: Outgoing): void => {
    serve(request, response, (one) => {
      seen.push(one)
      return toReply(one)
    }).catch(ignore)
  }
  const server = protocol === 'HTTP/2' ? createHttp2Server() : createServer()
  server.on('request', onRequest)
  server.on('sessionError', ignore)
  server.on('session', (session: Http2Session) => {
    sessions.add(session)
    session.on('error', ignore).on('close', () => sessions.delete(session))
  })
  server.on('connection', (socket: Socket) => {
    connections++
    open.add(socket)
    socket.on('error', ignore).on('close', () => open.delete(socket))
  })
  server.listen(0, '127.0.0.1')
  await once(server, 'listening')
  onTestFinished(async () => {
    const closed = once(server, 'close')
    server.close()
    for (const session of sessions) session.destroy()
    for (const socket of open) socket.destroy()
    await closed
  })
  const { port } = server.address() as AddressInfo
  return {
    origin: `http://127.0.0.1:${port}`,
    seen,
    get connections() {
      return connections
    },
    get open() {
      return open.size
    },
  }
}

/** An Agent that speaks HTTP/2 with these origins, and HTTP/1.1 with all others. */
export function toMixedAgent(...http2: readonly Origin[]): Agent {
  return toAgent({ h2c: ({ origin }) => http2.some((known) => known.origin === origin) })
}

/** The latest request. @throws Error if there was none */
export function toLatest({ seen }: Origin): Seen {
  const latest = seen.at(-1)
  if (latest === undefined) throw new Error('Nothing was asked')
  return latest
}

/** All values of a field, in the order of the wire. */
export function toValues({ fields }: Seen, name: string): string[] {
  return fields.filter(([known]) => known === name).map(([, value]) => value)
}

/** The failure of a fetch: its error in words, with the cause. */
export async function toFailure(call: Promise<unknown>): Promise<string> {
  const thrown: unknown = await call.then(
    () => null,
    (reason) => reason,
  )
  if (!(thrown instanceof Error)) return `it was not rejected with an Error: ${String(thrown)}`
  const { name, message, cause } = thrown
  return cause instanceof Error ? `${name}: ${message} ← ${cause.message}` : `${name}: ${message}`
}
