/**
 * What is fetched.
 *
 * @module
 */

import type { FallbackDispatcher } from '../../types/client.ts'
import type { WireHeaders } from '../core/wire-headers.ts'
import type { FetchBody } from './fetch-body.ts'
import type { FetchUrl } from './fetch-url.ts'
import { toReferrerField } from './referrer.ts'

/** Members of a request that a plain call doesn't have. The names are the Fetch standard's. */
export interface RareMembers {
  readonly mode: string
  readonly cache: string
  readonly integrity: string
  /** Empty for none: the client of the standard, a page, isn't there in Node. */
  readonly referrer: string
  readonly referrerPolicy: string
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
  /** Empty for none. */
  referrer: string
  referrerPolicy: string
  readonly client: URL | null
  /** Names of the caller's fields that aren't in lower case, as he writes them; null for none. */
  spellings: readonly string[] | null = null
  /** How many redirects were followed. */
  redirectCount = 0
  /** A redirect has led to another origin than the first one's (Fetch, "response tainting" other than `basic`). */
  isTainted = false

  /** @param client the base of relative URLs, where somebody has set one: its origin is the request's */
  constructor(
    url: FetchUrl,
    method: string,
    fields: WireHeaders,
    body: FetchBody | null,
    redirect: string,
    dispatcher: FallbackDispatcher,
    client: URL | null,
    rare: RareMembers,
  ) {
    this.url = url
    this.method = method
    this.fields = fields
    this.body = body
    this.redirect = redirect
    this.dispatcher = dispatcher
    this.client = client
    this.mode = rare.mode
    this.cache = rare.cache
    this.integrity = rare.integrity
    this.referrer = rare.referrer
    this.referrerPolicy = rare.referrerPolicy
  }

  /**
   * Fetch, "main fetch": what the policy leaves of the referrer, for where the request is aimed at, takes its place. A
   * redirect that allows more finds no more than that.
   *
   * @throws TypeError when the referrer is no URL
   */
  determineReferrer(): void {
    const { referrer, referrerPolicy, url } = this
    if (referrer === '') return
    this.referrer = toReferrerField(referrer, referrerPolicy, new URL(url.origin + url.path)) ?? ''
  }
}
