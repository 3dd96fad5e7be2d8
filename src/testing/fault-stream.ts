/**
 * One request as the fault server sees it, and the ways to respond to it.
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

/** How slow a body is. */
export interface TrickleOptions {
  /** Octets a second. @default 1_000 */
  readonly bytesPerSecond?: number
  /** Octets in a DATA frame. @default 1 */
  readonly bytesPerFrame?: number
}

/** What a stream needs of its connection. */
export interface StreamOwner {
  /** From 0, in the order in which the server took them. */
  readonly index: number
  /** The connection is gone. */
  readonly isClosed: boolean
  write(...pieces: Buffer[]): void
  inOneSegment(script: () => void): void
  /** No DATA of it is sent any more, also of what waits. */
  sendNoMore(stream: FaultStream): void
  /** DATA, as far as the client's windows allow, or all the same. */
  send(stream: FaultStream, outgoing: Outgoing): void
  /** Waits. @returns false where the connection has closed before */
  delay(milliseconds: number): Promise<boolean>
  /** A stream id for a push. */
  nextPushId(): number
  /** One of the stream's halves has closed, or both. */
  onStreamMoved(stream: FaultStream): void
}

/**
 * A stream that the client has opened: its request, and what a script says to that. Frames go out at once, legal or
 * not, but DATA waits for the client's windows, unless {@link ConnectionScript.obeysWindows} is false. On a stream or
 * a connection that has closed nothing happens, and no wait fails.
 */
export class FaultStream {
  /** The connection that it is on. */
  readonly connection: StreamOwner
  /** The stream id: 1, 3, 5 and so on. */
  readonly id: number
  /** The request's header section, in wire order, pseudo-header fields included. */
  readonly fields: readonly Field[]
  /** Its place among the server's requests, from 0. */
  readonly index: number
  /** How many requests of its method and path had come, with this one. */
  readonly count: number
  /** When its header section came: milliseconds, as `performance.now()` counts. */
  readonly receivedAt = performance.now()
  /** When it was whole. Null until then. */
  completedAt: number | null = null
  /** The pieces of the request's body. */
  readonly chunks: Buffer[] = []
  /** Null until there are any. */
  trailers: readonly Field[] | null = null
  /** The request is whole: END_STREAM has come. */
  isComplete = false
  /** The code of the client's RST_STREAM; null without. */
  resetCode: number | null = null
  /** The code of the server's own RST_STREAM; null without. */
  sentResetCode: number | null = null
  #hasBegun = false
  #isResponded = false
  /** Who waits for a part of the request. */
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

  /** The request method; empty where the request has none. */
  get method(): string {
    return this.field(':method') ?? ''
  }

  /** `:path`, with the query. */
  get path(): string {
    return this.field(':path') ?? ''
  }

  /** The header fields without the pseudo-header fields, in wire order. */
  get headers(): readonly Field[] {
    return this.fields.filter(([name]) => !name.startsWith(':'))
  }

  /** What has come of the body. */
  get body(): Buffer {
    return Buffer.concat(this.chunks)
  }

  /** The same as text, by UTF-8. */
  get text(): string {
    return this.body.toString()
  }

  /** How many octets of the body have come. */
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

  /** Whether the response has begun, by a header section other than an informational one, or was refused. */
  get hasBegun(): boolean {
    return this.#hasBegun || this.isReset
  }

  /** The server has said that it has done nothing about it (RFC 9113 §8.7). */
  get isRefused(): boolean {
    return this.sentResetCode === REFUSED_STREAM
  }

  /** `GET /path`. */
  toString(): string {
    return `${this.method} ${this.path}`
  }

  /** The first field of a name, such as `content-type` or `:authority`. */
  field(name: string): string | undefined {
    return this.fields.find(([known]) => known === name)?.[1]
  }

  /** Waits for the end of the request. @returns false where it was reset, or its connection closed, before */
  async whole(): Promise<boolean> {
    while (!this.isComplete && !this.#isGone) await this.#untilMoved()
    return this.isComplete
  }

  /** The request's body, piece by piece as it comes; it ends with the request, or with the stream. */
  async *[Symbol.asyncIterator](): AsyncGenerator<Buffer> {
    for (let at = 0; ; at++) {
      while (at >= this.chunks.length && !this.isComplete && !this.#isGone) await this.#untilMoved()
      const chunk = this.chunks[at]
      if (chunk === undefined) return
      yield chunk
    }
  }

  /** Waits. @returns false where the connection has closed before */
  delay(milliseconds: number): Promise<boolean> {
    return this.connection.delay(milliseconds)
  }

  /**
   * A whole response, in one segment as far as the client's windows allow.
   *
   * @param response a text or octets are the body of a 200
   * @returns false where the stream or the connection has closed before all was sent
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

  /** An informational response, such as 103. */
  inform(status: number, headers: FieldsInit = []): void {
    this.head(status, headers)
  }

  /** The header section of a response, and nothing more. */
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

  /** A part of a response's body. @returns false where the stream or the connection has closed before all was sent */
  data(content: string | Uint8Array): Promise<boolean> {
    return this.#send(content, null)
  }

  /** The end of a response that has begun. */
  end(content: string | Uint8Array = ''): Promise<boolean> {
    return this.#send(content, 'data')
  }

  /** A trailer section, which ends the response. */
  endWith(trailers: FieldsInit): Promise<boolean> {
    return this.#send('', this.#toTrailers(trailers))
  }

  /**
   * A body so slow, and its end. The header section must have been sent. @returns false where the stream closed
   * before
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

  /** RST_STREAM: the stream counts on neither side any more. */
  reset(code: ErrorCode = 'INTERNAL_ERROR'): void {
    const number = toCode(code)
    if (this.#isGone) return
    this.sentResetCode = number
    this.#end(frames.reset(this.id, number))
    this.wake()
  }

  /** RST_STREAM(REFUSED_STREAM): the server has done nothing about it (RFC 9113 §8.7). */
  refuse(): void {
    this.reset('REFUSED_STREAM')
  }

  /** The 200 that opens the tunnel of a CONNECT, plain or extended. */
  accept(headers: FieldsInit = []): void {
    this.head(200, headers)
  }

  /** Sends back what comes, until the client ends its side: with a header section of its own, unless one was sent. */
  async echo(): Promise<boolean> {
    for await (const chunk of this) {
      if (!(await this.data(chunk))) return false
    }
    return this.isComplete && this.end()
  }

  /**
   * PUSH_PROMISE for a request, and its response. A client that allows no pushes has to end the connection by
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

  /** A header section that RFC 9113 or RFC 7541 forbids, in place of the response's. */
  badHeaders(name: BadHeaders): void {
    const section = byName('bad header section', BAD_HEADERS, name)(this.id)
    if (this.#isOver) return
    this.#hasBegun = true
    this.connection.write(section)
  }

  /** A header section that is small on the wire, or not, and large in the client's memory. */
  headerBomb(kind: HeaderBomb, options: BombOptions = {}): void {
    const section = toBomb(kind, this.id, options)
    if (this.#isOver) return
    this.#hasBegun = true
    this.#end(section)
  }

  /** The connection's own: something has come, or nothing more will. */
  wake(): void {
    const waiting = this.#waiting
    this.#waiting = []
    for (const wake of waiting) wake()
  }

  get #isGone(): boolean {
    return this.isReset || this.connection.isClosed
  }

  /** Whether nothing more may be sent. */
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

  /** Counted as closed before it is said: the client may open another as soon as it hears of it. */
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
