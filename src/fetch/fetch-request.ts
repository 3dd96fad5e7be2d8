/**
 * What is fetched.
 *
 * @module
 */

import type { FallbackDispatcher } from '../../types/client.ts'
import type { WireHeaders } from '../core/wire-headers.ts'
import type { FetchBody } from './fetch-body.ts'
import type { FetchUrl } from './fetch-url.ts'

/** What a request is made of. The names and their defaults are the Fetch standard's. */
export interface FetchRequestInit {
  readonly url: FetchUrl
  readonly method: string
  readonly fields: WireHeaders
  readonly body: FetchBody | null
  readonly redirect: string
  readonly dispatcher: FallbackDispatcher
  readonly mode: string
  readonly cache: string
  readonly integrity: string
  /** Empty for none: the client of the standard, a page, isn't there in Node. */
  readonly referrer: string
  readonly referrerPolicy: string
  /** The base of relative URLs, where somebody has set one: its origin is the request's. Null for none. */
  readonly client: URL | null
}

/** The request of one fetch over all its redirects, which change it. */
export class FetchRequest {
  /** The current one. */
  url: FetchUrl
  method: string
  fields: WireHeaders
  body: FetchBody | null
  readonly redirect: string
  readonly dispatcher: FallbackDispatcher
  readonly mode: string
  readonly cache: string
  readonly integrity: string
  readonly referrer: string
  referrerPolicy: string
  readonly client: URL | null
  /** How many redirects were followed. */
  redirectCount = 0
  /** A redirect has led to another origin than the first one's (Fetch, "response tainting" other than `basic`). */
  isTainted = false

  constructor(init: FetchRequestInit) {
    this.url = init.url
    this.method = init.method
    this.fields = init.fields
    this.body = init.body
    this.redirect = init.redirect
    this.dispatcher = init.dispatcher
    this.mode = init.mode
    this.cache = init.cache
    this.integrity = init.integrity
    this.referrer = init.referrer
    this.referrerPolicy = init.referrerPolicy
    this.client = init.client
  }
}
