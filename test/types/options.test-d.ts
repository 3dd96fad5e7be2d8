import type { Socket } from 'node:net'
import { Readable } from 'node:stream'
import { connect as tlsConnect } from 'node:tls'
import type * as undici6 from 'undici-types-6'
import type * as undici7 from 'undici-types-7'
import type * as undici8 from 'undici-types-8'
import type {
  CallErrorFields,
  ClientOptions,
  ClientStats,
  Connector,
  ConnectorOptions,
  DispatchOptions,
  IncomingHttpHeaders,
  Processed,
  RequestHeaders,
  RequestOptions,
} from '../../types/index.ts'
import type { Equal, Expect } from './expect.ts'

// The options of every undici are ours.
declare const options6: undici6.Dispatcher.DispatchOptions
declare const options7: undici7.Dispatcher.DispatchOptions
declare const options8: undici8.Dispatcher.DispatchOptions
export const dispatchOptions: DispatchOptions[] = [options6, options7, options8]
declare const requestOptions8: undici8.Dispatcher.RequestOptions<string>
export const requestOptions: RequestOptions<string> = requestOptions8

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
]
export const refused: DispatchOptions[] = [
  // @ts-expect-error: a path is needed
  { method: 'GET' },
  // @ts-expect-error: a method is a string
  { path: '/', method: 1 },
  // @ts-expect-error: a number is no body
  { path: '/', method: 'POST', body: 1 },
  // @ts-expect-error: a URLSearchParams is no FormData
  { path: '/', method: 'POST', body: new URLSearchParams() },
  // @ts-expect-error: an object isn't one part of a query
  { path: '/', method: 'GET', query: { a: {} } },
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
]
export const refusedClientOptions: ClientOptions[] = [
  // @ts-expect-error: not in this release
  { engine: 'wire' },
  // @ts-expect-error: HTTP/2 has no pipelining
  { pipelining: 10 },
  // @ts-expect-error: ALPN is Dodici's own business
  { connect: { ALPNProtocols: ['http/1.1'] } },
  // @ts-expect-error: a duration is a number of milliseconds
  { connectTimeout: '10s' },
]
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
