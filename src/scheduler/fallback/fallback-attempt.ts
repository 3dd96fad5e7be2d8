/**
 * One attempt at a call by the fallback dispatcher, which serves the requests that HTTP/2 can't.
 *
 * @module
 */

import type { Duplex } from 'node:stream'
import type { FallbackDispatcher } from '../../../types/client.ts'
import type { DispatchController, DispatchHandler } from '../../../types/handler.ts'
import type { IncomingHttpHeaders } from '../../../types/headers.ts'
import type { DispatchOptions } from '../../../types/request.ts'
import type { Attempt, Carrier } from '../../call/attempt.ts'
import type { Call } from '../../call/call.ts'
import { createMeter } from '../../call/response-limits.ts'
import type { CallerContext } from '../../core/caller-context.ts'
import type { UnorderedItem } from '../../core/unordered-list.ts'
import {
  NotSupportedError,
  TunnelRefusedError,
  toError,
  toFallbackError,
  toOwnError,
} from '../../errors/errors.ts'
import { toTwoShapedHandler } from '../../handler/legacy-handler.ts'
import type { SendableBody } from '../../request/body-source.ts'
import { respell } from '../../request/field-names.ts'
import { toHeaderObject } from '../../request/header-object.ts'
import { toRawHeaders } from '../../request/headers.ts'
import type { Request } from '../../request/request.ts'
import { WEBSOCKET_KEY } from '../../request/request.ts'
import type { WireHeaders } from '../../request/wire-headers.ts'
import { getField } from '../../request/wire-headers.ts'
import { destroySocket } from '../../session/connect/socket.ts'
import { BodyRelay } from './body-relay.ts'

/**
 * - `waiting`: the dispatcher hasn't reported that it has begun
 * - `sending`: the dispatcher has begun to send the request
 * - `responded`: the final response's header section has arrived
 * - `done`: the call knows that the attempt has ended, or has given it up
 */
type FallbackState = 'waiting' | 'sending' | 'responded' | 'done'

/** The largest piece in which a body in memory is passed on, in bytes. */
const SLICE = 65_536

/** The fallback's connections have no numbers. */
const HTTP1: Carrier = Object.freeze({ protocol: 'http/1.1', id: null, transport: null })

/** Has the attempts that aren't done. */
export interface FallbackOwner {
  /** The dispatcher has a connection for the attempt, or the attempt is done. Called once. */
  onAttemptBegun(): void
  /**
   * Whether an attempt that hasn't begun has failed because its connection speaks only HTTP/2, or has negotiated it:
   * then the call may be sent over HTTP/2.
   *
   * @param isHint whether HTTP/2 could serve the call, too
   */
  isOfHttp2(error: Error, isHint: boolean): boolean
  onAttemptDone(attempt: FallbackAttempt): void
}

/** Passes the dispatcher's callbacks on to the call. The call has its own clocks and limits. */
export class FallbackAttempt implements Attempt, UnorderedItem, DispatchHandler {
  listIndex = -1
  readonly streamId = null
  readonly carrier = HTTP1
  /** HTTP/1.1 has no GOAWAY. */
  readonly isLeftOut = false
  readonly meter = createMeter()
  /** HTTP/1.1 has no such setting. */
  readonly maxHeaderListSize = Number.POSITIVE_INFINITY
  readonly #owner: FallbackOwner
  readonly #dispatcher: FallbackDispatcher
  readonly #servername: string | null
  readonly #isHint: boolean
  readonly #call: Call
  #state: FallbackState = 'waiting'
  /** Null until it is opened. */
  #body: SendableBody | null = null
  /** The dispatcher reads the body from it; null until it is opened, and for a body that isn't a stream. */
  #relay: BodyRelay | null = null
  /** Null until the dispatcher has begun. */
  #controller: DispatchController | null = null

  /**
   * @param servername the server name for TLS; null: the dispatcher chooses it
   * @param isHint whether HTTP/2 could serve the call, too, if the origin spoke it
   */
  constructor(
    owner: FallbackOwner,
    dispatcher: FallbackDispatcher,
    call: Call,
    servername: string | null,
    isHint: boolean,
  ) {
    this.#owner = owner
    this.#isHint = isHint
    this.#servername = servername
    this.#dispatcher = dispatcher
    this.#call = call
  }

  /** Whether the attempt belongs to that fallback, or to a call that is itself such an attempt. */
  isWithin(owner: FallbackOwner): boolean {
    if (this.#owner === owner) return true
    const { outer } = this.#call
    return outer instanceof FallbackAttempt && outer.isWithin(owner)
  }

  /** Its call's sequence number, in the order of dispatch. */
  get sequence(): number {
    return this.#call.sequence
  }

  get isAccepted(): boolean {
    return this.meter.informational > 0
  }

  get isConnected(): boolean {
    return this.#controller !== null
  }

  get hasBegun(): boolean {
    return this.#controller !== null
  }

  get #isDone(): boolean {
    return this.#state === 'done'
  }

  /** Sends the request. Every error fails the call. */
  open(): void {
    const { request } = this.#call
    const wire = this.#call.begin(this)
    if (wire === null) {
      this.#move('done')
      return
    }
    this.#body = this.#call.body
    try {
      if (request.trailers !== null)
        throw new NotSupportedError(`${request.origin.href} speaks HTTP/1.1: trailers can't be sent`)
      if (this.#body.kind === 'stream') this.#relay = new BodyRelay(this.#body)
      const body = toFallbackBody(this.#call, this.#relay)
      const options = toFallbackOptions(this.#call, wire, this.#servername, body)
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

  /** Does nothing: over HTTP/1.1, the body doesn't wait for a 100 (Continue). */
  proceed(): void {
    this.#call.sent(null)
  }

  cancel(): void {
    if (this.#state === 'done') return
    this.#move('done')
    this.#controller?.abort(this.#call.reason ?? undefined)
  }

  /** Ends the call, called by its fallback. */
  fail(error: Error): void {
    this.#call.fail(error)
  }

  /**
   * Does nothing: the connections belong to the dispatcher, which closes a cancelled request's HTTP/1.1 connection
   * anyway.
   */
  closeConnection(): void {}

  /** Does nothing: HTTP/1.1 has no such frame. */
  reprioritize(): void {}

  onRequestStart(controller: DispatchController): void {
    this.#controller = controller
    if (this.#state === 'done') {
      controller.abort(this.#call.reason ?? undefined)
      return
    }
    this.#move('sending')
    this.#call.connected()
    const { connection, request } = this.#call
    if (connection !== null) request.trace?.sent(connection)
    // Its subscribers may have ended the call.
    if (this.#isDone) return
    // Bytes are passed on at once. undici 7 doesn't report how many of them it has sent.
    if (this.#body?.kind === 'none') this.#call.tellSent()
    else if (this.#body?.kind === 'bytes' && this.#body.length <= SLICE) {
      this.#call.sent(this.#body.bytes)
      this.#call.uploaded()
    }
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
    if (this.#call.state === 'receiving' && this.#call.paused) controller.pause()
  }

  onResponseData(controller: DispatchController, chunk: Buffer): void {
    // Node 20's undici passes an empty chunk when it is resumed at the end of what it has read.
    if (this.#state === 'done' || chunk.length === 0) return
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
      destroySocket(socket)
      return
    }
    this.#move('done')
    emitInContext(socket, this.#call)
    const raw = toRawHeaders(controller.rawHeaders ?? headers)
    // undici reports every response to CONNECT as a tunnel.
    if (statusCode !== 101 && (statusCode < 200 || statusCode >= 300)) {
      this.#call.respond(statusCode, toHeaderObject(raw), raw)
      // After a 421, the request may be sent once more.
      if (this.#call.state === 'receiving') {
        this.#call.fail(
          new TunnelRefusedError(`The server refused a tunnel with status ${statusCode}`, statusCode),
        )
      }
      destroySocket(socket)
    } else if (!this.#call.upgrade(statusCode, toHeaderObject(raw), raw, socket)) {
      destroySocket(socket)
    }
  }

  #fail(error: Error): void {
    if (this.#state === 'done') return
    const state = this.#state
    this.#move('done')
    if (state === 'waiting' && this.#owner.isOfHttp2(error, this.#isHint)) {
      this.#call.request.trace?.hold()
      this.#call.attemptFailed(toOwnError(toFallbackError(error, this.#call.request.origin.href, 'no')))
      return
    }
    const processed = state === 'waiting' ? 'no' : state === 'responded' ? 'yes' : 'maybe'
    this.#call.fail(toFallbackError(error, this.#call.request.origin.href, processed))
  }

  #move(state: FallbackState): void {
    if (this.#state === 'waiting') this.#owner.onAttemptBegun()
    this.#state = state
    if (state !== 'done') return
    // The dispatcher reads no more of the body, whatever it does with its iterator.
    this.#relay?.destroy()
    this.#owner.onAttemptDone(this)
  }
}

/**
 * Runs a socket's listeners in the context of the caller that takes it: the socket may have been opened for another
 * call. It overrides the prototype's method, and is as hidden as that one.
 */
function emitInContext(socket: Duplex, context: CallerContext): void {
  const { emit } = socket
  const value = (...given: Parameters<Duplex['emit']>): boolean =>
    context.runInAsyncScope(emit, socket, ...given)
  Object.defineProperty(socket, 'emit', { value, configurable: true, writable: true })
}

/** The request as undici 6, 7 and 8 expect it. The call has its own time limits. */
function toFallbackOptions(
  call: Call,
  wire: WireHeaders,
  servername: string | null,
  body: DispatchOptions['body'],
): DispatchOptions {
  const { request } = call
  const { origin, path, method, protocol, idempotent, reset, blocking } = request
  return {
    origin: origin.href,
    path,
    method: protocol === null ? method : 'GET',
    headers: toHttp1Fields(request, wire),
    body,
    idempotent,
    headersTimeout: 0,
    bodyTimeout: 0,
    servername,
    ...(reset === null ? {} : { reset }),
    ...(blocking === null ? {} : { blocking }),
    ...(protocol === null ? {} : { upgrade: protocol }),
  }
}

function toFallbackBody(call: Call, relay: BodyRelay | null): DispatchOptions['body'] {
  const { body } = call
  if (relay !== null) return new CallerPieces(watchUpload(call, relay), call)
  if (body.kind !== 'bytes') return null
  return body.length <= SLICE ? body.bytes : watchUpload(call, toSlices(body.bytes))
}

function* toSlices(bytes: Uint8Array): Generator<Uint8Array> {
  for (let from = 0; from < bytes.length; from += SLICE) yield bytes.subarray(from, from + SLICE)
}

/** Produces each piece in the caller's context, whatever context the dispatcher asks for it in. */
class CallerPieces implements AsyncIterableIterator<Buffer> {
  readonly #pieces: AsyncGenerator<Buffer>
  readonly #context: CallerContext

  constructor(pieces: AsyncGenerator<Buffer>, context: CallerContext) {
    this.#pieces = pieces
    this.#context = context
  }

  next(): Promise<IteratorResult<Buffer>> {
    return this.#context.runInAsyncScope(this.#pieces.next, this.#pieces)
  }

  return(value?: unknown): Promise<IteratorResult<Buffer>> {
    return this.#context.runInAsyncScope(this.#pieces.return, this.#pieces, value)
  }

  throw(reason: unknown): Promise<IteratorResult<Buffer>> {
    return this.#context.runInAsyncScope(this.#pieces.throw, this.#pieces, reason)
  }

  [Symbol.asyncIterator](): this {
    return this
  }
}

/** Reports to the call how much of its body was read, because not every dispatcher does. */
async function* watchUpload(
  call: Call,
  body: AsyncIterable<Uint8Array> | Iterable<Uint8Array>,
): AsyncGenerator<Buffer> {
  try {
    for await (const chunk of body) {
      const bytes = toBuffer(chunk)
      yield bytes
      call.sent(bytes)
    }
    call.uploaded()
  } catch (thrown) {
    // The response had been complete, or the call has failed: the rest of the body isn't read.
    if (call.state !== 'settled') throw thrown
  }
}

function toBuffer({ buffer, byteOffset, byteLength }: Uint8Array): Buffer {
  return Buffer.from(buffer, byteOffset, byteLength)
}

/** Fields that mean nothing on an HTTP/1.1 connection, or that HTTP/1.1 dispatchers refuse to send. */
const NOT_IN_HTTP1: ReadonlySet<string> = new Set(['te', 'expect'])

function toHttp1Fields(request: Request, wire: WireHeaders): string[] {
  const authority = getField(wire, ':authority')
  const fields: string[] = []
  // Sent only if it differs from the origin's: undici uses it as the server name, too. A proxy that speaks TLS isn't
  // the host in the path, and ignores the field (RFC 9112 §3.2.2).
  const isOfProxy =
    request.host === null && !request.path.startsWith('/') && request.origin.scheme === 'https'
  if (authority !== request.origin.authority && authority !== undefined && !request.isConnect && !isOfProxy)
    fields.push('host', authority)
  if (request.webSocketKey !== null) fields.push(WEBSOCKET_KEY, request.webSocketKey)
  const cookies: string[] = []
  for (let i = 0; i < wire.length; i += 2) {
    const name = wire[i] as string
    const value = wire[i + 1] as string
    if (name === 'cookie') cookies.push(value)
    else if (!name.startsWith(':') && !NOT_IN_HTTP1.has(name)) fields.push(name, value)
  }
  // RFC 9113 §8.2.3: outside HTTP/2, all cookies must be in one field.
  if (cookies.length > 0) fields.push('cookie', cookies.join('; '))
  if (request.spellings !== null) respell(fields, request.spellings)
  return fields
}
