/**
 * The declarations of `dodici/undici`: the installed undici's, and Dodici's or Node's where the name is theirs. The
 * build copies this file: it has declarations alone.
 *
 * @module
 */

import type * as types from '../index.ts'

export * from 'undici'
export {
  connect,
  errors,
  getGlobalDispatcher,
  pipeline,
  request,
  stream,
  upgrade,
} from '../index.ts'

type Undici<TOptions> = Omit<TOptions, keyof types.AgentOptions>

/** Dodici's Client. An `http:` origin speaks HTTP/1.1, unless `h2c` or undici's `useH2c` is true. */
export declare class Client extends types.Client {
  constructor(origin: string | URL, options?: Client.Options)
}
export declare namespace Client {
  /** Dodici's options, and those of undici that have no effect. */
  export type Options = types.ClientOptions & Undici<import('undici').Client.Options>
}

/** Dodici's Pool. An `http:` origin speaks HTTP/1.1, unless `h2c` or undici's `useH2c` is true. */
export declare class Pool extends types.Pool {
  constructor(origin: string | URL, options?: Pool.Options)
}
export declare namespace Pool {
  /** Dodici's options, and those of undici that have no effect. */
  export type Options = types.PoolOptions & Undici<import('undici').Pool.Options>
}

/** Dodici's Agent. */
export declare class Agent extends types.Agent {
  constructor(options?: Agent.Options)
}
export declare namespace Agent {
  /** Dodici's options, and those of undici that have no effect. */
  export type Options = types.AgentOptions & Undici<import('undici').Agent.Options>
  export type DispatchOptions = types.DispatchOptions
}

/** The abstract dispatcher. `instanceof` holds for undici's dispatchers, too. */
export declare const Dispatcher: typeof types.Dispatcher
/**
 * A dispatcher of Dodici; each is a `Dispatcher` of undici, too. undici's own, such as a ProxyAgent, is none: its
 * methods say less. Where a dispatcher is taken, both are.
 */
export type Dispatcher = ReturnType<typeof types.getGlobalDispatcher>

/** undici's names for the types of the contract. */
export declare namespace Dispatcher {
  export type BodyMixin = Pick<
    types.BodyReadable,
    'arrayBuffer' | 'blob' | 'body' | 'bodyUsed' | 'bytes' | 'formData' | 'json' | 'text'
  >
  export type ComposedDispatcher = types.ComposedDispatcher
  export type ConnectData<TOpaque = null> = types.ConnectData<TOpaque>
  export type ConnectOptions<TOpaque = null> = types.ConnectOptions<TOpaque>
  export type Dispatch = types.Dispatch
  export type DispatchController = types.DispatchController
  export type DispatchHandler = types.DispatchHandler
  /** In undici 6. */
  export type DispatchHandlers = types.LegacyDispatchHandler
  export type DispatchInterceptor = types.DispatcherComposeInterceptor
  export type DispatchOptions = types.DispatchOptions
  export type DispatcherComposeInterceptor = types.DispatcherComposeInterceptor
  export type HttpMethod = types.HttpMethod
  export type PipelineHandler<TOpaque = null> = types.PipelineHandler<TOpaque>
  export type PipelineHandlerData<TOpaque = null> = types.PipelineHandlerData<TOpaque>
  export type PipelineOptions<TOpaque = null> = types.PipelineOptions<TOpaque, null>
  export type RequestOptions<TOpaque = null> = types.RequestOptions<TOpaque, null>
  export type ResponseData<TOpaque = null> = types.ResponseData<TOpaque>
  export type StreamData<TOpaque = null> = types.StreamData<TOpaque>
  export type StreamFactory<TOpaque = null> = types.StreamFactory<TOpaque>
  export type StreamFactoryData<TOpaque = null> = types.StreamFactoryData<TOpaque>
  export type UpgradeData<TOpaque = null> = types.UpgradeData<TOpaque>
  export type UpgradeOptions<TOpaque = null> = types.UpgradeOptions<TOpaque>
}

/** undici's handler that hands each call on. It takes the handlers of both. */
export declare const DecoratorHandler: new (
  handler: types.AnyDispatchHandler,
) => import('undici').DecoratorHandler
export type DecoratorHandler = import('undici').DecoratorHandler

/** @param dispatcher of Dodici or of undici; the one for Dodici's functions, undici's, and Node's own */
export declare function setGlobalDispatcher(dispatcher: types.FallbackDispatcher): void

/** Dodici's fetch. A relative URL is resolved against {@link getGlobalOrigin}. */
export declare function fetch(
  input: string | URL | types.RequestLike,
  init?: types.FetchInit,
): Promise<Response>

/** Makes {@link fetch}, its classes, and the undici that was found's WebSocket and EventSource global. */
export declare function install(): void

/** The URL against which {@link fetch} resolves a relative one; undefined for none. */
export declare function getGlobalOrigin(): URL | undefined

/** @param origin a URL of http: or https:; undefined for none */
export declare function setGlobalOrigin(origin: string | URL | undefined): void

export declare const FormData: typeof globalThis.FormData
export type FormData = globalThis.FormData
export declare const Headers: typeof globalThis.Headers
export type Headers = globalThis.Headers
export declare const Request: typeof globalThis.Request
export type Request = globalThis.Request
export declare const Response: typeof globalThis.Response
export type Response = globalThis.Response

// undici's own say undici's `Headers`, which isn't always that of Node in the eyes of the compiler.
export declare function getCookies(headers: Headers): Record<string, string>
export declare function getSetCookies(headers: Headers): import('undici').Cookie[]
export declare function setCookie(headers: Headers, cookie: import('undici').Cookie): void
export declare function deleteCookie(
  headers: Headers,
  name: string,
  attributes?: { name?: string; domain?: string },
): void
