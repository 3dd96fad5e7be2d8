/**
 * One request of a fetch and its response: a redirected fetch has several.
 *
 * @module
 */

import type { Duplex } from 'node:stream'
import type { FormDataLike } from '../../types/body.ts'
import type { DispatchController, DispatchHandler } from '../../types/handler.ts'
import type { IncomingHttpHeaders } from '../../types/headers.ts'
import type { DispatchOptions } from '../../types/request.ts'
import { Dispatcher } from '../dispatcher/dispatcher.ts'
import { isError, RequestAbortedError, toError } from '../errors/errors.ts'
import { toRawHeaders } from '../request/headers.ts'
import { markFollowing } from '../request/redirect-mark.ts'
import { toCodings } from './decode.ts'
import { toDispatchedFields } from './fetch-fields.ts'
import type { FetchRequest } from './fetch-request.ts'
import { matchesIntegrity, parseIntegrity } from './integrity.ts'
import { toNetworkError } from './network-error.ts'
import { isRedirect, redirectRequest } from './redirect.ts'
import type { ResponseResult } from './response.ts'
import { makeResponse } from './response.ts'
import type { BodyOwner } from './response-body.ts'
import { ResponseBody } from './response-body.ts'

/** The body of a redirecting response isn't read. It may continue to its end, unless it has more bytes than this. */
const MAX_DROPPED = 65_536

/** RFC 9110 §15.5.8: there is no user to ask for a password, so this status is a network error, as in Node's fetch. */
const PROXY_AUTHENTICATION = 407

/** `left`: the response was a redirect, and the request was sent to the new URL. */
type State = 'waiting' | 'receiving' | 'left' | 'done'

/** Fetch, "null body status". */
function hasNoBody(status: number, method: string): boolean {
  return status === 204 || status === 205 || status === 304 || method === 'HEAD'
}

/** The fetch that an exchange belongs to. */
export interface ExchangeOwner extends BodyOwner {
  resolve(response: Response): void
  /** @param reason what the promise of `fetch()` rejects with */
  reject(reason: unknown): void
  /** The request was redirected: sends it to its new URL. */
  send(): void
}

/** The handler of one dispatched request. */
export class Exchange implements DispatchHandler {
  readonly #fetching: ExchangeOwner
  readonly #request: FetchRequest
  #state: State = 'waiting'
  /** Null until the call has started. */
  #controller: DispatchController | null = null
  /** Null before the response, and if it has no body. */
  #body: ResponseBody | null = null
  /** Whether the whole request was sent. Not every dispatcher reports that. */
  #isSent: boolean
  /** How many bytes of a dropped body have arrived. */
  #dropped = 0

  constructor(fetching: ExchangeOwner, request: FetchRequest) {
    this.#fetching = fetching
    this.#request = request
    this.#isSent = request.body === null
  }

  start(): void {
    const { method, url, body, dispatcher, redirectedBy } = this.#request
    const { origin, path } = url
    const content = body === null ? null : body.content
    try {
      this.#request.determineReferrer()
      const headers = toDispatchedFields(this.#request)
      // The names, and the order, of undici's fetch. 0: its redirect interceptors leave redirects to fetch.
      const options = {
        path,
        origin,
        method,
        body: content,
        headers,
        maxRedirections: 0,
        upgrade: undefined,
      }
      const marked = redirectedBy === null ? options : markFollowing(options, redirectedBy)
      dispatcher.dispatch(body?.form && isMocking(dispatcher) ? toMocked(marked, body.form) : marked, this)
    } catch (thrown) {
      this.onResponseError(this.#controller, toError(thrown))
    }
  }

  onRequestStart(controller: DispatchController): void {
    this.#controller = controller
    if (this.#state === 'done') controller.abort(new RequestAbortedError())
  }

  onRequestSent(): void {
    this.#isSent = true
  }

  onResponseStart(
    controller: DispatchController,
    status: number,
    headers: IncomingHttpHeaders,
    statusText = '',
  ): void {
    if (this.#state === 'done') controller.abort(new RequestAbortedError())
    if (status < 200 || this.#state !== 'waiting') return
    this.#controller = controller
    try {
      this.#take(controller, status, headers, statusText)
    } catch (thrown) {
      // Handled here, not by the dispatcher: the promise must settle whatever a dispatcher does with the error.
      this.#refuse(toError(thrown))
    }
  }

  #take(
    controller: DispatchController,
    status: number,
    headers: IncomingHttpHeaders,
    statusText: string,
  ): void {
    const { redirect } = this.#request
    const { location } = headers
    if (isRedirect(status) && redirect === 'error') this.#refuse(new Error('unexpected redirect'))
    else if (isRedirect(status) && redirect === 'follow' && typeof location === 'string')
      this.#follow(status, headers, location)
    else if (status === PROXY_AUTHENTICATION) this.#refuse(new Error('proxy authentication required'))
    else this.#deliver(controller, status, headers, statusText)
  }

  onResponseData(controller: DispatchController, chunk: Buffer): void {
    if (this.#body !== null) {
      this.#body.receive(chunk)
      return
    }
    this.#dropped += chunk.length
    if (this.#dropped > MAX_DROPPED) controller.abort(new RequestAbortedError())
  }

  onResponseEnd(): void {
    if (this.#state === 'waiting')
      this.#fail(new Error('The response ended before its header section arrived'))
    this.#end()
    this.#body?.finish()
  }

  /** A fetch never asks for a tunnel. */
  onRequestUpgrade(
    _controller: DispatchController,
    _status: number,
    _headers: IncomingHttpHeaders,
    socket: Duplex,
  ): void {
    this.#fail(new Error('The server answered the request with a tunnel'))
    socket.destroy()
  }

  onResponseError(_controller: DispatchController | null, error: Error): void {
    if (this.#state === 'waiting') this.#fail(error)
    else if (this.#state === 'receiving') this.#body?.fail(new TypeError('terminated', { cause: error }))
    this.#end()
  }

  /** The response is over. A body tells the fetch itself when it is finished. */
  #end(): void {
    const isBodiless = this.#state === 'receiving' && this.#body === null
    this.#state = 'done'
    if (isBodiless) this.#fetching.onBodyDone()
  }

  /** Ends a redirecting response whose body hasn't ended yet. */
  drop(): void {
    if (this.#state === 'left') this.#controller?.abort(new RequestAbortedError())
  }

  /** The caller's signal has fired; the fetch has already told its caller. @param reason any value */
  abort(reason: unknown): void {
    this.#state = 'done'
    this.#body?.fail(reason)
    this.#controller?.abort(toAbortError(reason))
  }

  #deliver(
    controller: DispatchController,
    status: number,
    headers: IncomingHttpHeaders,
    statusText: string,
  ): void {
    const { method, url, redirectCount, isTainted, mode, integrity } = this.#request
    this.#state = 'receiving'
    const isOpaque = isTainted && mode === 'no-cors'
    const body = isOpaque || hasNoBody(status, method) ? null : this.#toBody(controller, headers)
    if (body === undefined) return
    this.#body = body
    const type = isTainted ? 'cors' : 'basic'
    const redirected = redirectCount > 0
    // The controller of a foreign dispatcher may serve several responses, one after the other: its raw headers are read
    // now.
    const lasting = controller.hasLastingRawHeaders === true ? controller : null
    const fields = lasting === null ? (controller.rawHeaders ?? headers) : headers
    const result: ResponseResult = isOpaque
      ? OPAQUE
      : {
          type,
          url: url.origin + url.path,
          redirected,
          status,
          statusText,
          headers: fields,
          controller: lasting,
        }
    if (integrity !== '') this.#verify(result, integrity)
    else this.#fetching.resolve(makeResponse(result, this.#body))
    // An opaque body can never be read.
    if (isOpaque) controller.abort(new RequestAbortedError())
  }

  /** Undefined if the response was refused. */
  #toBody(controller: DispatchController, headers: IncomingHttpHeaders): ResponseBody | undefined {
    const isCoded = headers['content-encoding'] !== undefined
    const expected = isCoded ? -1 : Number(headers['content-length'] ?? -1)
    // While the integrity is checked, the fetch isn't done with the body: the caller reads another one afterwards.
    const owner = this.#request.integrity === '' ? this.#fetching : null
    const body = new ResponseBody(controller, owner, this.#toMaxSize(controller), expected)
    if (!isCoded) return body
    try {
      const codings = toCodings(toContentEncoding(controller, headers))
      if (codings !== null) body.decode(codings)
      return body
    } catch (thrown) {
      this.#refuse(toError(thrown))
      return undefined
    }
  }

  /**
   * Interceptors may decode the body themselves, and their controller may have no limit: then the dispatcher's limit
   * applies.
   */
  #toMaxSize({ maxResponseSize }: DispatchController): number {
    const { dispatcher } = this.#request
    if (maxResponseSize !== undefined) return maxResponseSize
    return dispatcher instanceof Dispatcher ? dispatcher.maxResponseSize : -1
  }

  /** Subresource Integrity: the whole body is checked before any of it is passed on. */
  #verify(result: ResponseResult, metadata: string): void {
    const integrity = parseIntegrity(metadata)
    const body = this.#body
    if (body === null) {
      this.#refuse(new Error('integrity is set, but the response has no body'))
      return
    }
    const fetching = this.#fetching
    body
      .read((kept) => {
        const bytes = kept.join()
        if (integrity !== null && !matchesIntegrity(bytes, integrity)) {
          throw new Error('integrity mismatch')
        }
        this.#body = ResponseBody.of(bytes, fetching)
        fetching.resolve(makeResponse(result, this.#body))
      }, null)
      .catch((error) => fetching.reject(toNetworkError(error)))
  }

  #follow(status: number, headers: IncomingHttpHeaders, location: string): void {
    const error = redirectRequest(this.#request, status, headers, location)
    if (error !== null) {
      this.#refuse(error)
      return
    }
    this.#state = 'left'
    // The server has redirected the request: it doesn't want the rest of the body.
    if (!this.#isSent) this.#controller?.abort(new RequestAbortedError())
    this.#fetching.send()
  }

  /** Fetch refuses the response. */
  #refuse(error: Error): void {
    const controller = this.#controller
    this.#fail(error)
    controller?.abort(error)
  }

  /** A network error. */
  #fail(error: Error): void {
    if (this.#state === 'done') return
    this.#state = 'done'
    this.#fetching.reject(toNetworkError(error))
  }
}

/** Whether it is an active MockAgent. */
function isMocking(dispatcher: object): boolean {
  return Reflect.get(dispatcher, 'isMockActive') === true
}

/**
 * A mock gets the form itself, as from undici's fetch. A request that no mock handles has the encoded form: undici
 * 8's MockAgent, and the one in `dodici/undici`, find it under this name.
 */
function toMocked(options: DispatchOptions, form: FormDataLike): DispatchOptions {
  const mocked = { ...options, body: form, __mockAgentBodyForDispatch: options.body }
  return mocked
}

/** The values of all `content-encoding` fields: the headers object has only the first. */
function toContentEncoding(controller: DispatchController, headers: IncomingHttpHeaders): string {
  const raw = toRawHeaders(controller.rawHeaders ?? headers)
  return raw.filter((_, i) => i % 2 === 1 && raw[i - 1]?.toLowerCase() === 'content-encoding').join(',')
}

/** Fetch, "opaque filtered response": the caller must not see any of it. */
const OPAQUE: ResponseResult = Object.freeze({
  type: 'opaque',
  url: '',
  redirected: false,
  status: 0,
  statusText: '',
  headers: {},
  controller: null,
})

/** An Error for a dispatcher: a signal's reason may be any value. */
function toAbortError(reason: unknown): Error {
  return isError(reason) ? reason : new RequestAbortedError('The fetch was aborted', { cause: reason })
}
