import { Blob as NodeBlob } from 'node:buffer'
import type { Socket } from 'node:net'
import { Readable } from 'node:stream'
import { ReadableStream as NodeReadableStream } from 'node:stream/web'
import { createSecureContext, connect as tlsConnect } from 'node:tls'
import type * as undici6 from 'undici-types-6'
import type * as undici7 from 'undici-types-7'
import type * as undici8 from 'undici-types-8'
import type {
  AgentOptions,
  BodyFactory,
  CallErrorFields,
  CallLimits,
  ClientOptions,
  ClientStats,
  Connector,
  ConnectorOptions,
  DispatchOptions,
  IncomingHttpHeaders,
  Processed,
  RequestBody,
  RequestHeaders,
  RequestOptions,
} from '../../../types/index.ts'
import type { Equal, Expect } from './expect.ts'

// The options of every undici are ours.
declare const options6: undici6.Dispatcher.DispatchOptions
declare const options7: undici7.Dispatcher.DispatchOptions
declare const options8: undici8.Dispatcher.DispatchOptions
export const dispatchOptions: DispatchOptions[] = [options6, options7, options8]
declare const requestOptions8: undici8.Dispatcher.RequestOptions<string>
export const requestOptions: RequestOptions<string> = requestOptions8

declare function toPieces(): AsyncGenerator<string | Uint8Array>
const get = { path: '/', method: 'GET' } as const
export const accepted: DispatchOptions[] = [
  get,
  { ...get, origin: new URL('https://example.com'), body: undefined, headers: undefined, query: undefined },
  { ...get, headersTimeout: 0, bodyTimeout: null, upgrade: null, expectContinue: false, reset: true },
  { ...get, throwOnError: false, maxRedirections: 0, blocking: false, idempotent: true },
  { ...get, query: { a: 1, b: [true, 'x', 2n], c: null, d: undefined } },
  { path: '/', method: 'POST', body: 'text' },
  { path: '/', method: 'POST', body: Buffer.from('bytes') },
  { path: '/', method: 'POST', body: new Float64Array(2) },
  { path: '/', method: 'POST', body: new ArrayBuffer(2) },
  { path: '/', method: 'POST', body: Readable.from(['a']) },
  { path: '/', method: 'POST', body: new FormData() },
  { path: '/', method: 'POST', body: new URLSearchParams() },
  { path: '/', method: 'POST', body: new Blob(['a']) },
  { path: '/', method: 'POST', body: new NodeBlob(['a']) },
  { path: '/', method: 'POST', body: new ReadableStream() },
  { path: '/', method: 'POST', body: new NodeReadableStream() },
  { path: '/', method: 'POST', body: ['a', Buffer.from('b'), new ArrayBuffer(1)] },
  { path: '/', method: 'POST', body: toPieces() },
  { path: '/', method: 'POST', body: toPieces },
  { path: '/', method: 'POST', body: () => 'made for each attempt' },
  { path: '/', method: 'POST', body: () => null },
  { path: '/', method: 'POST', trailers: { 'x-sum': 'abc' }, expectContinue: true },
  { path: '/', method: 'POST', trailers: ['x-sum', 'abc'] },
  { path: '/', method: 'POST', trailers: () => new Headers() },
  { path: '/', method: 'POST', trailers: () => null },
  { ...get, queueTimeout: 0, connectTimeout: 1_000, uploadTimeout: null, requestTimeout: 1_000 },
  { ...get, maxResponseSize: -1, maxHeaderSize: 1_000, maxHeadersCount: null, maxReplayBuffer: 0 },
  { ...get, priority: { urgency: 0, incremental: true }, sensitiveHeaders: ['x-api-key'] as const },
  { ...get, priority: {}, sensitiveHeaders: [] },
  { ...get, priority: { urgency: undefined, incremental: undefined } },
  { ...get, priority: null, sensitiveHeaders: null },
  { ...get, priority: undefined, sensitiveHeaders: undefined },
]
// Those of request() and stream(), too.
export const prioritized: RequestOptions = {
  ...get,
  priority: { urgency: 1 },
  sensitiveHeaders: ['x-api-key'],
}
export const limits: CallLimits[] = [{}, accepted[0] ?? {}, { queueTimeout: null }]
export const bodies: RequestBody[] = [null, 'a', toPieces, toPieces()]
export const factory: BodyFactory = toPieces

export const refused: DispatchOptions[] = [
  // @ts-expect-error: a path is needed
  { method: 'GET' },
  // @ts-expect-error: a method is a string
  { path: '/', method: 1 },
  // @ts-expect-error: a number is no body
  { path: '/', method: 'POST', body: 1 },
  // @ts-expect-error: a plain object is no body
  { path: '/', method: 'POST', body: { a: 1 } },
  // @ts-expect-error: a factory is called once for each attempt, now: it gives no promise
  { path: '/', method: 'POST', body: async () => 'later' },
  // @ts-expect-error: a number is no piece of a body
  { path: '/', method: 'POST', body: [1, 2] },
  // @ts-expect-error: trailers are fields
  { path: '/', method: 'POST', trailers: 5 },
  // @ts-expect-error: a function of trailers gives them now
  { path: '/', method: 'POST', trailers: async () => ({}) },
  // @ts-expect-error: true or false
  { path: '/', method: 'POST', expectContinue: '100-continue' },
  // @ts-expect-error: a size is a number of bytes
  { path: '/', method: 'GET', maxResponseSize: '1MB' },
  // @ts-expect-error: an object isn't one part of a query
  { path: '/', method: 'GET', query: { a: {} } },
  // @ts-expect-error: a priority isn't the text of its field
  { path: '/', method: 'GET', priority: 'u=1' },
  // @ts-expect-error: a level is a number
  { path: '/', method: 'GET', priority: { urgency: '1' } },
  // @ts-expect-error: true or false
  { path: '/', method: 'GET', priority: { incremental: 1 } },
  // @ts-expect-error: a priority has no such part
  { path: '/', method: 'GET', priority: { weight: 16 } },
  // @ts-expect-error: names, in a list
  { path: '/', method: 'GET', sensitiveHeaders: 'x-api-key' },
  // @ts-expect-error: names are strings
  { path: '/', method: 'GET', sensitiveHeaders: [1] },
  // @ts-expect-error: no such option
  { path: '/', method: 'GET', timeout: 1 },
]

// Request headers, in every shape.
export const headers: RequestHeaders[] = [
  {},
  { name: 'value', count: 1, list: ['a', 'b'], frozen: ['a'] as const, left: undefined, empty: null },
  ['name', 'value'],
  ['name', 'value'] as const,
  [['name', 'value']],
  new Headers(),
  new Map([['name', ['a', 'b']]]),
]
// @ts-expect-error: a date isn't a header's value
export const badHeaders: RequestHeaders = { date: new Date() }
declare const incoming: IncomingHttpHeaders
export const incoming6: import('undici-types-6/header.js').IncomingHttpHeaders = incoming
export const incoming8: import('undici-types-8/header.js').IncomingHttpHeaders = incoming
export const forwarded: RequestHeaders = incoming

// The options of a Client.
const connector: Connector = ({ hostname, port, servername }, callback) => {
  const socket = tlsConnect({
    host: hostname,
    port: Number(port),
    ALPNProtocols: ['h2'],
    ...(servername && { servername }),
  })
  socket.once('secureConnect', () => callback(null, socket))
  socket.once('error', (error) => callback(error))
}
const promising: Connector = async ({ hostname, port }) => tlsConnect(Number(port), hostname)
declare const undiciConnector: ReturnType<typeof undici8.buildConnector>
export const clientOptions: ClientOptions[] = [
  {},
  { connect: { ca: 'pem', rejectUnauthorized: false, servername: 'example.com', localAddress: '127.0.0.1' } },
  { connect: connector },
  { connect: promising },
  { connect: undiciConnector },
  { socketPath: '/run/h2.sock', connectTimeout: 0, headersTimeout: 0, bodyTimeout: 0 },
  { socketPath: null, maxConcurrentStreams: null, strictContentLength: false },
  { initialWindowSize: 1_048_576, connectionWindowSize: 1_048_576, maxConcurrentStreams: 10, engine: 'node' },
  { engine: 'wire' },
  { engine: undefined },
  { localAddress: '127.0.0.2', autoSelectFamily: false, autoSelectFamilyAttemptTimeout: 100 },
  { localAddress: null, autoSelectFamily: null, autoSelectFamilyAttemptTimeout: null },
  { connect: { secureContext: createSecureContext() } },
  { keepAliveMaxTimeout: 600_000, keepAliveTimeoutThreshold: 0, clientTtl: 60_000 },
  { maxRequestsPerClient: 100, pipelining: 0 },
  { keepAliveMaxTimeout: null, keepAliveTimeoutThreshold: null, clientTtl: null, pipelining: null },
  { connect: { secureContext: () => createSecureContext() } },
]
export const refusedClientOptions: ClientOptions[] = [
  // @ts-expect-error: no such engine
  { engine: 'http1' },
  // @ts-expect-error: a number of requests
  { pipelining: true },
  // @ts-expect-error: ALPN is Dodici's own business
  { connect: { ALPNProtocols: ['http/1.1'] } },
  // @ts-expect-error: a duration is a number of milliseconds
  { connectTimeout: '10s' },
]
// Those of an Agent are those of its Clients, and its own.
export const agentOptions: AgentOptions[] = [
  {},
  { h2c: true },
  { h2c: undefined, maxResponseSize: 1_000 },
  ...clientOptions,
]
export const refusedAgentOptions: AgentOptions[] = [
  // @ts-expect-error: true or false
  { h2c: 'yes' },
  // @ts-expect-error: no such option
  { factory: () => null },
]
export const plainClient: ClientOptions = { h2c: false }
declare const connectorOptions: ConnectorOptions
declare const connectorOptions8: undici8.buildConnector.Options
export const toOurs: ConnectorOptions = connectorOptions8
export const connectorSocket: Socket | undefined = connectorOptions.httpSocket
declare const stats: ClientStats
export const stats8: undici8.Client['stats'] = stats

// Errors.
export type AllProcessed = Expect<Equal<Processed, 'no' | 'maybe' | 'yes'>>
export type Required = Expect<
  Equal<
    Omit<CallErrorFields, 'cause'>,
    {
      readonly processed: Processed
      readonly attempts: number
      readonly streamId: number | null
      readonly http2ErrorCode: number | null
      readonly goawayDebugData: Buffer | null
    }
  >
>
declare const fields: CallErrorFields
// @ts-expect-error: what an error says of its call doesn't change
fields.processed = 'no'
