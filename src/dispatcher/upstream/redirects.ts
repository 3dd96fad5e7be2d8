/**
 * Requests that follow redirects of upstreams to other origins.
 *
 * @module
 */

import type { DispatchHandler } from '../../../types/handler.ts'
import type { IncomingHttpHeaders } from '../../../types/headers.ts'
import type { DispatchOptions } from '../../../types/request.ts'
import { ForwardingHandler } from '../../handler/forwarding-handler.ts'
import { toFollowedHeaders } from '../../request/redirect-mark.ts'

/** A redirect that a request follows. */
export interface FollowedRedirect {
  /** The `URL.origin` that the first request named: a redirect back leads to an upstream. Null: it named none. */
  readonly home: string | null
}

/**
 * Knows of a request which redirect it follows, and never guesses: what one caller's response says must not lead
 * another caller's request away. There are two signs.
 *
 * - Dodici's `fetch` marks such a request with the header section of the redirect.
 * - A handler dispatches itself while it is told that the redirect's response has ended: so do the redirect
 *   interceptors of undici 7 and 8.
 */
export class Redirects {
  readonly #isUpstream: (origin: string) => boolean
  /** By the header section, which the caller alone has got. */
  readonly #redirects = new WeakMap<IncomingHttpHeaders, FollowedRedirect>()
  /** Which handler is told of the end of which redirect just now; null: none is. */
  #ending: { readonly handler: DispatchHandler; readonly redirect: FollowedRedirect } | null = null
  /** There was a redirect: before that, a request costs nothing here. */
  #wereAny = false

  /** @param isUpstream whether a `URL.origin` is one of an upstream: a redirect to it leads to any upstream */
  constructor(isUpstream: (origin: string) => boolean) {
    this.#isUpstream = isUpstream
  }

  /** A response with a status of 3xx has come for a request that an upstream got. */
  record(options: DispatchOptions, headers: IncomingHttpHeaders): void {
    this.#record(headers, { home: toOriginText(options) })
  }

  /** The redirect by which a request leaves; null: it is for an upstream. */
  find(options: DispatchOptions, handler: DispatchHandler): FollowedRedirect | null {
    if (!this.#wereAny) return null
    const redirect = this.#toFollowed(options, handler)
    if (redirect === null) return null
    const origin = toOriginText(options)
    return origin === null || origin === redirect.home || this.#isUpstream(origin) ? null : redirect
  }

  /**
   * Tells a handler that a response has ended.
   *
   * @param headers of that response
   * @param handler the one that was dispatched
   */
  tellEnd(headers: IncomingHttpHeaders, handler: DispatchHandler, tell: () => void): void {
    const redirect = this.#redirects.get(headers)
    if (redirect === undefined) {
      tell()
      return
    }
    const before = this.#ending
    this.#ending = { handler, redirect }
    try {
      tell()
    } finally {
      this.#ending = before
    }
  }

  /** The handler of a request that leaves: its response may be a redirect, too. */
  watch(handler: DispatchHandler, redirect: FollowedRedirect): DispatchHandler {
    return new LeavingHandler(handler, this, (headers) => this.#record(headers, redirect))
  }

  #record(headers: IncomingHttpHeaders, redirect: FollowedRedirect): void {
    if (typeof headers.location !== 'string') return
    this.#redirects.set(headers, redirect)
    this.#wereAny = true
  }

  #toFollowed(options: DispatchOptions, handler: DispatchHandler): FollowedRedirect | null {
    const headers = toFollowedHeaders(options)
    if (headers !== null) return this.#redirects.get(headers) ?? null
    const ending = this.#ending
    return ending !== null && ending.handler === handler ? ending.redirect : null
  }
}

class LeavingHandler extends ForwardingHandler {
  readonly #redirects: Redirects
  readonly #record: (headers: IncomingHttpHeaders) => void
  /** Of the response, if it is a redirect. */
  #headers: IncomingHttpHeaders | null = null

  constructor(
    handler: DispatchHandler,
    redirects: Redirects,
    record: (headers: IncomingHttpHeaders) => void,
  ) {
    super(handler)
    this.#redirects = redirects
    this.#record = record
  }

  override onResponseStart(...args: Parameters<ForwardingHandler['onResponseStart']>): void {
    const [, statusCode, headers] = args
    if (isRedirection(statusCode)) {
      this.#headers = headers
      this.#record(headers)
    }
    super.onResponseStart(...args)
  }

  override onResponseEnd(...args: Parameters<ForwardingHandler['onResponseEnd']>): void {
    if (this.#headers === null) super.onResponseEnd(...args)
    else this.#redirects.tellEnd(this.#headers, this.handler, () => super.onResponseEnd(...args))
  }
}

/** Whether a status is of the class Redirection (RFC 9110 §15.4): the response may lead elsewhere. */
export function isRedirection(statusCode: number): boolean {
  return statusCode >= 300 && statusCode <= 399
}

/** The `URL.origin` that a request names; null: none. */
function toOriginText({ origin }: DispatchOptions): string | null {
  if (typeof origin === 'string') return URL.canParse(origin) ? new URL(origin).origin : null
  return origin === undefined || origin === null ? null : origin.origin
}
