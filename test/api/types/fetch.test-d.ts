/**
 * What `fetch`, and undici 6, 7 and 8 from npm, take of ours, and what we take of theirs. Compiled, never run:
 * `fetch-versions.test.ts` does so under each `@types/node`, against the declarations that are published.
 */

import { EventEmitter } from 'node:events'
import * as undici7 from 'undici'
import * as undici6 from 'undici-6'
import * as undici8 from 'undici-8'
import { Agent, Client, install, Pool, setGlobalDispatcher, uninstall } from '../../../src/index.ts'

const url = 'https://localhost/'
const dispatcher = new Agent()

// The fetch and the WebSocket that are built into Node, by the types of `@types/node`.
export const responses: Promise<Response>[] = [
  fetch(url, { dispatcher: new Agent() }),
  fetch(new URL(url), { method: 'POST', body: 'text', dispatcher: new Pool(url) }),
  fetch(new Request(url, { dispatcher: new Client(url) })),
  fetch(url, { dispatcher: dispatcher.compose() }),
]
export const init: RequestInit = { dispatcher }
export const socket: WebSocket = new WebSocket(url, { dispatcher: new Agent() })
// @ts-expect-error: an object without a dispatch()
export const noResponse = fetch(url, { dispatcher: {} })
// @ts-expect-error: what is no dispatcher, whatever events it has
export const noInit: RequestInit = { dispatcher: new EventEmitter() }
// @ts-expect-error: a class, and not an object of it
export const noSocket = new WebSocket(url, { dispatcher: Agent })

// Those of the packages.
export const fetched = [
  undici6.fetch(url, { dispatcher }),
  undici7.fetch(url, { dispatcher }),
  undici8.fetch(url, { dispatcher }),
]
// @ts-expect-error: an object without a dispatch()
export const notFetched6 = undici6.fetch(url, { dispatcher: {} })
// @ts-expect-error: an object without a dispatch()
export const notFetched7 = undici7.fetch(url, { dispatcher: {} })
// @ts-expect-error: an object without a dispatch()
export const notFetched8 = undici8.fetch(url, { dispatcher: {} })

export const requested = [
  undici6.request(url, { dispatcher: new Agent() }),
  undici7.request(url, { dispatcher: new Agent() }),
  undici8.request(url, { dispatcher: new Agent() }),
]
// @ts-expect-error: a method alone is no dispatcher
export const notRequested6 = undici6.request(url, { dispatcher: { dispatch: () => true } })
// @ts-expect-error: a method alone is no dispatcher
export const notRequested7 = undici7.request(url, { dispatcher: { dispatch: () => true } })
// @ts-expect-error: a method alone is no dispatcher
export const notRequested8 = undici8.request(url, { dispatcher: { dispatch: () => true } })

export const sockets = [
  new undici6.WebSocket(url, { dispatcher }),
  new undici7.WebSocket(url, { dispatcher }),
  new undici8.WebSocket(url, { dispatcher }),
]
export const sources = [
  new undici6.EventSource(url, { dispatcher }),
  new undici7.EventSource(url, { dispatcher }),
  new undici8.EventSource(url, { dispatcher }),
]

undici6.setGlobalDispatcher(new Agent())
undici7.setGlobalDispatcher(new Agent())
undici8.setGlobalDispatcher(new Agent())
// @ts-expect-error: an origin, and not a dispatcher
undici6.setGlobalDispatcher(url)
// @ts-expect-error: an origin, and not a dispatcher
undici7.setGlobalDispatcher(url)
// @ts-expect-error: an origin, and not a dispatcher
undici8.setGlobalDispatcher(url)

export const retrying: [undici6.Dispatcher, undici7.Dispatcher, undici8.Dispatcher] = [
  new undici6.RetryAgent(new Agent()),
  new undici7.RetryAgent(new Agent(), { maxRetries: 2 }),
  new undici8.RetryAgent(new Agent(), { maxRetries: 2 }),
]
// @ts-expect-error: the options of one
export const notRetrying6 = new undici6.RetryAgent({ maxRetries: 2 })
// @ts-expect-error: the options of one
export const notRetrying7 = new undici7.RetryAgent({ maxRetries: 2 })
// @ts-expect-error: the options of one
export const notRetrying8 = new undici8.RetryAgent({ maxRetries: 2 })

// The fallback: any dispatcher of theirs, or of ours.
export const agents: Agent[] = [
  new Agent({ fallback: new undici6.Agent() }),
  new Agent({ fallback: new undici7.Agent() }),
  new Agent({ fallback: new undici8.Agent() }),
  new Agent({ fallback: new undici6.ProxyAgent(url) }),
  new Agent({ fallback: new undici7.EnvHttpProxyAgent() }),
  new Agent({ fallback: new undici8.Pool(url) }),
  new Agent({ fallback: new undici6.RetryAgent(new undici6.Agent()) }),
  new Agent({ fallback: new undici7.Agent().compose(undici7.interceptors.retry()) }),
  new Agent({ fallback: new undici8.MockAgent() }),
  new Agent({ fallback: new Agent() }),
  new Agent({ fallback: null }),
  new Agent({ fallback: undefined }),
]
export const others = [
  new Client(url, { fallback: new undici6.Client(url) }),
  new Pool(url, { fallback: new undici7.Client(url) }),
]
// @ts-expect-error: an object without a dispatch()
export const noFallback = new Agent({ fallback: {} })
// @ts-expect-error: a dispatch() that promises
export const lateFallback = new Agent({ fallback: { dispatch: async () => true } })
// @ts-expect-error: a class, and not an object of it
export const classFallback = new Agent({ fallback: undici7.Agent })

// Which `http:` origins are spoken to in HTTP/2.
export const h2c: Agent[] = [
  new Agent({ h2c: (origin) => origin.hostname === 'localhost' }),
  new Agent({ h2c: (origin: URL): boolean => origin.port === '80' }),
  new Agent({ h2c: () => false }),
  new Agent({ h2c: true }),
  new Agent({ h2c: undefined }),
]
// @ts-expect-error: it is told a URL
export const textH2c = new Agent({ h2c: (origin: string): boolean => origin === url })
// @ts-expect-error: it responds at once
export const lateH2c = new Agent({ h2c: async () => true })
export const poolH2c = new Pool(url, { h2c: true })

// Their interceptors around ours.
export const composed = [
  dispatcher.compose(undici6.interceptors.retry()),
  dispatcher.compose(undici7.interceptors.retry()),
  dispatcher.compose(undici8.interceptors.retry()),
  dispatcher.compose(undici6.interceptors.redirect(), undici6.interceptors.dump()),
  dispatcher.compose([undici7.interceptors.redirect(), undici7.interceptors.dns()]),
  dispatcher.compose([undici8.interceptors.decompress(), undici8.interceptors.cache()]),
]
// @ts-expect-error: what makes one, and not one
export const notComposed6 = dispatcher.compose(undici6.interceptors.retry)
// @ts-expect-error: its options
export const notComposed7 = dispatcher.compose({ maxRetries: 2 })
// @ts-expect-error: a dispatch() that gives no boolean
export const notComposed8 = dispatcher.compose(() => () => 'sent')

// What may be installed: ours, or theirs.
install()
install(new Agent())
install(dispatcher.compose(undici8.interceptors.retry()))
install(new undici6.Agent())
install(new undici7.Agent())
install(new undici8.Agent())
uninstall()
setGlobalDispatcher(new Agent({ fallback: new undici7.Agent() }))
// @ts-expect-error: what stood there comes back by uninstall()
install(null)
// @ts-expect-error: an object without a dispatch()
install({})
