import { EventEmitter } from 'node:events'
import type { Duplex } from 'node:stream'
import type { Dispatcher as DependencyDispatcher } from 'undici-types'
import type * as undici6 from 'undici-types-6'
import type * as undici7 from 'undici-types-7'
import type * as undici8 from 'undici-types-8'
import type { Agent, Client } from '../../../src/index.ts'
import { Client as ClientClass, Dispatcher as DispatcherClass } from '../../../src/index.ts'
import type {
  AgentOptions,
  AnyDispatchHandler,
  BodyReadable,
  ClientOptions,
  CodedError,
  ComposedDispatcher,
  Dispatch,
  Dispatcher,
  DispatcherComposeInterceptor,
  DispatcherEvents,
  DispatchHandler,
  DispatchOptions,
  IncomingHttpHeaders,
  RawResponseData,
  RequestOptions,
  ResponseData,
} from '../../../types/index.ts'
import type { Equal, Expect } from './expect.ts'

declare const dispatcher: Dispatcher

// A subclass of a user's own, with private fields.
class OwnDispatcher extends DispatcherClass {
  #calls = 0

  override get closed(): boolean {
    return false
  }

  override get destroyed(): boolean {
    return false
  }

  override dispatch(_options: DispatchOptions, _handler: AnyDispatchHandler): boolean {
    this.#calls++
    return this.#calls < 1
  }

  override close(): Promise<void>
  override close(callback: () => void): void
  override close(callback?: () => void): unknown {
    return callback
  }

  override destroy(error: Error | null, callback: () => void): void
  override destroy(callback: () => void): void
  override destroy(error: Error | null): Promise<void>
  override destroy(): Promise<void>
  override destroy(error?: Error | null | (() => void), callback?: () => void): unknown {
    return [error, callback]
  }
}

// One that overrides an API method, and calls the one that it overrides.
export class CountingClient extends ClientClass {
  override pipeline(...given: Parameters<Dispatcher['pipeline']>): Duplex {
    return super.pipeline(...given)
  }

  override request(options: RequestOptions<unknown>, callback: () => void): void
  override request(options: RequestOptions<unknown>): Promise<never>
  override request(options: RequestOptions<unknown>, callback?: () => void): unknown {
    return callback === undefined ? super.request(options) : super.request(options, callback)
  }
}

// The namespaces of undici's names.
export type NamespaceOptions = Expect<Equal<Client.Options, ClientOptions>>
export type AgentNamespaceOptions = Expect<Equal<Agent.Options, AgentOptions>>

declare const client: Client
declare const agent: Agent
declare const abstract: DispatcherClass
declare const own: OwnDispatcher

// Our Dispatcher, the class of that name and its subclasses are Dispatchers of every undici.
export const as6: undici6.Dispatcher[] = [dispatcher, abstract, client, agent, own]
export const as7: undici7.Dispatcher[] = [dispatcher, abstract, client, agent, own]
export const as8: undici8.Dispatcher[] = [dispatcher, abstract, client, agent, own]
export const asDependency: DependencyDispatcher[] = [dispatcher, abstract, client, agent, own]
export const asOurs: Dispatcher[] = [abstract, client, agent, own]
export const composedAs7: undici7.Dispatcher = client.compose([])
// @ts-expect-error: a class with abstract members
export const none = new DispatcherClass()

// What takes a Dispatcher takes ours.
declare const fetch6: typeof undici6.fetch
declare const fetch7: typeof undici7.fetch
declare const fetch8: typeof undici8.fetch
export function usePlaces(url: string) {
  fetch(url, { dispatcher })
  fetch(url, { dispatcher: client, method: 'POST', body: 'x' })
  fetch6(url, { dispatcher: client })
  fetch7(url, { dispatcher: client })
  fetch8(url, { dispatcher: client })
  const init6: undici6.RequestInit = { dispatcher }
  const init7: undici7.RequestInit = { dispatcher }
  const init8: undici8.RequestInit = { dispatcher }
  const init: RequestInit = { dispatcher }
  return [init6, init7, init8, init]
}
declare const setGlobal6: typeof undici6.setGlobalDispatcher
declare const setGlobal7: typeof undici7.setGlobalDispatcher
declare const setGlobal8: typeof undici8.setGlobalDispatcher
declare const request6: typeof undici6.request
declare const request7: typeof undici7.request
declare const request8: typeof undici8.request
declare const RetryAgent6: typeof undici6.RetryAgent
declare const RetryAgent7: typeof undici7.RetryAgent
declare const RetryAgent8: typeof undici8.RetryAgent
export function useOtherPlaces(url: string) {
  setGlobal6(client)
  setGlobal7(client)
  setGlobal8(client)
  request6(url, { dispatcher: client })
  request7(url, { dispatcher: client })
  request8(url, { dispatcher: client })
  return [new RetryAgent6(client), new RetryAgent7(client), new RetryAgent8(client)]
}

// What keeps it assignable: a Dispatcher with one of these members wouldn't be one of undici's.
declare const nativeOnly: Omit<Dispatcher, 'dispatch'> & {
  dispatch(options: DispatchOptions, handler: DispatchHandler): boolean
}
// @ts-expect-error: undici 6 and 7 give a handler of the older shape
export const native6: undici6.Dispatcher = nativeOnly
// @ts-expect-error: undici 6 and 7 give a handler of the older shape
export const native7: undici7.Dispatcher = nativeOnly
export const native8: undici8.Dispatcher = nativeOnly
declare const own8: undici8.Dispatcher
// @ts-expect-error: undici's own Dispatcher of another major isn't one either
export const own8As6: undici6.Dispatcher = own8
declare const richBody: Omit<Dispatcher, 'request'> & {
  request(options: RequestOptions<unknown>): Promise<ResponseData<unknown>>
}
// @ts-expect-error: undici's formData() is Promise<never>
export const rich6: undici6.Dispatcher = richBody
// @ts-expect-error: undici's formData() is Promise<never>
export const rich7: undici7.Dispatcher = richBody
// @ts-expect-error: undici's formData() is Promise<never>
export const rich8: undici8.Dispatcher = richBody
declare const strictSignal: Omit<Dispatcher, 'connect'> & {
  connect(options: { path: string; signal?: AbortSignal }): Promise<never>
  connect(options: { path: string; signal?: AbortSignal }, callback: () => void): void
}
// @ts-expect-error: undici 7's signal is unknown, so a signal without a type parameter is too narrow
export const strict7: undici7.Dispatcher = strictSignal
// @ts-expect-error: an EventEmitter alone is no Dispatcher
export const emitter8: undici8.Dispatcher = new EventEmitter()

// What comes back is what is there at run time. undici's body says less.
export type MethodBody = Expect<
  Equal<Awaited<ReturnType<typeof client.request<string>>>, ResponseData<string>>
>
export type MethodAsFunction = Expect<
  Equal<Awaited<ReturnType<Client['request']>>['headers'], IncomingHttpHeaders>
>
declare const body: BodyReadable
// @ts-expect-error: formData() and body say more than undici's
export const richAs8: undici8.Dispatcher.ResponseData['body'] = body
export type Form = Expect<Equal<Awaited<ReturnType<BodyReadable['formData']>>, FormData>>
export type Bytes = Expect<Equal<Awaited<ReturnType<BodyReadable['bytes']>>, Uint8Array>>
export type Raw = Expect<
  Equal<
    [RawResponseData['headers'], RawResponseData['trailers'], RawResponseData['body']],
    [string[], string[], BodyReadable]
  >
>
export type RawOpaque = Expect<Equal<RawResponseData<{ id: number }>['opaque'], { id: number }>>
export type RawKeepsTheRest = Expect<Equal<keyof RawResponseData, keyof ResponseData>>

// The methods: generic in `opaque`, strict in `signal`, whatever undici 6 and 7 say.
export async function useMethods() {
  const response = await client.request({ path: '/', method: 'GET', opaque: 7 })
  const opaque: number = response.opaque
  const explicit = await client.request<{ id: string }>({
    path: '/',
    method: 'PROPFIND',
    opaque: { id: 'a' },
    signal: new AbortController().signal,
  })
  const id: string = explicit.opaque.id
  client.request({ path: '/', method: 'GET', signal: new EventEmitter() })
  client.request({ path: '/', method: 'GET', signal: null })
  const nothing = client.request({ path: '/', method: 'GET', opaque: 'x' }, (error, data) => {
    const message: string | undefined = error?.message
    const callbackOpaque: string = data.opaque
    return [message, callbackOpaque]
  })
  // @ts-expect-error: a controller isn't a signal
  client.request({ path: '/', method: 'GET', signal: new AbortController() })
  // @ts-expect-error: a controller isn't a signal
  client.pipeline({ path: '/', method: 'GET', signal: new AbortController() }, ({ body }) => body)
  // @ts-expect-error: a number isn't a signal
  client.connect({ path: 'example.com:443', signal: 1 })
  // @ts-expect-error: a method is needed
  client.request({ path: '/' })
  const duplex = client.pipeline({ path: '/', method: 'POST', objectMode: true }, ({ body, statusCode }) => {
    const code: number = statusCode
    return code === 200 ? body : body.resume()
  })
  client.pipeline({ path: '/', method: 'POST' }, ({ body, trailers }) => {
    const status: string | undefined = trailers['grpc-status']
    return body.on('end', () => status)
  })
  const streamed = await client.stream({ path: '/', method: 'GET', opaque: duplex }, ({ opaque }) => opaque)
  const { socket } = await client.connect({ path: 'example.com:443' })
  const upgraded = await client.upgrade({ path: '/chat', protocol: 'websocket' })
  await client.close()
  await client.destroy()
  await client.destroy(null)
  client.close(() => {})
  client.destroy(new Error('over'), () => {})
  const isNothing: Equal<typeof nothing, void> = true
  return [opaque, id, isNothing, streamed.trailers, socket, upgraded.socket]
}

// The events.
export function useEvents() {
  const same: Client = client.on('connect', (origin, targets) => {
    const href: string = origin.href
    const first: Dispatcher | undefined = targets[0]
    return [href, first]
  })
  client.once('disconnect', (_origin, _targets, error) => {
    const code: string = error.code
    return code
  })
  client.emit('drain', new URL('https://example.com'), [client])
  // @ts-expect-error: the origin is missing
  client.emit('drain')
  // @ts-expect-error: the origin isn't a string
  client.on('drain', (origin: string) => origin)
  return same
}
declare const undiciError6: undici6.errors.UndiciError
declare const undiciError8: undici8.errors.UndiciError
export const codedErrors: CodedError[] = [undiciError6, undiciError8]
export type EventNames = Expect<
  Equal<
    keyof DispatcherEvents,
    'connect' | 'disconnect' | 'connectionError' | 'drain' | 'upstreams' | 'discoveryError'
  >
>

// Interceptors: undici's own, and ours.
declare const interceptors6: typeof undici6.interceptors
declare const interceptors7: typeof undici7.interceptors
declare const interceptors8: typeof undici8.interceptors
declare const interceptor6: undici6.Dispatcher.DispatcherComposeInterceptor
declare const interceptor7: undici7.Dispatcher.DispatcherComposeInterceptor
declare const interceptor8: undici8.Dispatcher.DispatcherComposeInterceptor
export function useCompose() {
  const own: DispatcherComposeInterceptor = (dispatch) => (options, handler) => dispatch(options, handler)
  const composed: ComposedDispatcher = client.compose(
    own,
    interceptor6,
    interceptor7,
    interceptor8,
    interceptors6.retry(),
    interceptors7.redirect({ maxRedirections: 2 }),
    interceptors8.retry({ maxRetries: 1 }),
    interceptors8.cache(),
  )
  client.compose([interceptors8.dump(), own])
  const dispatch8: undici8.Dispatcher['dispatch'] = client.dispatch
  const dispatchOurs: Dispatch[] = [dispatch8, client.dispatch]
  // @ts-expect-error: an interceptor gives a function
  client.compose(() => 1)
  return [composed, dispatchOurs]
}
