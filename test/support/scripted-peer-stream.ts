/** One request as a scripted peer sees it, and the ways to respond to it. */

import { Flag, frames } from './frames.ts'
import type { Field } from './hpack.ts'

const REFUSED_STREAM = 7

/** What a stream needs of its connection. */
export interface StreamOwner {
  /** From 0, in the order in which the peer took them. */
  readonly index: number
  write(...pieces: Buffer[]): void
  /** One of the stream's halves has closed, or both. */
  onStreamMoved(stream: PeerStream): void
}

/** A stream that the client has opened. Everything it writes goes out at once, legal or not. */
export class PeerStream {
  readonly connection: StreamOwner
  readonly id: number
  /** The request's header, in wire order. */
  readonly fields: readonly Field[]
  /** The pieces of the request's body. */
  readonly chunks: Buffer[] = []
  /** Null until there are any. */
  trailers: readonly Field[] | null = null
  /** The request is whole: END_STREAM has come. */
  isComplete = false
  /** The code of the client's RST_STREAM; null without. */
  resetCode: number | null = null
  /** The code of the peer's own RST_STREAM; null without. */
  sentResetCode: number | null = null
  #isResponded = false

  constructor(connection: StreamOwner, id: number, fields: readonly Field[]) {
    this.connection = connection
    this.id = id
    this.fields = fields
  }

  get method(): string {
    return this.field(':method') ?? ''
  }

  get path(): string {
    return this.field(':path') ?? ''
  }

  get body(): string {
    return Buffer.concat(this.chunks).toString('latin1')
  }

  /** How many octets of the body have come. */
  get length(): number {
    return this.chunks.reduce((sum, chunk) => sum + chunk.length, 0)
  }

  /** Whether it counts against SETTINGS_MAX_CONCURRENT_STREAMS (RFC 9113 §5.1.2). */
  get isOpen(): boolean {
    return this.resetCode === null && !(this.isComplete && this.#isResponded)
  }

  /** The peer has said that it has done nothing about it (RFC 9113 §8.7). */
  get isRefused(): boolean {
    return this.sentResetCode === REFUSED_STREAM
  }

  /** `GET /path`. */
  toString(): string {
    return `${this.method} ${this.path}`
  }

  /** The first field of a name. */
  field(name: string): string | undefined {
    return this.fields.find(([known]) => known === name)?.[1]
  }

  /** A 200 with a body, all of it. */
  respondWith(text = this.toString()): void {
    const { id } = this
    this.#end(() => this.connection.write(frames.response(id), frames.data(id, text, Flag.END_STREAM)))
  }

  /** The header of a response: a status, and what more there is. */
  respond(status: number, fields: readonly Field[] = []): void {
    this.connection.write(frames.headers(this.id, [[':status', String(status)], ...fields]))
  }

  data(text: string): void {
    this.connection.write(frames.data(this.id, text))
  }

  /** The end of a response that has begun. */
  end(text = ''): void {
    this.#end(() => this.connection.write(frames.data(this.id, text, Flag.END_STREAM)))
  }

  /** RST_STREAM: the stream counts on neither side any more. */
  reset(code: number): void {
    this.sentResetCode = code
    this.isComplete = true
    this.#end(() => this.connection.write(frames.reset(this.id, code)))
  }

  /** Counted as closed before it is said: the client may open another as soon as it hears of it. */
  #end(say: () => void): void {
    this.#isResponded = true
    this.connection.onStreamMoved(this)
    say()
  }
}
