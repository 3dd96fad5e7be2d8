/**
 * Dodici's own `fetch`, in place of the one that is built into Node: what it takes, what it gives, what it refuses.
 * Compiled, never run: `own-fetch-versions.test.ts` does so under each `@types/node`, against the declarations that are
 * published.
 */

import { EventEmitter } from 'node:events'
import { Readable } from 'node:stream'
import type { ReadableStream as WebStream } from 'node:stream/web'
import * as undici7 from 'undici'
import * as undici6 from 'undici-6'
import * as undici8 from 'undici-8'
import type { FetchInit, RequestLike } from '../../../src/index.ts'
import { Agent, Client, fetch, getGlobalDispatcher, Pool } from '../../../src/index.ts'
import type { Equal, Expect } from './expect.ts'

const url = 'https://localhost/'

// In place of the global one.
export const builtin: typeof globalThis.fetch = fetch
globalThis.fetch = fetch
export const wrapped: typeof globalThis.fetch = (input, init) =>
  fetch(input, { ...init, dispatcher: new Agent() })
export const handed: typeof globalThis.fetch = (...args) => fetch(...args)
// @ts-expect-error: a response's body is not the response
export const late: (input: string) => Promise<string> = fetch

// What is fetched.
export const inputs: Promise<Response>[] = [
  fetch(url),
  fetch(new URL(url)),
  fetch(new Request(url)),
  fetch(new Request(url, { method: 'POST', body: 'text' }), { method: 'PUT' }),
  fetch(new undici6.Request(url)),
  fetch(new undici7.Request(url)),
  fetch(new undici8.Request(url)),
]
export const requests: RequestLike[] = [
  new Request(url),
  new undici6.Request(url),
  new undici7.Request(url),
  new undici8.Request(url),
]
// @ts-expect-error: a number is no URL
export const noUrl = fetch(1)
// @ts-expect-error: there is nothing to fetch
export const nothing = fetch()
// @ts-expect-error: a response is no Request
export const noRequest = fetch(new Response())
// @ts-expect-error: what request() takes, and fetch() doesn't
export const noParts = fetch({ protocol: 'https:', hostname: 'localhost' })

// With what: that of Node, and of any undici, is taken as it is.
declare const init: RequestInit
declare const init6: undici6.RequestInit
declare const init7: undici7.RequestInit
declare const init8: undici8.RequestInit
export const inits: FetchInit[] = [init, init6, init7, init8, {}]
export const initiated = [
  fetch(url, init),
  fetch(url, init6),
  fetch(url, init7),
  fetch(url, init8),
  fetch(url, {}),
  fetch(url, null),
  fetch(url, undefined),
  fetch(url, { ...init8, dispatcher: new Agent() }),
]
// @ts-expect-error: a text is no init
export const noInit = fetch(url, 'POST')
// @ts-expect-error: there is no such member
export const noMember = fetch(url, { timeout: 1 })

// By whom.
export const dispatched = [
  fetch(url, { dispatcher: new Agent() }),
  fetch(url, { dispatcher: new Client(url) }),
  fetch(url, { dispatcher: new Pool(url) }),
  fetch(url, { dispatcher: getGlobalDispatcher() }),
  fetch(url, { dispatcher: new Agent().compose(undici8.interceptors.retry()) }),
  fetch(url, { dispatcher: new undici6.Agent() }),
  fetch(url, { dispatcher: new undici7.Agent() }),
  fetch(url, { dispatcher: new undici8.Agent() }),
  fetch(url, { dispatcher: new undici6.ProxyAgent(url) }),
  fetch(url, { dispatcher: new undici7.EnvHttpProxyAgent() }),
  fetch(url, { dispatcher: new undici8.MockAgent() }),
  fetch(url, { dispatcher: null }),
  fetch(url, { dispatcher: undefined }),
]
// @ts-expect-error: a number is no dispatcher
export const numberDispatcher = fetch(url, { dispatcher: 1 })
// @ts-expect-error: an object without a dispatch()
export const noDispatcher = fetch(url, { dispatcher: {} })
// @ts-expect-error: whatever events it has
export const eventDispatcher = fetch(url, { dispatcher: new EventEmitter() })
// @ts-expect-error: a class, and not an object of it
export const classDispatcher = fetch(url, { dispatcher: Agent })
// @ts-expect-error: a dispatch() that promises
export const lateDispatcher = fetch(url, { dispatcher: { dispatch: async () => true } })

// What is sent.
declare const webStream: WebStream<Uint8Array>
declare const form6: undici6.FormData
declare const form7: undici7.FormData
declare const form8: undici8.FormData
export const sent = [
  fetch(url, { method: 'POST', body: 'text' }),
  fetch(url, { method: 'POST', body: Buffer.from('bytes') }),
  fetch(url, { method: 'POST', body: new Uint8Array(1) }),
  fetch(url, { method: 'POST', body: new DataView(new ArrayBuffer(1)) }),
  fetch(url, { method: 'POST', body: new ArrayBuffer(1) }),
  fetch(url, { method: 'POST', body: new Blob(['text']) }),
  fetch(url, { method: 'POST', body: new URLSearchParams({ a: '1' }) }),
  fetch(url, { method: 'POST', body: new FormData() }),
  fetch(url, { method: 'POST', body: form6 }),
  fetch(url, { method: 'POST', body: form7 }),
  fetch(url, { method: 'POST', body: form8 }),
  fetch(url, { method: 'POST', body: new ReadableStream(), duplex: 'half' }),
  fetch(url, { method: 'POST', body: webStream, duplex: 'half' }),
  fetch(url, { method: 'POST', body: Readable.from(['text']), duplex: 'half' }),
  fetch(url, { method: 'POST', body: toPieces(), duplex: 'half' }),
  fetch(url, { body: null }),
]
async function* toPieces() {
  yield new Uint8Array(1)
}
// @ts-expect-error: JSON is made by JSON.stringify()
export const objectBody = fetch(url, { method: 'POST', body: { a: 1 } })
// @ts-expect-error: a number is no body
export const numberBody = fetch(url, { method: 'POST', body: 1 })

// And how.
export const asked = [
  fetch(url, { headers: { accept: 'text/plain' } }),
  fetch(url, { headers: [['accept', 'text/plain']] }),
  fetch(url, { headers: new Headers() }),
  fetch(url, { headers: new undici6.Headers() }),
  fetch(url, { headers: new undici7.Headers() }),
  fetch(url, { headers: new undici8.Headers() }),
  fetch(url, { signal: AbortSignal.timeout(1) }),
  fetch(url, { signal: null }),
  fetch(url, { redirect: 'manual', mode: 'cors', credentials: 'omit', keepalive: true }),
  fetch(url, { integrity: 'sha256-AA==', referrer: url, referrerPolicy: 'origin' }),
]
// @ts-expect-error: there is no way both ways at once
export const duplex = fetch(url, { duplex: 'full' })
// @ts-expect-error: there is no such redirect mode
export const redirect = fetch(url, { redirect: 'x' })
// @ts-expect-error: a method is a string
export const method = fetch(url, { method: 1 })
// @ts-expect-error: a controller isn't a signal
export const signal = fetch(url, { signal: new AbortController() })
// @ts-expect-error: a header's value is a string
export const headers = fetch(url, { headers: { accept: {} } })
// @ts-expect-error: nor is nothing, beside one that is
export const pairs = fetch(url, { headers: { 'content-type': 'text/plain', accept: null } })
// @ts-expect-error: a text is no list of fields
export const textHeaders = fetch(url, { headers: 'accept: text/plain' })
// @ts-expect-error: there is no such policy
export const policy = fetch(url, { referrerPolicy: 'x' })

// What comes back: the Response that is global.
export type ResponseScript = Expect<Equal<ReturnType<typeof fetch>, Promise<Response>>>
export async function read(response: Awaited<ReturnType<typeof fetch>>): Promise<[number, string | null]> {
  const json: unknown = await response.json()
  const text: string = await response.text()
  const buffer: ArrayBuffer = await response.arrayBuffer()
  const blob: Blob = await response.blob()
  const form: FormData = await response.formData()
  const copy: Response = response.clone()
  // @ts-expect-error: the text has to be waited for
  const early: string = response.text()
  const piece: Uint8Array | undefined = (await response.body?.getReader().read())?.value
  void [json, piece, text, buffer, blob, form, copy, early]
  return [response.status, response.headers.get('content-type')]
}
