/**
 * `fetch()`: the Fetch standard over a dispatcher.
 *
 * @module
 */

import type { ReadableStreamLike } from '../../types/body.ts'
import type { FetchInit, RequestLike } from '../../types/fetch.ts'
import { InvalidArgumentError } from '../errors/errors.ts'
import { toDispatcher } from '../global/top-level.ts'
import { isReadableStream } from '../request/body.ts'
import { toSpellings } from './fetch-fields.ts'
import type { SignalOwner } from './fetch-operation.ts'
import { FetchOperation } from './fetch-operation.ts'
import { FetchRequest } from './fetch-request.ts'
import { isHttp, readBase, splitUrl, toHref } from './fetch-url.ts'
import type { InitMembers } from './request-input.ts'
import {
  checkBodyAllowed,
  checkDuplex,
  checkInit,
  isRequest,
  NO_INIT,
  readInit,
  toCallFields,
  toInitBody,
  toMethod,
  toRareMembers,
  toRedirect,
  toSignalOwner,
  toText,
} from './request-input.ts'

/**
 * Node's own fetch, for URLs that aren't HTTP. Read when this module is loaded, because `globalThis.fetch` may be
 * Dodici's later. Reading it doesn't load undici.
 */
const builtinFetch: typeof globalThis.fetch | undefined = globalThis.fetch

/**
 * Fetches a resource, like Node's own `fetch()`, but through a Dodici dispatcher: over HTTP/2, or over HTTP/1.1 through
 * its fallback.
 *
 * @param input a URL as a string or an object, or a `Request` from Node or from any undici
 * @param init the members of the standard's `RequestInit`, and `dispatcher`, by default the global dispatcher
 * @returns a promise for the response, as soon as its header section has arrived: an instance of the global `Response`.
 *   Read the body, cancel it, or drop the response: until then, back-pressure holds the server back.
 * @throws TypeError (the promise rejects) for invalid input, and with a `cause` if no response arrived (a network
 *   error); the signal's reason if the call was aborted
 * @see https://fetch.spec.whatwg.org/#fetch-method
 *
 * @example
 * ```ts
 * const response = await fetch('https://localhost:12443/users', { dispatcher: new Agent() })
 * const users = await response.json()
 * ```
 */
export function fetch(input: string | URL | RequestLike, init?: FetchInit | null): Promise<Response>
// The default leaves `fetch.length` at 1, as WebIDL has it.
export function fetch(input: unknown, init: unknown = undefined): Promise<Response> {
  return new Promise((resolve, reject) => {
    try {
      checkInit(init)
      const request = isRequest(input) ? input : null
      const client = readBase()
      const href = request === null ? toHref(toText('URL', input), client) : request.url
      const members = init ? readInit(init) : NO_INIT
      if (isHttp(href)) start({ href, client: client ?? null }, request, members, resolve, reject)
      else resolve(fetchElsewhere(href, input, members))
    } catch (thrown) {
      // Fetch reports all bad input as a TypeError.
      reject(
        thrown instanceof InvalidArgumentError ? new TypeError(thrown.message, { cause: thrown }) : thrown,
      )
    }
  })
}

function start(
  { href, client }: { readonly href: string; readonly client: URL | null },
  base: RequestLike | null,
  init: InitMembers,
  resolve: (response: Response | Promise<never>) => void,
  reject: (reason: unknown) => void,
): void {
  const method = init.method === undefined ? (base?.method ?? 'GET') : toMethod(init.method)
  const redirect = init.redirect === undefined ? (base?.redirect ?? 'follow') : toRedirect(init.redirect)
  const signalOwner = init.signal === undefined ? toRequestSignal(base) : toSignalOwner(init.signal)
  checkDuplex(init.duplex)
  const fields = toCallFields(base, init)
  const rare = toRareMembers(href, method, base, init)
  const hasOwnBody = init.body !== undefined && init.body !== null
  const stream = hasOwnBody ? null : toRequestStream(base, method)
  const body = hasOwnBody ? toInitBody(init, method, fields) : null
  const url = splitUrl(href)
  const dispatcher = toDispatcher(init.dispatcher)
  const request = new FetchRequest(url, method, fields, body, redirect, dispatcher, client, rare)
  request.spellings = toSpellings(init.headers)
  const fetching = new FetchOperation(request, signalOwner, resolve, reject)
  if (stream === null) fetching.start()
  else fetching.startWith(stream)
}

/** The Request holds its signal: see `SignalOwner`. */
function toRequestSignal(base: RequestLike | null): SignalOwner | null {
  return base === null || toSignalOwner(base.signal) === null ? null : base
}

/** The body of the fetched Request; null for none. @throws TypeError if it was used */
function toRequestStream(base: RequestLike | null, method: string): ReadableStreamLike | null {
  const body = base?.body ?? null
  if (base === null || body === null) return null
  checkBodyAllowed(method)
  if (!isReadableStream(body)) throw new TypeError('The body of the Request is not a ReadableStream')
  if (base.bodyUsed || body.locked) {
    throw new TypeError('Cannot fetch a Request whose body has been used already.')
  }
  return body
}

/** For URLs that aren't HTTP: Node's fetch reads `data:` and `blob:`. */
function fetchElsewhere(href: string, input: unknown, init: InitMembers): Promise<Response> {
  const scheme = href.slice(0, href.indexOf(':') + 1)
  if ((scheme === 'data:' || scheme === 'blob:') && builtinFetch !== undefined) {
    // Node's fetch must not get Dodici's dispatcher. `init` has all members as own properties: the caller's may be
    // inherited, or getters of a class such as Request.
    const { dispatcher: _dispatcher, ...own } = init
    const isForeign = isRequest(input) && !(input instanceof Request)
    return builtinFetch(isForeign ? href : (input as string), own as RequestInit)
  }
  const cause = new Error(scheme === 'about:' ? 'about scheme is not supported' : `unknown scheme ${scheme}`)
  return Promise.reject(new TypeError('fetch failed', { cause }))
}
