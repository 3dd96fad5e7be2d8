/**
 * The request of one fetch.
 *
 * @module
 */

import type { FallbackDispatcher } from '../../types/client.ts'
import type { IncomingHttpHeaders } from '../../types/headers.ts'
import type { WireHeaders } from '../request/wire-headers.ts'
import type { FetchBody } from './fetch-body.ts'
import type { FetchUrl } from './fetch-url.ts'
import { toReferrerField } from './referrer.ts'

/** Members of a request that a plain call doesn't use, with the Fetch standard's names. */
export interface RareMembers {
  readonly mode: string
  readonly cache: string
  readonly integrity: string
  /** Empty for none: Node has no page, which would be the standard's client. */
  readonly referrer: string
  readonly referrerPolicy: string
}

/** The request of one fetch over all its redirects, which change it. */
export class FetchRequest {
  /** The current URL. */
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
  /** Names in the caller's fields that aren't in lower case, in the caller's spelling; null for none. */
  spellings: readonly string[] | null = null
  /** The header section of the redirect that led to the current URL; null if none did. */
  redirectedBy: IncomingHttpHeaders | null = null
  /** How many redirects were followed. */
  redirectCount = 0
  /**
   * Whether a redirect has led to an origin other than the first one (Fetch, "response tainting" other than `basic`).
   */
  isTainted = false

  /** @param client the base for relative URLs, if one was set: its origin is the request's */
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
   * Fetch, "main fetch": replaces the referrer with the part that the policy allows for the current URL. A later
   * redirect with a policy that allows more can't restore the rest.
   *
   * @throws TypeError if the referrer isn't a URL
   */
  determineReferrer(): void {
    const { referrer, referrerPolicy, url } = this
    if (referrer === '') return
    this.referrer = toReferrerField(referrer, referrerPolicy, new URL(url.origin + url.path)) ?? ''
  }
}
