/** Requests with secrets in them, each API that sends them, and the ways in which they end. */

import { once } from 'node:events'
import { Writable } from 'node:stream'
import type { Client } from '../../../src/index.ts'
import { fetch } from '../../../src/index.ts'
import type { ConnectionScript, FaultConnection } from '../../../src/testing/fault-connection.ts'
import type { FaultStream } from '../../../src/testing/fault-stream.ts'
import { Setting } from '../../../src/testing/frames.ts'
import type { DispatchController, LegacyDispatchHandler } from '../../../types/index.ts'
import { Recorder } from '../../support/clients/recorder.ts'
import { INTERNAL_ERROR } from '../../support/peers/error-codes.ts'

/** Every planted secret begins with this. */
export const MARK = 'pl4nted'

const HEADERS = {
  authorization: `Bearer ${MARK}-authorization`,
  'proxy-authorization': `Basic ${MARK}-proxy`,
  cookie: `session=${MARK}-cookie`,
  'x-api-key': `${MARK}-key`,
}
export const QUERY = `token=${MARK}-query`
const BODY = `${MARK}-body`
const TRAILERS = { 'x-signature': `${MARK}-trailer` }

/** The outcome of a call, by its path, or by the host of its tunnel. */
export type Outcome =
  | 'ok'
  | 'reset'
  | 'break'
  | 'hang'
  | 'abort'
  | 'misdirected'
  | 'malformed'
  | 'large'
  | 'many'
  | 'short'
  | 'goaway'

export const OUTCOMES: readonly Outcome[] = [
  ...(['ok', 'reset', 'break', 'hang', 'abort', 'misdirected', 'malformed'] as const),
  ...(['large', 'many', 'short', 'goaway'] as const),
]

function toOutcome(stream: FaultStream): string {
  const target = stream.field(':path') ?? `/${stream.field(':authority')}`
  return target.slice(1).split(/[.?]/, 1)[0] ?? ''
}

function serve(stream: FaultStream, connection: FaultConnection): void {
  const isTunnel = stream.method === 'CONNECT'
  switch (toOutcome(stream)) {
    case 'ok':
      if (isTunnel) stream.head(200)
      else stream.respond('fine')
      break
    case 'reset':
      stream.reset(INTERNAL_ERROR)
      break
    case 'break':
      connection.break()
      break
    case 'misdirected':
      stream.head(421)
      stream.end()
      break
    case 'malformed':
      stream.head(200, [['Bad Name', 'x']])
      break
    case 'large':
      stream.respond('x'.repeat(5_000))
      break
    case 'many':
      stream.head(200, [
        ['x-a', '1'],
        ['x-b', '2'],
        ['x-c', '3'],
      ])
      break
    case 'short':
      stream.head(200, [['content-length', '10']])
      stream.end('abc')
      break
    case 'goaway':
      connection.goAway({ lastStreamId: 0, code: 2 })
      connection.break()
      break
  }
}

export const SCRIPT: ConnectionScript = {
  settings: [[Setting.ENABLE_CONNECT_PROTOCOL, 1]],
  onRequest: (stream, connection) => {
    if (stream.method === 'CONNECT') serve(stream, connection)
  },
  onComplete: (stream, connection) => {
    if (stream.method !== 'CONNECT') serve(stream, connection)
  },
}

/** Limits of a client that an outcome breaks. Only where the server never responds is there a clock: on a busy machine it would win. */
export function toLimits(outcome: Outcome) {
  return { maxResponseSize: 100, maxHeadersCount: 2, headersTimeout: outcome === 'hang' ? 100 : 0 }
}

function toRequest(outcome: Outcome) {
  return {
    ...{ path: `/${outcome}?${QUERY}`, method: 'POST', headers: HEADERS, body: BODY, trailers: TRAILERS },
    ...{ sensitiveHeaders: ['x-api-key'] },
  }
}

/** Reports a value that a caller gets, with a name. */
export type Look = (what: string, value: unknown) => void

/** Inspects its controller in every callback. */
class Looking extends Recorder {
  readonly #look: Look

  constructor(look: Look) {
    super()
    this.#look = look
  }

  override onRequestStart(controller: DispatchController): void {
    super.onRequestStart(controller)
    this.#look('controller at its start', controller)
  }

  override onResponseStart(
    controller: DispatchController,
    statusCode: number,
    headers: Recorder['headers'],
  ): void {
    super.onResponseStart(controller, statusCode, headers ?? {})
    this.#look('controller at the response', controller)
  }

  override onResponseEnd(controller: DispatchController, trailers: Recorder['trailers']): void {
    this.#look('controller at the end', controller)
    super.onResponseEnd(controller, trailers ?? {})
  }

  override onResponseError(controller: DispatchController, error: Error): void {
    this.#look('controller at the error', controller)
    this.#look('error', error)
    super.onResponseError(controller, error)
  }
}

type Api = (client: Client, outcome: Outcome, look: Look, signal: AbortSignal) => Promise<unknown>

/** Each API, with secrets in every option. The caller inspects its exceptions. */
export const APIS: Readonly<Record<string, Api>> = {
  async request(client, outcome, look, signal) {
    const result = await client.request({ ...toRequest(outcome), signal })
    look('result', result)
    look('body', result.body)
    await result.body.text()
    look('body that was read', result.body)
  },
  async stream(client, outcome, look, signal) {
    const sink = (): Writable => new Writable({ write: (_chunk, _encoding, callback) => callback() })
    const result = await client.stream({ ...toRequest(outcome), signal }, (data) => {
      look('result', data)
      return sink()
    })
    look('end', result)
  },
  async pipeline(client, outcome, look, signal) {
    const { body, ...request } = toRequest(outcome)
    const duplex = client.pipeline({ ...request, signal }, (data) => {
      look('result', data)
      return data.body
    })
    duplex.end(body)
    await once(duplex.resume(), 'end')
    look('duplex', duplex)
  },
  async dispatch(client, outcome, look, signal) {
    const handler = new Looking(look)
    client.dispatch(toRequest(outcome), handler)
    signal.addEventListener('abort', () => handler.controller?.abort())
    await handler.settled
  },
  async legacy(client, outcome, look, signal) {
    await new Promise<void>((resolve, reject) => {
      const handler: LegacyDispatchHandler = {
        onConnect: (abort) => signal.addEventListener('abort', () => abort()),
        onHeaders: () => true,
        onData: () => true,
        onComplete: () => resolve(),
        onError: reject,
      }
      look('whether it was sent', client.dispatch(toRequest(outcome), handler))
    })
  },
  async connect(client, outcome, look, signal) {
    const result = await client.connect({
      path: `${outcome}.example:443`,
      headers: HEADERS,
      signal,
    })
    look('result', result)
    result.socket.on('error', () => {}).destroy()
  },
  async upgrade(client, outcome, look, signal) {
    const { path, headers } = toRequest(outcome)
    const result = await client.upgrade({
      path,
      headers,
      protocol: 'websocket',
      signal,
    })
    look('result', result)
    result.socket.on('error', () => {}).destroy()
  },
  async fetch(client, outcome, look, signal) {
    const { path, headers, body } = toRequest(outcome)
    const response = await fetch(`${client.origin}${path}`, {
      method: 'POST',
      headers,
      body,
      dispatcher: client,
      signal,
    })
    look('response', response)
    await response.text()
    look('response that was read', response)
  },
}

const PATH = `/ok?${QUERY}`

/** Input that is refused, with a secret in it. */
export const BAD_INPUT: Readonly<Record<string, object>> = {
  'a path with white space': { path: `/a b?${QUERY}` },
  'a path with a query and query': { path: PATH, query: { token: `${MARK}-query` } },
  'a path that is too long': { path: `${PATH}${'a'.repeat(70_000)}` },
  'a URL as path': { path: `https://user:${MARK}-password@a.example${PATH}` },
  'a foreign origin': { path: PATH, origin: 'https://a.example' },
  'an origin with a password': { path: PATH, origin: `https://user:${MARK}-password@a.example` },
  'an origin with a query': { path: PATH, origin: `https://a.example/?${QUERY}` },
  'a query that is none': { path: '/', query: QUERY },
  'a line as a name': { path: PATH, headers: { [`authorization: ${MARK}-authorization`]: '' } },
  'lines as headers': { path: PATH, headers: `authorization: ${MARK}-authorization` },
  'a bad authorization': { path: PATH, headers: { authorization: `${MARK}-authorization\n` } },
  'two authorizations': { path: PATH, headers: { authorization: [`${MARK}-a`, `${MARK}-b`] } },
  'a bad cookie': { path: PATH, headers: { cookie: `${MARK}-cookie\u010a` } },
  'a bad key': { path: PATH, headers: { 'x-api-key': `${MARK}-key\n` }, sensitiveHeaders: ['X-API-Key'] },
  'a bad trailer': { path: PATH, trailers: { 'x-api-key': `${MARK}\n` }, sensitiveHeaders: ['x-api-key'] },
  'a late bad trailer': { path: PATH, trailers: () => ({ cookie: `${MARK}\n` }) },
  'a body that is too long': { path: PATH, body: BODY, headers: { 'content-length': '1', cookie: MARK } },
  'a body of a tunnel': { path: PATH, upgrade: 'websocket', body: BODY },
  'another servername': { path: PATH, servername: 'other.example', headers: HEADERS },
  'a bad method': { path: PATH, method: 'GET /', headers: HEADERS },
}
