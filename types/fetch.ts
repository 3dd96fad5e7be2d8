import type { BlobLike, FormDataLike, ReadableStreamLike } from './body.ts'
import type { FallbackDispatcher } from './client.ts'

/**
 * What `fetch()` takes besides a URL: the `RequestInit` of the Fetch standard as Node types it, or as undici 6, 7 or 8 do.
 *
 * @see https://fetch.spec.whatwg.org/#requestinit
 */
export interface FetchInit extends Omit<RequestInit, 'body' | 'dispatcher' | 'duplex' | 'headers'> {
  /**
   * The standard's `BodyInit` of any library, an async iterable of bytes or strings, a Node Readable. Anything else is made a string, as
   * in Node: also an array, or another iterable, which undici's type lets pass.
   */
  body?:
    | RequestInit['body']
    | string
    | ArrayBuffer
    | ArrayBufferView
    | BlobLike
    | FormDataLike
    | URLSearchParams
    | ReadableStreamLike
    | AsyncIterable<Uint8Array>
    | Iterable<Uint8Array>
    | null
    | undefined

  /**
   * Who sends the request: a dispatcher of Dodici, or of undici 6, 7 or 8. `null`: the default.
   *
   * @default getGlobalDispatcher()
   */
  dispatcher?: FallbackDispatcher | null | undefined

  /** Has to be there with a body that is a stream: the response comes when the request has gone. */
  duplex?: 'half' | undefined

  /** An object of fields, pairs of name and value, or a `Headers` of any library. */
  headers?:
    | RequestInit['headers']
    | Readonly<Record<string, string | readonly string[]>>
    | Iterable<readonly string[]>
    | NamedFields
    | undefined
}

/**
 * How undici 7 and 8 type an object of fields: by all names that are known, each of which may be missing. One that no request has
 * stands for all of them: what a caller writes down is held against the others, which take no `undefined`.
 */
interface NamedFields {
  readonly 'WWW-Authenticate'?: string
}

/** What a `Headers` is known by: the global one, and that of any undici. */
interface HeadersLike {
  get(name: string): string | null
}

/** What `fetch()` reads of a `Request`: Node's own, and that of any undici, have it. */
export interface RequestLike {
  readonly url: string
  readonly method: string
  readonly headers: HeadersLike
  readonly body: ReadableStreamLike | null
  readonly bodyUsed: boolean
  readonly signal: AbortSignal
  readonly redirect: string
  readonly mode: string
  readonly cache: string
  readonly integrity: string
  readonly referrer: string
  readonly referrerPolicy: string
}
