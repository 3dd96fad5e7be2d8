/**
 * `fetch()`: the Fetch standard over a dispatcher.
 *
 * @module
 */

import type { FallbackDispatcher } from '../../types/client.ts'
import type { FetchInit, RequestLike } from '../../types/fetch.ts'
import { toDispatcher } from '../dispatcher/top-level.ts'
import { toError } from '../errors.ts'
import { FetchRequest } from './fetch-request.ts'
import { isHttp, readBase, splitUrl, toHref } from './fetch-url.ts'
import { Fetching } from './fetching.ts'
import type { UncheckedInit } from './request-input.ts'
import {
  checkBodyAllowed,
  checkDuplex,
  checkInit,
  isRequest,
  toCallFields,
  toInitBody,
  toMethod,
  toRareMembers,
  toRedirect,
  toSignal,
  toText,
} from './request-input.ts'

const NO_INIT: UncheckedInit = Object.freeze({})

/**
 * Node's own, for what isn't HTTP. As it is when this module is loaded: later `globalThis.fetch` may be ours. Reading it loads
 * nothing.
 */
const builtinFetch: typeof globalThis.fetch | undefined = globalThis.fetch

/**
 * Fetches a resource, as Node's own `fetch()` does, by a dispatcher of Dodici: over HTTP/2, or by its fallback over HTTP/1.1.
 *
 * @param input a URL, as a string or an object, or a `Request`: Node's own, or that of an undici
 * @param init the members of the standard's `RequestInit`, and `dispatcher` (@default getGlobalDispatcher())
 * @returns the answer, as soon as its header is there. `instanceof Response` holds. Its body must be read, cancelled, or be left to
 * the garbage collector: until then the peer is held back.
 * @throws TypeError for bad input, and with a `cause` when no answer came (a network error); the reason of an aborted signal. The
 * promise is rejected with it.
 * @see https://fetch.spec.whatwg.org/#fetch-method
 *
 * @example
 * ```ts
 * const response = await fetch('https://localhost:8443/users', { dispatcher: new Agent() })
 * const users = await response.json()
 * ```
 */
export function fetch(input: string | URL | RequestLike, init?: FetchInit | null): Promise<Response>
export function fetch(input: unknown, init: unknown = undefined): Promise<Response> {
  return new Promise((resolve, reject) => {
    checkInit(init)
    const request = isRequest(input) ? input : null
    const client = readBase()
    const href = request === null ? toHref(toText('URL', input), client) : request.url
    if (isHttp(href)) start({ href, client: client ?? null }, request, init ?? NO_INIT, resolve, reject)
    else resolve(fetchElsewhere(href, input, init))
  })
}

function start(
  { href, client }: { readonly href: string; readonly client: URL | null },
  base: RequestLike | null,
  init: UncheckedInit,
  resolve: (response: Response) => void,
  reject: (reason: unknown) => void,
): void {
  const method = init.method === undefined ? (base?.method ?? 'GET') : toMethod(init.method)
  const redirect = init.redirect === undefined ? (base?.redirect ?? 'follow') : toRedirect(init.redirect)
  const signal = init.signal === undefined ? (base?.signal ?? null) : toSignal(init.signal)
  checkDuplex(init.duplex)
  const fields = toCallFields(base, init)
  const members = toRareMembers(href, method, base, init)
  const hasOwnBody = init.body !== undefined && init.body !== null
  const stream = hasOwnBody ? null : (base?.body ?? null)
  if (stream !== null) checkStream(base, method)
  const body = hasOwnBody ? toInitBody(init.body, method, fields, init) : null
  const request = new FetchRequest({
    url: splitUrl(href),
    method,
    fields,
    body,
    redirect,
    dispatcher: toFetchDispatcher(init.dispatcher),
    client,
    ...members,
  })
  const fetching = new Fetching(request, signal, resolve, reject)
  if (stream === null) fetching.start()
  else fetching.startWith(stream)
}

/** @throws TypeError: all of fetch's bad input is one */
function toFetchDispatcher(given: unknown): FallbackDispatcher {
  try {
    return toDispatcher(given)
  } catch (cause) {
    throw new TypeError(toError(cause).message, { cause })
  }
}

/** The body of the Request that is fetched. */
function checkStream(base: RequestLike | null, method: string): void {
  checkBodyAllowed(method)
  if (base?.bodyUsed === true || base?.body?.locked === true) {
    throw new TypeError('Cannot fetch a Request whose body has been used already.')
  }
}

/** Not over HTTP: `data:` and `blob:` are Node's to read. */
function fetchElsewhere(href: string, input: unknown, init: unknown): Promise<Response> {
  const scheme = href.slice(0, href.indexOf(':') + 1)
  if ((scheme === 'data:' || scheme === 'blob:') && builtinFetch !== undefined) {
    const { dispatcher, ...own } = (init ?? {}) as UncheckedInit
    const isForeign = isRequest(input) && !(input instanceof Request)
    return builtinFetch(isForeign ? href : (input as string), own)
  }
  const cause = new Error(`unknown scheme ${scheme}`)
  return Promise.reject(new TypeError('fetch failed', { cause }))
}
