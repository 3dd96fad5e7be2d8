/**
 * Redirects (Fetch, "HTTP-redirect fetch"): pure rules.
 *
 * @module
 */

import type { IncomingHttpHeaders } from '../../types/headers.ts'
import { deleteField } from '../request/wire-headers.ts'
import type { FetchRequest } from './fetch-request.ts'
import type { FetchUrl } from './fetch-url.ts'
import { isHttp, splitUrl } from './fetch-url.ts'
import { toRedirectPolicy } from './referrer.ts'

/** Fetch: with more redirects than this, the fetch fails. */
const MAX_REDIRECTS = 20

/** Fetch, "request-body-header name": these fields describe a body that was dropped. */
const BODY_FIELDS = [
  'content-encoding',
  'content-language',
  'content-location',
  'content-type',
  'content-length',
]

/** Fields for one origin that aren't sent to another origin. */
const ORIGIN_FIELDS = ['authorization', 'proxy-authorization', 'cookie', 'host']

/** Whether a status is a redirect status (Fetch). */
export function isRedirect(status: number): boolean {
  return status === 302 || status === 301 || status === 307 || status === 308 || status === 303
}

/**
 * Changes a request so that it goes to the redirect's target.
 *
 * @param location the value of the response's `location`
 * @returns what is wrong with the redirect (a network error); null if the request is ready to be sent again
 */
export function redirectRequest(
  request: FetchRequest,
  status: number,
  headers: IncomingHttpHeaders,
  location: string,
): Error | null {
  const target = toTarget(location, request.url)
  if (target instanceof Error) return target
  if (request.redirectCount === MAX_REDIRECTS) return new Error('redirect count exceeded')
  request.redirectCount++
  const error = checkTarget(request, status, target)
  if (error !== null) return error
  if (isWithoutBody(status, request.method)) {
    request.method = 'GET'
    request.body = null
    request.fields = without(request, BODY_FIELDS)
  }
  if (target.origin !== request.url.origin) {
    request.fields = without(request, ORIGIN_FIELDS)
    request.isTainted = true
  }
  request.url = target
  request.redirectedBy = headers
  const policy = headers['referrer-policy']
  request.referrerPolicy = toRedirectPolicy(
    typeof policy === 'string' ? policy : null,
    request.referrerPolicy,
  )
  return null
}

/** @returns null if the redirect is allowed */
function checkTarget({ mode, body, url }: FetchRequest, status: number, target: FetchUrl): Error | null {
  if (target.origin.includes('@')) return new Error('a redirect to a URL with credentials is not followed')
  // A body without a source was read already: it can't be sent again.
  if (status !== 303 && body !== null && !body.hasSource) {
    return new Error('the redirect needs the request body again, but it was a stream')
  }
  const isForbidden = mode === 'same-origin' && target.origin !== url.origin
  return isForbidden ? new Error('request mode cannot be "same-origin"') : null
}

function toTarget(location: string, current: FetchUrl): FetchUrl | Error {
  let url: URL
  try {
    url = new URL(toUnicode(location), current.origin + current.path)
  } catch {
    // The message doesn't show the location: it may hold a password.
    return new Error('the redirect location is not a valid URL')
  }
  if (!isHttp(url.href)) return new Error('URL scheme must be a HTTP(S) scheme')
  return splitUrl(url.href)
}

/** Some servers send unescaped UTF-8, and browsers follow such redirects. */
function toUnicode(location: string): string {
  return /^[\x20-\x7e]*$/.test(location) ? location : Buffer.from(location, 'latin1').toString()
}

function isWithoutBody(status: number, method: string): boolean {
  if (status === 303) return method !== 'GET' && method !== 'HEAD'
  return method === 'POST' && (status === 301 || status === 302)
}

/** The fields without those with some names. A new list, because a dispatcher may have kept the one it got. */
function without({ fields }: FetchRequest, names: readonly string[]): string[] {
  const left = fields.slice()
  for (const name of names) deleteField(left, name)
  return left
}
