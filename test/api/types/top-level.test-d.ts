/** The top-level functions and the global dispatcher. Compiled, never run. */

import type { Duplex } from 'node:stream'
import { PassThrough } from 'node:stream'
import type * as undici8 from 'undici-types-8'
import {
  Agent,
  Client,
  connect,
  getGlobalDispatcher,
  pipeline,
  request,
  setGlobalDispatcher,
  stream,
  upgrade,
} from '../../../src/index.ts'
import type {
  BodyReadable,
  ConnectData,
  Dispatcher,
  RawResponseData,
  ResponseData,
  StreamData,
  UpgradeData,
} from '../../../types/index.ts'
import type { Equal, Expect } from './expect.ts'

const url = 'http://localhost/'

// The URL: a string, a URL, or what url.format() takes.
export const byUrl: Promise<ResponseData>[] = [
  request(url),
  request(new URL(url)),
  request({ protocol: 'http:', hostname: 'localhost', pathname: '/' }),
  request(url, null),
  request(url, {}),
]
// @ts-expect-error: a number is no URL
export const noUrl = request(5)

// The options: those of the method, none of which is needed, and `dispatcher`.
declare const dispatcher8: undici8.Dispatcher
export const byOptions = [
  request(url, { method: 'POST', path: '/own', body: 'x', query: { a: 1 }, maxResponseSize: 5 }),
  request(url, { dispatcher: new Client('http://localhost') }),
  request(url, { dispatcher: new Agent().compose([]) }),
  request(url, { dispatcher: null }),
  request(url, { dispatcher: dispatcher8 }),
  request(url, { dispatcher: { dispatch: () => true } }),
]
// @ts-expect-error: it can't dispatch
export const noDispatcher = request(url, { dispatcher: {} })
// @ts-expect-error: no such option
export const noOption = request(url, { timeout: 1 })
// @ts-expect-error: a controller isn't a signal
export const noSignal = request(url, { signal: new AbortController() })

// What comes back: our own body, `opaque` by its type, raw fields where they were asked for.
const plain = request(url, { opaque: 7 })
export type Plain = Expect<Equal<typeof plain, Promise<ResponseData<number>>>>
const raw = request(url, { opaque: 7, responseHeaders: 'raw' })
export type Raw = Expect<Equal<typeof raw, Promise<RawResponseData<number>>>>
export type RawFields = Expect<
  Equal<[Awaited<typeof raw>['headers'], Awaited<typeof raw>['trailers']], [string[], string[]]>
>
const notRaw = request(url, { responseHeaders: null })
export type NotRaw = Expect<Equal<typeof notRaw, Promise<ResponseData>>>
const called = request(url, { opaque: 'x' }, (error, { opaque, body }) => {
  const text: string = opaque
  const form: Promise<FormData> = body.formData()
  return [error?.message, text, form]
})
export type Called = Expect<Equal<typeof called, void>>

const streamed = stream(url, { opaque: 7 }, ({ opaque, statusCode }) => {
  const sum: number = opaque + statusCode
  return new PassThrough({ highWaterMark: sum })
})
export type Streamed = Expect<Equal<typeof streamed, Promise<StreamData<number>>>>
const streamedBack = stream(
  url,
  null,
  () => new PassThrough(),
  (error, { trailers }) => [error, trailers['x-sum']],
)
// @ts-expect-error: a factory makes a Writable
export const noWritable = stream(url, null, () => 'text')
// @ts-expect-error: a factory is needed
export const noFactory = stream(url, {})

export const duplexes: Duplex[] = [
  pipeline(url, null, ({ body }) => body),
  pipeline(url, { method: 'POST', objectMode: true, opaque: 7 }, ({ body, opaque }) => {
    const number: number = opaque
    const rich: BodyReadable = body
    return number > 0 ? rich : rich.resume()
  }),
]
// @ts-expect-error: a handler gives a Readable
export const noReadable = pipeline(url, null, () => 5)

const tunnel = connect(url, { path: 'example.test:443', opaque: 'x' })
export type Tunnel = Expect<Equal<typeof tunnel, Promise<ConnectData<string>>>>
export const toServer: Promise<ConnectData> = connect(new URL(url))
const tunnelBack = connect(url, null, (error, { socket }) => [error, socket.destroy()])
// @ts-expect-error: a tunnel has no body
export const noBody = connect(url, { body: 'x' })

const upgraded = upgrade(url, { protocol: 'websocket', opaque: 7 })
export type Upgraded = Expect<Equal<typeof upgraded, Promise<UpgradeData<number>>>>
const upgradedBack = upgrade(url, {}, (error, { socket }) => [error, socket.destroy()])
// @ts-expect-error: a protocol has a name
export const noProtocol = upgrade(url, { protocol: true })

export type StreamedBack = Expect<Equal<typeof streamedBack, void>>
export type TunnelBack = Expect<Equal<typeof tunnelBack, void>>
export type UpgradedBack = Expect<Equal<typeof upgradedBack, void>>

// The global dispatcher.
export const current: Dispatcher = getGlobalDispatcher()
setGlobalDispatcher(new Agent({ h2c: true }))
setGlobalDispatcher(new Client(url).compose())
// @ts-expect-error: it can't dispatch
setGlobalDispatcher({})
