/**
 * One attempt of a call by whoever serves what HTTP/2 can't.
 *
 * @module
 */

import type { Duplex } from 'node:stream'
import type { FallbackDispatcher } from '../../types/client.ts'
import type { DispatchController, DispatchHandler } from '../../types/handler.ts'
import type { IncomingHttpHeaders } from '../../types/headers.ts'
import type { DispatchOptions } from '../../types/request.ts'
import type { SendableBody } from '../core/body.ts'
import { toHeaderObject } from '../core/header-object.ts'
import { toRawHeaders } from '../core/headers.ts'
import type { Request } from '../core/request.ts'
import { WEBSOCKET_KEY } from '../core/request.ts'
import type { WireHeaders } from '../core/wire-headers.ts'
import { getField } from '../core/wire-headers.ts'
import { NotSupportedError, toError, toFallbackError } from '../errors.ts'
import type { Attempt, Outgoing } from '../handler/attempt.ts'
import type { Call } from '../handler/call.ts'
import { toTwoShapedHandler } from '../handler/legacy-handler.ts'

/**
 * - `waiting`: nothing was sent yet, as far as it has told
 * - `sending`: it has begun with the request
 * - `responded`: the header of the final answer has come
 * - `done`: the call has heard the end, or has let go of it
 */
type FallbackState = 'waiting' | 'sending' | 'responded' | 'done'

/** What the dispatcher says the call hears, which keeps its own clocks and limits. */
export class FallbackAttempt implements Attempt, DispatchHandler {
  readonly streamId = null
  readonly #dispatcher: FallbackDispatcher
  readonly #call: Call
  #state: FallbackState = 'waiting'
  #hasBody = false
  /** Null until the dispatcher has begun. */
  #controller: DispatchController | null = null

  constructor(dispatcher: FallbackDispatcher, call: Call) {
    this.#dispatcher = dispatcher
    this.#call = call
  }

  /** Sends the request. Whatever goes wrong is the call's failure. */
  open(): void {
    const { request } = this.#call
    const outgoing = this.#call.begin(this)
    if (outgoing === null) return
    this.#hasBody = outgoing.body.kind !== 'none'
    try {
      if (request.trailers !== null)
        throw new NotSupportedError(`${request.origin.href} speaks HTTP/1.1: no trailers are sent there`)
      const options = toFallbackOptions(request, outgoing)
      this.#dispatcher.dispatch(options, toTwoShapedHandler(options, this))
    } catch (thrown) {
      this.#fail(toError(thrown))
    }
  }

  pause(): void {
    this.#controller?.pause()
  }

  resume(): void {
    this.#controller?.resume()
  }

  /** It has sent the body already: HTTP/1.1's 100 isn't waited for. */
  proceed(): void {}

  cancel(): void {
    if (this.#state === 'done') return
    this.#move('done')
    this.#controller?.abort(this.#call.reason ?? undefined)
  }

  /** Its connections aren't ours. */
  retire(): void {
    this.cancel()
  }

  onRequestStart(controller: DispatchController): void {
    this.#controller = controller
    if (this.#state === 'done') controller.abort(this.#call.reason ?? undefined)
    else this.#move('sending')
  }

  onResponseStart(
    controller: DispatchController,
    statusCode: number,
    headers: IncomingHttpHeaders,
    statusMessage?: string,
  ): void {
    if (this.#state === 'done') return
    const raw = toRawHeaders(controller.rawHeaders ?? headers)
    if (statusCode >= 200) this.#move('responded')
    this.#call.respond(statusCode, toHeaderObject(raw), raw, statusMessage)
    if (statusCode >= 200 && this.#call.paused) controller.pause()
  }

  onResponseData(controller: DispatchController, chunk: Buffer): void {
    if (this.#state === 'done') return
    this.#call.data(chunk)
    if (this.#call.paused) controller.pause()
  }

  onResponseEnd(controller: DispatchController, trailers: IncomingHttpHeaders): void {
    if (this.#state === 'done') return
    this.#move('done')
    const raw = toRawHeaders(controller.rawTrailers ?? trailers)
    this.#call.complete(toHeaderObject(raw), raw)
  }

  onResponseError(_controller: DispatchController, error: Error): void {
    this.#fail(error)
  }

  onRequestUpgrade(
    controller: DispatchController,
    statusCode: number,
    headers: IncomingHttpHeaders,
    socket: Duplex,
  ): void {
    if (this.#state === 'done') {
      socket.destroy()
      return
    }
    this.#move('done')
    const raw = toRawHeaders(controller.rawHeaders ?? headers)
    this.#call.upgrade(statusCode, toHeaderObject(raw), raw, socket)
  }

  onBodySent(chunk: Uint8Array | string): void {
    if (this.#state === 'done') return
    this.#call.sent(typeof chunk === 'string' ? Buffer.from(chunk) : chunk)
  }

  onRequestSent(): void {
    if (this.#state === 'done') return
    if (this.#hasBody) this.#call.uploaded()
    else this.#call.tellSent()
  }

  #fail(error: Error): void {
    if (this.#state === 'done') return
    const state = this.#state
    this.#move('done')
    const processed = state === 'waiting' ? 'no' : state === 'responded' ? 'yes' : 'maybe'
    this.#call.fail(toFallbackError(error, this.#call.request.origin.href, processed))
  }

  #move(state: FallbackState): void {
    this.#state = state
  }
}

/** As undici 6, 7 and 8 take it. Its time limits are the call's own. */
function toFallbackOptions(request: Request, { body, wire }: Outgoing): DispatchOptions {
  const { origin, path, method, protocol, idempotent } = request
  return {
    origin: origin.href,
    path,
    method: protocol === null ? method : 'GET',
    headers: toHttp1Fields(request, wire),
    body: toFallbackBody(body),
    idempotent,
    headersTimeout: 0,
    bodyTimeout: 0,
    servername: request.servername,
    ...(protocol === null ? {} : { upgrade: protocol }),
  }
}

function toFallbackBody(body: SendableBody): DispatchOptions['body'] {
  if (body.kind === 'bytes') return body.bytes
  return body.kind === 'none' ? null : body.open()
}

/** What has no place on one connection of HTTP/1.1, or that dispatchers of HTTP/1.1 refuse to send. */
const NOT_IN_HTTP1: ReadonlySet<string> = new Set(['te', 'expect'])

function toHttp1Fields(request: Request, wire: WireHeaders): string[] {
  const authority = getField(wire, ':authority')
  const fields: string[] = []
  // Said only where it isn't the origin's own: undici takes it for the name of the server, too.
  if (authority !== request.origin.authority && authority !== undefined && !request.isConnect)
    fields.push('host', authority)
  if (request.webSocketKey !== null) fields.push(WEBSOCKET_KEY, request.webSocketKey)
  const cookies: string[] = []
  for (let i = 0; i < wire.length; i += 2) {
    const name = wire[i] as string
    const value = wire[i + 1] as string
    if (name === 'cookie') cookies.push(value)
    else if (!name.startsWith(':') && !NOT_IN_HTTP1.has(name)) fields.push(name, value)
  }
  // RFC 9113 §8.2.3: one field outside of HTTP/2.
  if (cookies.length > 0) fields.push('cookie', cookies.join('; '))
  return fields
}
