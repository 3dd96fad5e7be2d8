import type { BlobLike, FormDataLike, ReadableStreamLike } from './body.ts'
import type { FallbackDispatcher } from './client.ts'

/**
 * The second argument of `fetch()`: the Fetch standard's `RequestInit`, in the types of Node or of undici 6, 7 or 8.
 *
 * @see https://fetch.spec.whatwg.org/#requestinit
 */
export interface FetchInit extends Omit<RequestInit, 'body' | 'dispatcher' | 'duplex' | 'headers'> {
  /**
   * The standard's `BodyInit` from any library, an async iterable of bytes or strings, or a Node Readable. As in Node,
   * any other value becomes a string: even an array or another iterable, although undici's type permits these.
   *
   * @default null
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
   * The dispatcher that sends the request, from Dodici or from undici 6, 7 or 8. `null`: the default.
   *
   * @default getGlobalDispatcher()
   */
  dispatcher?: FallbackDispatcher | null | undefined

  /** Required with a stream body: the response arrives after the request was sent. */
  duplex?: 'half' | undefined

  /**
   * The header fields: an object, name-value pairs, or a `Headers` from any library.
   *
   * @default the `Request`'s, if the first argument is one
   */
  headers?:
    | RequestInit['headers']
    | Readonly<Record<string, string | readonly string[]>>
    | Iterable<readonly string[]>
    | NamedFields
    | undefined
}

/**
 * undici 7 and 8 type an object of fields by all known names, each of which may be missing. One name that no request
 * has stands for all of them here. The fields that a caller writes are checked by the other types, which take no
 * `undefined`.
 */
interface NamedFields {
  readonly 'WWW-Authenticate'?: string
}

/** The member by which a `Headers` is recognized: the global one, and that of any undici. */
interface HeadersLike {
  get(name: string): string | null
}

/** The members of a `Request` that `fetch()` reads. Node's own `Request` and the one from any undici have them. */
export interface RequestLike {
  /** The absolute URL. */
  readonly url: string
  /** The request method, in upper case where the standard normalizes it. */
  readonly method: string
  /** The header fields. */
  readonly headers: HeadersLike
  /** The body as a stream. `null`: no body. */
  readonly body: ReadableStreamLike | null
  /** Whether the body has already been read. If so, it can't be sent. */
  readonly bodyUsed: boolean
  /** Aborts the call. */
  readonly signal: AbortSignal
  /** `'follow'`, `'error'` or `'manual'`. */
  readonly redirect: string
  /** The request's mode, such as `'cors'`. */
  readonly mode: string
  /** The cache mode, such as `'default'`. */
  readonly cache: string
  /** The digests, one of which the response body must match; empty for none. */
  readonly integrity: string
  /** A URL, `'about:client'`, or empty for none. */
  readonly referrer: string
  /** The referrer policy, such as `'no-referrer'`; empty for the default. */
  readonly referrerPolicy: string
}
