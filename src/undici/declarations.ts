/**
 * The declarations of `dodici/undici`: those of the installed undici, with Dodici's or Node's where these replace them.
 * The build copies this file: it contains only declarations.
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

/** Dodici's Client, as in undici: `http:` origins use HTTP/1.1, unless `h2c` or undici's `useH2c` is true. */
export declare class Client extends types.Client {
  constructor(origin: string | URL, options?: Client.Options)
}
export declare namespace Client {
  /** Dodici's options, and those of undici that have no effect. */
  export type Options = types.ClientOptions & Undici<import('undici').Client.Options>
}

/** Dodici's Pool, as in undici: `http:` origins use HTTP/1.1, unless `h2c` or undici's `useH2c` is true. */
export declare class Pool extends types.Pool {
  constructor(origin: string | URL, options?: Pool.Options)
}
export declare namespace Pool {
  /** Dodici's options, and those of undici that have no effect. */
  export type Options = types.PoolOptions & Undici<import('undici').Pool.Options>
}

/** Dodici's Agent: a dispatcher for any origin. It also accepts the options that only undici has. */
export declare class Agent extends types.Agent {
  constructor(options?: Agent.Options)
}
export declare namespace Agent {
  /** Dodici's options, and those of undici that have no effect. */
  export type Options = types.AgentOptions & Undici<import('undici').Agent.Options>
  export type DispatchOptions = types.DispatchOptions
}

/** The abstract dispatcher. `instanceof` is also true for undici's dispatchers. */
export declare const Dispatcher: typeof types.Dispatcher
/**
 * A dispatcher from Dodici. TypeScript also accepts it as undici's `Dispatcher`, but not the reverse: the methods of
 * undici's, such as a ProxyAgent, have less precise types. Functions and options accept both.
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

/** A handler that forwards each call, as in undici. It accepts Dodici's handlers and undici's. */
export declare const DecoratorHandler: new (
  handler: types.AnyDispatchHandler,
) => import('undici').DecoratorHandler
export type DecoratorHandler = import('undici').DecoratorHandler

/**
 * Sets the global dispatcher for Dodici, for undici, and for Node's own fetch.
 *
 * @param dispatcher from Dodici or from undici
 */
export declare function setGlobalDispatcher(dispatcher: types.FallbackDispatcher): void

/** Dodici's fetch. It resolves a relative URL against {@link getGlobalOrigin}. */
export declare function fetch(
  input: string | URL | types.RequestLike,
  init?: types.FetchInit,
): Promise<Response>

/** Makes {@link fetch}, its classes, and the WebSocket and EventSource of the undici that was found global. */
export declare function install(): void

/** Returns the base URL for relative URLs in {@link fetch}. `undefined`: none. */
export declare function getGlobalOrigin(): URL | undefined

/**
 * Sets the base URL for relative URLs in {@link fetch}.
 *
 * @param origin an `http:` or `https:` URL. `undefined`: none.
 */
export declare function setGlobalOrigin(origin: string | URL | undefined): void

/** Node's own `FormData` class. */
export declare const FormData: typeof globalThis.FormData
export type FormData = globalThis.FormData
/** Node's own `Headers` class. */
export declare const Headers: typeof globalThis.Headers
export type Headers = globalThis.Headers
/** Node's own `Request` class. */
export declare const Request: typeof globalThis.Request
export type Request = globalThis.Request
/** Node's own `Response` class. */
export declare const Response: typeof globalThis.Response
export type Response = globalThis.Response

// undici declares these with its own `Headers`, which for TypeScript isn't always the same type as Node's.
/** Returns the cookies of a request, by name. */
export declare function getCookies(headers: Headers): Record<string, string>
/** Returns the cookies that a response sets. */
export declare function getSetCookies(headers: Headers): import('undici').Cookie[]
/** Adds a `set-cookie` field to a response's headers. */
export declare function setCookie(headers: Headers, cookie: import('undici').Cookie): void
/** Adds a `set-cookie` field that deletes a cookie. */
export declare function deleteCookie(
  headers: Headers,
  name: string,
  attributes?: { name?: string; domain?: string },
): void
