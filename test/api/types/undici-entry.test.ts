/** The declarations of `dodici/undici`, over those of each undici: what programs that were written for undici say. */

import { expect, it } from 'vitest'
import { compile, toPath } from './snippet-compiler.ts'

const NAMESPACES = `
import type { Dispatcher } from 'dodici/undici'
import { Agent, Client, Pool } from 'dodici/undici'

export const options: Agent.DispatchOptions = { path: '/', method: 'GET', origin: 'https://a.test' }
export const send = (agent: Agent, handler: Dispatcher.DispatchHandler) => agent.dispatch(options, handler)
// @ts-expect-error: no method
export const lacking: Agent.DispatchOptions = { path: '/' }
`

const TIMEOUTS = `
import { Agent, Client, Pool } from 'dodici/undici'

export const made = [
  new Agent({ connect: { timeout: 5 } }),
  new Pool('https://a.test', { connect: { timeout: 5, rejectUnauthorized: false } }),
  new Client('https://a.test', { connect: { timeout: 5 } }),
]
export const agent: Agent.Options = { connect: { timeout: 5 }, factory: (origin, options) => new Pool(origin, options) }
export const pool: Pool.Options = { connect: { timeout: 5 } }
export const client: Client.Options = { connect: { timeout: 5 } }
// @ts-expect-error: milliseconds
export const wrong: Client.Options = { connect: { timeout: '5' } }
`

const DECORATORS = `
import type { Dispatcher } from 'dodici/undici'
import { Agent, DecoratorHandler } from 'dodici/undici'

class Counting extends DecoratorHandler {
  chunks = 0
  constructor(handler: Dispatcher.DispatchHandler) {
    super(handler)
  }
  onResponseData(_controller: Dispatcher.DispatchController, _chunk: Buffer): void {
    this.chunks++
  }
}
declare const handler: Dispatcher.DispatchHandler
new Agent().dispatch({ path: '/', method: 'GET', origin: 'https://a.test' }, new Counting(handler))
export const interceptor: Dispatcher.DispatcherComposeInterceptor = (dispatch) => (options, inner) =>
  dispatch(options, new Counting(inner))
export const composed = new Agent().compose(interceptor, (dispatch) => (options, inner) =>
  dispatch(options, new DecoratorHandler(inner)))
// @ts-expect-error: no handler
new DecoratorHandler(5)
`

const FETCHES = `
import type { RequestInit } from 'dodici/undici'
import { Agent, fetch } from 'dodici/undici'

const init: RequestInit = { method: 'POST', body: 'x', headers: { a: 'b' }, signal: null, dispatcher: new Agent() }
export const fetched: Promise<Response> = fetch('https://a.test', init)
export const wrap = (url: string, given?: RequestInit) => fetch(url, given)
export const pass = (...args: Parameters<typeof fetch>) => fetch(...args)
// @ts-expect-error: no method
export const wrong = fetch('https://a.test', { method: 5 })
`

const DISPATCHERS = `
import * as dodici from 'dodici'
import { Agent, MockAgent, ProxyAgent, RetryAgent, setGlobalDispatcher } from 'dodici/undici'
import * as undici from 'undici'

declare const theirs: undici.Dispatcher
const all = [
  ...[new Agent(), new dodici.Agent(), new dodici.Pool('https://a.test'), new dodici.Agent().compose()],
  ...[theirs, new undici.Agent(), new undici.ProxyAgent('http://proxy.test'), new undici.MockAgent()],
  ...[new ProxyAgent('http://proxy.test'), new RetryAgent(new Agent()), new MockAgent()],
]
for (const dispatcher of [...all, { dispatch: () => true }]) {
  void dodici.request('https://a.test', { dispatcher })
  dodici.setGlobalDispatcher(dispatcher)
  dodici.install(dispatcher)
  setGlobalDispatcher(dispatcher)
}
// @ts-expect-error: it can't dispatch
dodici.setGlobalDispatcher({})
`

const WRONG = `
import undici from 'undici'
export const wrong: never = undici
`

const PROGRAMS = { NAMESPACES, TIMEOUTS, DECORATORS, FETCHES, DISPATCHERS, WRONG }

it.each(['undici-6', 'undici', 'undici-8'])('over the types of %s, programs compile', (undici) => {
  const files = Object.entries(PROGRAMS).map(([name, text]) => ({ path: toPath(name), text }))
  const errors = compile(files, undici)
  // That the compiler has that undici, and no other.
  expect(errors).toEqual([expect.stringContaining(`snippet-WRONG.ts: Type 'typeof import("`)])
  expect(errors[0]).toContain(`/node_modules/${undici}/`)
})
