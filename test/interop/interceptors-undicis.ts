/** The npm undicis that the running Node can load, in one form. */

import * as undici7 from 'undici'
import * as undici6 from 'undici-6'
import type { Dispatcher as Undici8Dispatcher } from 'undici-8'
import type { Dispatcher, DispatcherComposeInterceptor } from '../../types/index.ts'

/** A record of a lookup, as the `dns` interceptor takes it. */
export interface DnsRecord {
  readonly address: string
  readonly ttl: number
  readonly family: 4 | 6
}

interface RetryOptions {
  maxRetries?: number
  minTimeout?: number
  errorCodes?: string[]
}

/** The interceptors of undici 6; it doesn't export `responseError`. */
interface Interceptors {
  retry(options?: RetryOptions): DispatcherComposeInterceptor
  redirect(options?: { maxRedirections?: number }): DispatcherComposeInterceptor
  dump(options?: { maxSize?: number }): DispatcherComposeInterceptor
}

/** The further interceptors of undici 7 and 8. */
interface NewerInterceptors extends Interceptors {
  cache(): DispatcherComposeInterceptor
  decompress(): DispatcherComposeInterceptor
  deduplicate(): DispatcherComposeInterceptor
  responseError(): DispatcherComposeInterceptor
}

/** What of a response all of them have. */
export interface ResponseScript {
  readonly status: number
  readonly headers: Readonly<Record<string, string | string[] | undefined>>
  readonly text: string
}

/** What is asked for. A fetch refuses a `body` of null for nothing. */
export interface Asked {
  readonly method?: 'GET' | 'HEAD' | 'POST'
  readonly headers?: Record<string, string>
  readonly body?: string
  readonly signal?: AbortSignal
}

/** The result of any fetch. */
interface FetchResponse {
  readonly status: number
  readonly headers: Iterable<[string, string]>
  text(): Promise<string>
}

export async function toResponse(response: FetchResponse): Promise<ResponseScript> {
  const { status, headers } = response
  return { status, headers: Object.fromEntries(headers), text: await response.text() }
}

interface UndiciResponse {
  readonly statusCode: number
  readonly headers: ResponseScript['headers']
  readonly body: { text(): Promise<string> }
}

async function toRequestResult({ statusCode, headers, body }: UndiciResponse): Promise<ResponseScript> {
  return { status: statusCode, headers, text: await body.text() }
}

/** What their MockAgents have in common. */
export interface Mock extends Dispatcher {
  disableNetConnect(): void
  assertNoPendingInterceptors(): void
  get(origin: string): {
    intercept(asked: { path: string; method: string; body?: string }): {
      reply(status: number, text: string, options?: { headers?: Record<string, string> }): unknown
      replyWithError(error: Error): unknown
    }
  }
}

export interface Undici<TInterceptors extends Interceptors = Interceptors> {
  readonly name: string
  readonly major: number
  readonly interceptors: TInterceptors
  toDns(lookup: (origin: string) => DnsRecord[]): DispatcherComposeInterceptor
  request(url: string, dispatcher: Dispatcher, asked: Asked): Promise<ResponseScript>
  fetch(url: string, dispatcher: Dispatcher, asked: Asked): Promise<ResponseScript>
  toRetryAgent(dispatcher: Dispatcher, options: RetryOptions): Dispatcher
  toMock(): Mock
}

/** Their methods are typed a little narrower than ours: what they are given here fits both. */
function toOurs(dispatcher: undici6.Dispatcher | undici7.Dispatcher | Undici8Dispatcher): Dispatcher {
  return dispatcher as unknown as Dispatcher
}

export const UNDICI_6: Undici = {
  name: 'undici 6',
  major: 6,
  interceptors: undici6.interceptors,
  toDns: (lookup) =>
    undici6.interceptors.dns({
      // Its types say a host name.
      lookup: (origin, _options, callback) => callback(null, lookup(new URL(origin).hostname)),
    }),
  request: async (url, dispatcher, asked) =>
    toRequestResult(await undici6.request(url, { ...asked, dispatcher })),
  fetch: async (url, dispatcher, asked) => toResponse(await undici6.fetch(url, { ...asked, dispatcher })),
  toRetryAgent: (dispatcher, options) => toOurs(new undici6.RetryAgent(dispatcher, options)),
  toMock: () => toOurs(new undici6.MockAgent()) as Mock,
}

export const UNDICI_7: Undici<NewerInterceptors> = {
  name: 'undici 7',
  major: 7,
  interceptors: undici7.interceptors,
  toDns: (lookup) =>
    undici7.interceptors.dns({
      lookup: (origin, _options, callback) => callback(null, lookup(origin.hostname)),
    }),
  request: async (url, dispatcher, asked) =>
    toRequestResult(await undici7.request(url, { ...asked, dispatcher })),
  fetch: async (url, dispatcher, asked) => toResponse(await undici7.fetch(url, { ...asked, dispatcher })),
  toRetryAgent: (dispatcher, options) => toOurs(new undici7.RetryAgent(dispatcher, options)),
  toMock: () => toOurs(new undici7.MockAgent()) as Mock,
}

/** Null on Node 20, which can't load it. */
async function loadUndici8(): Promise<Undici<NewerInterceptors> | null> {
  if (Number.parseInt(process.versions.node, 10) < 22) return null
  const undici8 = await import('undici-8')
  return {
    name: 'undici 8',
    major: 8,
    interceptors: undici8.interceptors,
    toDns: (lookup) =>
      undici8.interceptors.dns({
        lookup: (origin, _options, callback) => callback(null, lookup(origin.hostname)),
      }),
    request: async (url, dispatcher, asked) =>
      toRequestResult(await undici8.request(url, { ...asked, dispatcher })),
    fetch: async (url, dispatcher, asked) => toResponse(await undici8.fetch(url, { ...asked, dispatcher })),
    toRetryAgent: (dispatcher, options) => toOurs(new undici8.RetryAgent(dispatcher, options)),
    toMock: () => toOurs(new undici8.MockAgent()) as Mock,
  }
}

export const UNDICI_8 = await loadUndici8()

/** Those with all of the interceptors. */
export const NEWER_UNDICIS: readonly Undici<NewerInterceptors>[] =
  UNDICI_8 === null ? [UNDICI_7] : [UNDICI_7, UNDICI_8]

export const UNDICIS: readonly Undici[] = [UNDICI_6, ...NEWER_UNDICIS]
