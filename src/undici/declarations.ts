/**
 * The declarations of `dodici/undici`: those of the installed undici, and Dodici's or Node's beside them where the name
 * is theirs. The build copies this file: it has declarations alone.
 *
 * @module
 */

import type { FetchInit, RequestLike } from '../index.ts'

export * from 'undici'
export {
  Agent,
  Client,
  connect,
  Dispatcher,
  errors,
  getGlobalDispatcher,
  Pool,
  pipeline,
  request,
  setGlobalDispatcher,
  stream,
  upgrade,
} from '../index.ts'

/** Dodici's fetch. A relative URL is resolved against {@link getGlobalOrigin}. */
export declare function fetch(input: string | URL | RequestLike, init?: FetchInit): Promise<Response>

/** Makes {@link fetch}, its classes, and the installed undici's WebSocket and EventSource global. */
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

/** All of it in one object, as undici's default export is. */
declare const all: typeof import('./declarations.ts')
export default all
