/**
 * Requests that follow upstreams' redirects to other origins.
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
  /** The `URL.origin` that the first request named: a redirect back leads to an upstream. Null if it named none. */
  readonly home: string | null
}

/**
 * Knows which redirect a request follows, and never guesses: one caller's response must not lead another caller's
 * request away. There are two signs.
 *
 * - Dodici's `fetch` marks such a request with the redirect's header section.
 * - A handler dispatches the request itself while it is told that the redirect's response has ended: undici 7's and 8's
 *   redirect interceptors do that.
 */
export class Redirects {
  readonly #isUpstream: (origin: string) => boolean
  /** By the header section, which only the caller has got. */
  readonly #redirects = new WeakMap<IncomingHttpHeaders, FollowedRedirect>()
  /** Which handler is just being told about the end of which redirect; null if none is. */
  #ending: { readonly handler: DispatchHandler; readonly redirect: FollowedRedirect } | null = null
  /** Whether there has been a redirect: until then, a request costs nothing here. */
  #wereAny = false

  /** @param isUpstream whether a `URL.origin` belongs to an upstream: a redirect to it leads to any upstream */
  constructor(isUpstream: (origin: string) => boolean) {
    this.#isUpstream = isUpstream
  }

  /** A response with a 3xx status has arrived for a request that an upstream got. */
  record(options: DispatchOptions, headers: IncomingHttpHeaders): void {
    this.#record(headers, { home: toOriginText(options) })
  }

  /** The redirect with which a request leaves; null if it is for an upstream. */
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
   * @param headers that response's headers
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

  /** The handler for a request that leaves, because its response may be a redirect, too. */
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
  /** The response's headers, if it is a redirect. */
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

/** Whether a status is in the class Redirection (RFC 9110 §15.4): the response may lead elsewhere. */
export function isRedirection(statusCode: number): boolean {
  return statusCode >= 300 && statusCode <= 399
}

/** The `URL.origin` that a request names; null if it names none. */
function toOriginText({ origin }: DispatchOptions): string | null {
  if (typeof origin === 'string') return URL.canParse(origin) ? new URL(origin).origin : null
  return origin === undefined || origin === null ? null : origin.origin
}
