import type { ReadableStreamLike } from './body.ts'
import type { FallbackDispatcher } from './client.ts'

/**
 * What `fetch()` takes besides a URL: the `RequestInit` of the Fetch standard as Node types it.
 *
 * @see https://fetch.spec.whatwg.org/#requestinit
 */
export interface FetchInit extends Omit<RequestInit, 'dispatcher' | 'duplex'> {
  /**
   * Who sends the request: a dispatcher of Dodici, or of undici 6, 7 or 8. `null`: the default.
   *
   * @default getGlobalDispatcher()
   */
  dispatcher?: FallbackDispatcher | null | undefined

  /** Has to be there with a body that is a stream: the answer comes when the request has gone. */
  duplex?: 'half' | undefined
}

/** What `fetch()` reads of a `Request`: Node's own, and that of any undici, have it. */
export interface RequestLike {
  readonly url: string
  readonly method: string
  readonly headers: Iterable<[string, string]>
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
