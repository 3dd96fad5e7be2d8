/**
 * A request as the fault server sees it, and the ways to respond.
 *
 * @module
 */

import type { BadHeaders } from './bad-headers.ts'
import { BAD_HEADERS } from './bad-headers.ts'
import { byName, checkNames } from './by-name.ts'
import type { FaultResponse, FieldsInit } from './fault-response.ts'
import { toFields, toSection } from './fault-response.ts'
import type { ErrorCode } from './frames.ts'
import { Flag, frames, toCode } from './frames.ts'
import type { BombOptions, HeaderBomb } from './header-bombs.ts'
import { toBomb } from './header-bombs.ts'
import type { Field } from './hpack.ts'
import { Pace } from './pace.ts'
import type { Outgoing } from './send-windows.ts'

const REFUSED_STREAM = 7
/** Status codes of responses without a body (RFC 9110 §6.4.1). */
const WITHOUT_BODY = new Set([204, 205, 304])

/** How slowly to send a body. */
export interface TrickleOptions {
  /** How many bytes to send per second. @default 1_000 */
  readonly bytesPerSecond?: number
  /** How many bytes to send in each DATA frame. @default 1 */
  readonly bytesPerFrame?: number
}

/** What a stream needs from its connection. */
export interface StreamOwner {
  /** Its index, from 0, in the order in which the server accepted the connections. */
  readonly index: number
  /** Whether the connection is closed. */
  readonly isClosed: boolean
  write(...pieces: Buffer[]): void
  inOneSegment(script: () => void): void
  /** Sends no more DATA on this stream, not even DATA that waits. */
  sendNoMore(stream: FaultStream): void
  /** Sends DATA, as far as the client's windows allow, or regardless of them. */
  send(stream: FaultStream, outgoing: Outgoing): void
  /** Waits for some milliseconds. @returns false if the connection closes before */
  delay(milliseconds: number): Promise<boolean>
  /** Returns a stream id for a push. */
  nextPushId(): number
  /** One or both sides of the stream have closed. */
  onStreamMoved(stream: FaultStream): void
}

/**
 * A stream that the client has opened: its request, and methods to respond. Frames are sent at once, legal or not, but
 * DATA waits for the client's windows, unless {@link ConnectionScript.obeysWindows} is false. On a closed stream or
 * connection, methods do nothing, and no wait fails.
 */
export class FaultStream {
  /** The connection that it belongs to. */
  readonly connection: StreamOwner
  /** The stream id: 1, 3, 5 and so on. */
  readonly id: number
  /** The request's header section, in wire order, pseudo-header fields included. */
  readonly fields: readonly Field[]
  /** Its index among the server's requests, from 0. */
  readonly index: number
  /** How many requests with its method and path had arrived, including this one. */
  readonly count: number
  /** When its header section arrived, in milliseconds of `performance.now()`. */
  readonly receivedAt = performance.now()
  /** When it was complete, in milliseconds of `performance.now()`. `null`: it isn't yet. */
  completedAt: number | null = null
  /** The pieces of the request body. */
  readonly chunks: Buffer[] = []
  /** The trailers. `null`: none have arrived. */
  trailers: readonly Field[] | null = null
  /** Whether the request is complete: END_STREAM has arrived. */
  isComplete = false
  /** The code in the client's RST_STREAM. `null`: none has arrived. */
  resetCode: number | null = null
  /** The code in the server's own RST_STREAM. `null`: it has sent none. */
  sentResetCode: number | null = null
  #hasBegun = false
  #isResponded = false
  /** Callbacks that wait for a part of the request. */
  #waiting: (() => void)[] = []

  constructor(
    connection: StreamOwner,
    id: number,
    fields: readonly Field[],
    place: { readonly index: number; readonly count: number },
  ) {
    this.connection = connection
    this.id = id
    this.fields = fields
    this.index = place.index
    this.count = place.count
  }

  /** The request method; empty if the request has none. */
  get method(): string {
    return this.field(':method') ?? ''
  }

  /** The path with its query: `:path`. */
  get path(): string {
    return this.field(':path') ?? ''
  }

  /** The header fields without the pseudo-header fields, in wire order. */
  get headers(): readonly Field[] {
    return this.fields.filter(([name]) => !name.startsWith(':'))
  }

  /** The part of the body that has arrived. */
  get body(): Buffer {
    return Buffer.concat(this.chunks)
  }

  /** The same as {@link FaultStream.body}, decoded as UTF-8. */
  get text(): string {
    return this.body.toString()
  }

  /** How many bytes of the body have arrived. */
  get length(): number {
    return this.chunks.reduce((sum, chunk) => sum + chunk.length, 0)
  }

  /** Whether it counts against SETTINGS_MAX_CONCURRENT_STREAMS (RFC 9113 §5.1.2). */
  get isOpen(): boolean {
    return !this.isReset && !(this.isComplete && this.#isResponded)
  }

  /** Whether either side has sent RST_STREAM. */
  get isReset(): boolean {
    return this.resetCode !== null || this.sentResetCode !== null
  }

  /** Whether the response has begun with a header section that isn't informational, or the request was refused. */
  get hasBegun(): boolean {
    return this.#hasBegun || this.isReset
  }

  /** Whether the server has refused it as unprocessed (RFC 9113 §8.7). */
  get isRefused(): boolean {
    return this.sentResetCode === REFUSED_STREAM
  }

  /** Returns the method and the path: `GET /path`. */
  toString(): string {
    return `${this.method} ${this.path}`
  }

  /** Returns the first field with this name, such as `content-type` or `:authority`. */
  field(name: string): string | undefined {
    return this.fields.find(([known]) => known === name)?.[1]
  }

  /** Waits for the end of the request. @returns false if it was reset or its connection closed before */
  async whole(): Promise<boolean> {
    while (!this.isComplete && !this.#isGone) await this.#untilMoved()
    return this.isComplete
  }

  /** Iterates over the pieces of the request body as they arrive, until the request or the stream ends. */
  async *[Symbol.asyncIterator](): AsyncGenerator<Buffer> {
    for (let at = 0; ; at++) {
      while (at >= this.chunks.length && !this.isComplete && !this.#isGone) await this.#untilMoved()
      const chunk = this.chunks[at]
      if (chunk === undefined) return
      yield chunk
    }
  }

  /** Waits for some milliseconds. @returns false if the connection closes before */
  delay(milliseconds: number): Promise<boolean> {
    return this.connection.delay(milliseconds)
  }

  /**
   * Sends a whole response, in one segment as far as the client's windows allow.
   *
   * @param response a string or bytes: the body of a 200
   * @returns false if the stream or the connection closes before everything was sent
   */
  respond(response: FaultResponse | string | Uint8Array = {}): Promise<boolean> {
    if (this.#isOver) return Promise.resolve(false)
    const isBody = typeof response === 'string' || response instanceof Uint8Array
    if (!isBody) checkNames('respond()', response, ['status', 'headers', 'body', 'trailers'])
    const { status = 200, headers = [], trailers, ...rest } = isBody ? { body: response } : response
    const body = rest.body === undefined ? this.#toDefaultBody(Number(status)) : rest.body
    if (body === null && trailers === undefined) {
      this.head(status, headers, { isEnd: true })
      return Promise.resolve(true)
    }
    let sent = Promise.resolve(true)
    this.connection.inOneSegment(() => {
      this.head(status, headers)
      sent = this.#send(body ?? '', trailers === undefined ? 'data' : this.#toTrailers(trailers))
    })
    return sent
  }

  /** Sends an informational response, such as 103. */
  inform(status: number, headers: FieldsInit = []): void {
    this.head(status, headers)
  }

  /** Sends only the header section of a response. */
  head(status: number | string, headers: FieldsInit = [], { isEnd = false }: { isEnd?: boolean } = {}): void {
    if (this.#isOver) return
    if (!(Number(status) < 200)) this.#hasBegun = true
    const fields = toFields(headers)
    const flags = isEnd ? Flag.END_STREAM : 0
    const isPlain = Number(status) === 200 && fields.length === 0
    const section = isPlain
      ? frames.response(this.id, flags)
      : toSection(this.id, [[':status', String(status)], ...fields], flags)
    if (isEnd) this.#end(section)
    else this.connection.write(section)
  }

  /** Sends a part of the response body. @returns false if the stream or the connection closes before that */
  data(content: string | Uint8Array): Promise<boolean> {
    return this.#send(content, null)
  }

  /** Ends a response that has begun. */
  end(content: string | Uint8Array = ''): Promise<boolean> {
    return this.#send(content, 'data')
  }

  /** Ends the response with a trailer section. */
  endWith(trailers: FieldsInit): Promise<boolean> {
    return this.#send('', this.#toTrailers(trailers))
  }

  /**
   * Sends the response body slowly, and ends it. You must have sent the header section before.
   *
   * @returns false if the stream closes before the end
   */
  async trickle(
    body: string | Uint8Array,
    { bytesPerSecond = 1_000, bytesPerFrame = 1 }: TrickleOptions = {},
  ): Promise<boolean> {
    if (!(bytesPerFrame >= 1)) throw new TypeError(`bytesPerFrame must be at least 1, not ${bytesPerFrame}`)
    const bytes = Buffer.from(body)
    const pace = new Pace(bytesPerSecond, (milliseconds) => this.delay(milliseconds))
    for (let at = 0; at < bytes.length; at += bytesPerFrame) {
      const part = bytes.subarray(at, at + bytesPerFrame)
      if (!(await pace.take(part.length)) || this.#isGone || !(await this.data(part))) return false
    }
    return this.end()
  }

  /** Sends RST_STREAM: the stream no longer counts on either side. */
  reset(code: ErrorCode = 'INTERNAL_ERROR'): void {
    const number = toCode(code)
    if (this.#isGone) return
    this.sentResetCode = number
    this.#end(frames.reset(this.id, number))
    this.wake()
  }

  /** Refuses the request as unprocessed, with RST_STREAM(REFUSED_STREAM) (RFC 9113 §8.7). */
  refuse(): void {
    this.reset('REFUSED_STREAM')
  }

  /** Opens the tunnel of a CONNECT, plain or extended, with a 200. */
  accept(headers: FieldsInit = []): void {
    this.head(200, headers)
  }

  /** Sends the request body back until the client ends it. It sends a header section first, unless you have. */
  async echo(): Promise<boolean> {
    for await (const chunk of this) {
      if (!(await this.data(chunk))) return false
    }
    return this.isComplete && this.end()
  }

  /**
   * Sends PUSH_PROMISE for a request, and the response. A client that allows no pushes has to end the connection with
   * PROTOCOL_ERROR (RFC 9113 §8.4).
   */
  push(path: string, body = ''): void {
    const id = this.connection.nextPushId()
    const authority = this.field(':authority') ?? ''
    const scheme = this.field(':scheme') ?? 'http'
    const request: Field[] = [
      [':method', 'GET'],
      [':scheme', scheme],
      [':authority', authority],
      [':path', path],
    ]
    this.connection.write(
      frames.pushPromise(this.id, id, request),
      frames.response(id),
      frames.data(id, body, Flag.END_STREAM),
    )
  }

  /** Sends a header section that RFC 9113 or RFC 7541 forbids, instead of a response. */
  badHeaders(name: BadHeaders): void {
    const section = byName('bad header section', BAD_HEADERS, name)(this.id)
    if (this.#isOver) return
    this.#hasBegun = true
    this.connection.write(section)
  }

  /** Sends a header section that is large in the client's memory, and may be small on the wire. */
  headerBomb(kind: HeaderBomb, options: BombOptions = {}): void {
    const section = toBomb(kind, this.id, options)
    if (this.#isOver) return
    this.#hasBegun = true
    this.#end(section)
  }

  /** For the connection: something has arrived, or nothing more will. */
  wake(): void {
    const waiting = this.#waiting
    this.#waiting = []
    for (const wake of waiting) wake()
  }

  get #isGone(): boolean {
    return this.isReset || this.connection.isClosed
  }

  /** Whether nothing more can be sent. */
  get #isOver(): boolean {
    return this.#isGone || this.#isResponded
  }

  #untilMoved(): Promise<void> {
    return new Promise((resolve) => this.#waiting.push(resolve))
  }

  #toDefaultBody(status: number): string | null {
    return this.method === 'HEAD' || WITHOUT_BODY.has(status) ? null : this.toString()
  }

  #toTrailers(trailers: FieldsInit): Buffer {
    return toSection(this.id, toFields(trailers), Flag.END_STREAM)
  }

  #send(content: string | Uint8Array, end: Outgoing['end']): Promise<boolean> {
    if (this.#isOver) return Promise.resolve(false)
    return new Promise((resolve) => {
      let isSent = false
      this.connection.send(this, {
        content: Buffer.from(content),
        end,
        onLast: () => {
          isSent = true
          if (end !== null) this.#markResponded()
        },
        onGone: () => resolve(isSent),
      })
    })
  }

  /** Counts the stream as closed before the frame is sent: the client may open another one as soon as it arrives. */
  #end(last: Buffer): void {
    this.#markResponded()
    this.connection.write(last)
    this.connection.sendNoMore(this)
  }

  #markResponded(): void {
    this.#isResponded = true
    this.connection.onStreamMoved(this)
  }
}
