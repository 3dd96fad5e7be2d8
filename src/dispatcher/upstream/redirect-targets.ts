/**
 * Requests that follow redirects of upstreams to other origins.
 *
 * @module
 */

import type { DispatchHandler } from '../../../types/handler.ts'
import type { IncomingHttpHeaders } from '../../../types/headers.ts'
import type { DispatchOptions } from '../../../types/request.ts'
import type { Clock } from '../../core/clock.ts'
import { ForwardingHandler } from '../../handler/forwarding-handler.ts'

/** A request that follows a redirect comes at once: after this time it is another request. Milliseconds. */
const LIFETIME = 60_000
/** No more are remembered: the oldest is forgotten first. */
const MAX_TARGETS = 1_000

/** Where a redirect leads. */
export interface RedirectTarget {
  /** The origin that the first request named: a redirect back there leads to an upstream. Null: it named none. */
  readonly home: string | null
  /** When it is forgotten. */
  readonly until: number
}

/**
 * A dispatcher isn't told that a request follows a redirect, neither by `fetch` nor by undici's redirect interceptor.
 * But it has seen the redirect: a request for exactly that URL, soon after, goes there.
 */
export class RedirectTargets {
  readonly #clock: Clock
  readonly #isUpstream: (origin: string) => boolean
  /** By URL, the oldest first. */
  readonly #targets = new Map<string, RedirectTarget>()

  /** @param isUpstream whether an origin is one of an upstream: a redirect to it leads to any upstream */
  constructor(clock: Clock, isUpstream: (origin: string) => boolean) {
    this.#clock = clock
    this.#isUpstream = isUpstream
  }

  /** A response with a status of 3xx has come for a request that an upstream got. */
  record(options: DispatchOptions, headers: IncomingHttpHeaders): void {
    this.#record(options, headers, toOriginText(options))
  }

  /** The target that a request is for; null: it is for an upstream. */
  find(options: DispatchOptions): RedirectTarget | null {
    if (this.#targets.size === 0) return null
    const origin = toOriginText(options)
    if (origin === null || this.#isUpstream(origin)) return null
    const target = this.#targets.get(origin + options.path)
    return target !== undefined && this.#clock.now() < target.until ? target : null
  }

  /** The handler of a request that goes to a target: its response may be a redirect, too. */
  watch(handler: DispatchHandler, options: DispatchOptions, { home }: RedirectTarget): DispatchHandler {
    return new RedirectWatcher(handler, (headers) => this.#record(options, headers, home))
  }

  #record({ origin, path }: DispatchOptions, { location }: IncomingHttpHeaders, home: string | null): void {
    if (typeof location !== 'string') return
    const url = toUrl(location, `${origin ?? ''}${path}`)
    if (url === null || url.origin === home) return
    const key = url.origin + url.pathname + url.search
    // The order of a Map is that of the first insertion.
    this.#targets.delete(key)
    this.#targets.set(key, { home, until: this.#clock.now() + LIFETIME })
    for (const [oldest, { until }] of this.#targets) {
      if (this.#targets.size <= MAX_TARGETS && this.#clock.now() < until) break
      this.#targets.delete(oldest)
    }
  }
}

class RedirectWatcher extends ForwardingHandler {
  readonly #onRedirect: (headers: IncomingHttpHeaders) => void

  constructor(handler: DispatchHandler, onRedirect: (headers: IncomingHttpHeaders) => void) {
    super(handler)
    this.#onRedirect = onRedirect
  }

  override onResponseStart(...args: Parameters<ForwardingHandler['onResponseStart']>): void {
    const [, statusCode, headers] = args
    if (statusCode >= 300 && statusCode <= 399) this.#onRedirect(headers)
    super.onResponseStart(...args)
  }
}

function toOriginText({ origin }: DispatchOptions): string | null {
  if (typeof origin === 'string') return origin
  return origin === undefined || origin === null ? null : origin.origin
}

/** Null for what is no URL of `http:` or `https:`: no request follows it. */
function toUrl(location: string, base: string): URL | null {
  if (!URL.canParse(location, URL.canParse(base) ? base : undefined)) return null
  const url = new URL(location, URL.canParse(base) ? base : undefined)
  return url.protocol === 'https:' || url.protocol === 'http:' ? url : null
}
