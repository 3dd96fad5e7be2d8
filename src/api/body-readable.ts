/**
 * The body of a response: a Readable with the methods of a Fetch body.
 *
 * @module
 */

import { Blob } from 'node:buffer'
import { Readable } from 'node:stream'
import type { ReadableStream } from 'node:stream/web'
import type { DispatchController } from '../../types/handler.ts'
import type { IncomingHttpHeaders } from '../../types/headers.ts'
import type { BodyReadable as BodyReadableType, DumpOptions } from '../../types/response.ts'
import { toArrayBuffer, toJson, toText, toUint8Array } from '../core/body-bytes.ts'
import { noop } from '../core/noop.ts'
import { originalNextTick, originalSetImmediate } from '../core/original-timers.ts'
import { invalid, toInteger } from '../core/validate.ts'
import { RequestAbortedError } from '../errors.ts'
import type { Consumer } from './body-consumer.ts'
import { Collector, Dump } from './body-consumer.ts'
import { toWebStream } from './web-stream.ts'

/** undici's: more than this isn't worth reading to keep a stream alive. Bytes. */
const DUMP_LIMIT = 131_072

/**
 * Readable, with `text()` and its like. Back-pressure is the stream's own: nothing is read from the peer, and no credit
 * is given to it, while `highWaterMark` bytes wait here.
 *
 * Most bodies are read by `text()` or its like. So what comes is kept in a list, and only the first read by the means
 * of a Readable puts it into the stream: buffer, events and ticks cost as much as all the rest of a small response.
 */
export class BodyReadable extends Readable implements BodyReadableType {
  readonly #controller: DispatchController
  readonly #headers: IncomingHttpHeaders
  /** Bytes that the response announced; null where it didn't, or where no body follows. */
  readonly #announced: number | null
  #bytesRead = 0
  /** What came before anybody read; null for nothing. */
  #early: Buffer[] | null = null
  /** It is read as a stream. */
  #isStreaming = false
  /** Read whole by text() or its like, and nobody has asked for the stream's own end. */
  #hasQuietEnd = false
  /** Null unless one of text() and its like was called. */
  #consumer: Consumer | null = null
  /** Null until `body` is read. */
  #web: ReadableStream<Uint8Array> | null = null
  /** The response has been received whole, if not read. */
  #isComplete = false
  /** One of text() and its like was called. */
  #isConsumed = false
  /** The call has failed, or its signal was aborted: not the reader's own `destroy()`. */
  #hasFailed = false
  /** It ends in this error once what lies here was read; null before the call has failed. */
  #failure: Error | null = null

  constructor(
    controller: DispatchController,
    headers: IncomingHttpHeaders,
    options: { readonly highWaterMark: number; readonly isEmpty: boolean },
  ) {
    super({ highWaterMark: options.highWaterMark })
    this.#controller = controller
    this.#headers = headers
    const length = options.isEmpty ? undefined : headers['content-length']
    this.#announced = length === undefined ? null : Number(length)
  }

  override _read(): void {
    if (this.#isStreaming) this.#controller.resume()
    else if (this.#startStreaming()) this.#controller.resume()
  }

  /** The last piece that has come before a failure is followed by it. */
  override read(size?: number): ReturnType<Readable['read']> {
    const chunk: unknown = super.read(size)
    if (this.#failure !== null && this.readableLength === 0) this.destroy(this.#failure)
    return chunk
  }

  /** Whoever listens wants to hear the end, also after text(). */
  override on(event: string | symbol, listener: (...args: never[]) => void): this {
    if (this.#hasQuietEnd) this.#endLoudly()
    return super.on(event, listener as Parameters<Readable['on']>[1])
  }

  override addListener(event: string | symbol, listener: (...args: never[]) => void): this {
    return this.on(event, listener)
  }

  override _destroy(error: Error | null, callback: (error?: Error | null) => void): void {
    const consumer = this.#consumer
    // Now: the reader's own `destroy()` fails the call below, which tells this body so.
    const hasFailed = this.#hasFailed
    this.#consumer = null
    // Destroyed before its end, and not by a failure of the call: the reader has had enough.
    const reason = error ?? (this.readableEnded || this.#isComplete ? null : new RequestAbortedError())
    if (!this.#isComplete) this.#controller.abort(reason ?? new RequestAbortedError())
    consumer?.onError(reason ?? new RequestAbortedError())
    // A tick runs before the continuation of an `await`: the caller who gets this body by a promise
    // couldn't listen for `error` yet.
    if (hasFailed) originalSetImmediate(callback, reason)
    else originalNextTick(callback, reason)
  }

  /** A piece has come. False asks for no more. */
  receive(chunk: Buffer): boolean {
    this.#bytesRead += chunk.length
    if (this.#consumer !== null) {
      this.#consumer.take(chunk)
      return true
    }
    if (this.destroyed) return true
    if (this.#isStreaming) return this.push(chunk)
    if (this.#early === null) this.#early = [chunk]
    else this.#early.push(chunk)
    return this.#bytesRead < this.readableHighWaterMark
  }

  /** All of it has come. */
  finish(): void {
    this.#isComplete = true
    const consumer = this.#consumer
    if (consumer === null) {
      if (this.#isStreaming) this.push(null)
      return
    }
    this.#consumer = null
    this.#end()
    consumer.onEnd(this.#hasQuietEnd)
  }

  /** Whether something of it waits to be read. */
  get hasUnread(): boolean {
    return this.#early !== null || this.readableLength > 0
  }

  /** From now on it is a stream like any other. True when it takes more. */
  #startStreaming(): boolean {
    this.#isStreaming = true
    const early = this.#early
    this.#early = null
    let isFlowing = true
    if (early !== null) for (const chunk of early) isFlowing = this.push(chunk)
    if (this.#isComplete && this.#failure === null && !this.destroyed) this.push(null)
    return isFlowing
  }

  /** Everything went past the stream: its own end is for those who listen to it, now or later. */
  #end(): void {
    const isHeard = this.listenerCount('end') + this.listenerCount('close') + this.listenerCount('data') > 0
    if (isHeard || this.#isStreaming || this.listenerCount('readable') > 0) this.#endLoudly()
    else this.#hasQuietEnd = true
  }

  #endLoudly(): void {
    this.#hasQuietEnd = false
    if (this.#isStreaming) this.push(null)
    this.resume()
  }

  /** The caller's signal wants no more of it, however much has come. */
  abort(reason: Error): void {
    this.#hasFailed = true
    this.on('error', noop)
    this.destroy(reason)
  }

  /** It will never be complete. Whoever reads it as a stream gets what lies here first. */
  fail(error: Error): void {
    this.#isComplete = true
    this.#hasFailed = true
    // Not swallowed: readers get it. But a body that nobody reads must not end the process.
    this.on('error', noop)
    if (this.#consumer !== null || !this.hasUnread) {
      this.destroy(error)
      return
    }
    this.#failure = error
    // The caller who gets this body by a promise can't have begun to read it yet.
    if (!this.#isStreaming) originalSetImmediate(failUnread, this)
  }

  /** Nobody who reads it as a stream wants what lies here. */
  dropUnread(): void {
    if (this.#failure !== null && !this.#isStreaming) this.destroy(this.#failure)
  }

  /** The body as a string, read as UTF-8; a byte order mark is left out. */
  text(): Promise<string> {
    return this.#consume(toText)
  }

  /** The body, parsed as JSON. @throws SyntaxError when it is none. */
  json(): Promise<unknown> {
    return this.#consume(toJson)
  }

  /** The body as bytes. */
  bytes(): Promise<Uint8Array> {
    return this.#consume(toUint8Array)
  }

  /** The body as an ArrayBuffer of its own. */
  arrayBuffer(): Promise<ArrayBuffer> {
    return this.#consume(toArrayBuffer)
  }

  /** The body as a Blob of the response's content type. */
  blob(): Promise<Blob> {
    return this.#consume((bytes) => new Blob([toArrayBuffer(bytes)], { type: this.#contentType() }))
  }

  /** The body, parsed as a form (multipart or urlencoded) by Node's own parser. @throws TypeError when it is none. */
  async formData(): Promise<FormData> {
    const body = await this.arrayBuffer()
    return new Response(body, { headers: { 'content-type': this.#contentType() } }).formData()
  }

  /**
   * Reads the body and throws it away, so that its stream ends well. A body of more than `limit` bytes is aborted.
   *
   * @param options `limit` in bytes (@default 131072), and a signal that ends the reading.
   */
  async dump(options?: DumpOptions | null): Promise<void> {
    const signal = options?.signal ?? undefined
    const limit = toInteger('limit', options?.limit, DUMP_LIMIT, 0, Number.MAX_SAFE_INTEGER, 'bytes')
    if (signal !== undefined && typeof signal.throwIfAborted !== 'function') {
      throw invalid('signal', signal, 'an AbortSignal, or null')
    }
    signal?.throwIfAborted()
    if (this.#failure !== null) this.destroy(this.#failure)
    if (this.closed) return
    const isTooLong = (this.#announced ?? 0) > limit || this.#bytesRead > limit
    this.on('error', noop)
    await new Promise<void>((resolve, reject) => {
      const dump = new Dump(this, this.#bytesRead, limit, signal, resolve, reject)
      if (this.#isFlowing) this.#flow(dump)
      else this.#feed(dump)
      if (isTooLong) this.destroy()
    })
  }

  /** Somebody reads it as a stream, or by text() and its like, or listens for its end. */
  get #isFlowing(): boolean {
    return this.bodyUsed || this.#isStreaming || this.listenerCount('end') > 0
  }

  /** Beside whoever reads it already. */
  #flow(dump: Dump): void {
    this.on('data', () => dump.check(this.#bytesRead))
    this.on('close', () => dump.onError())
    // It may have been paused, and would stay so.
    this.resume()
  }

  /** Whether any of it was read, or it was destroyed. */
  get bodyUsed(): boolean {
    return this.#isConsumed || Readable.isDisturbed(this)
  }

  /** The body as a web stream: made on first use, and locked once text() or its like has begun. */
  get body(): ReadableStream<Uint8Array> {
    if (this.#web === null) {
      this.#web = toWebStream(this)
      if (this.bodyUsed) this.#web.getReader()
    }
    return this.#web
  }

  #contentType(): string {
    const value = this.#headers['content-type']
    return typeof value === 'string' ? value : ''
  }

  #consume<T>(convert: (bytes: Buffer) => T): Promise<T> {
    if (this.#failure !== null) this.destroy(this.#failure)
    if (this.bodyUsed || this.#web?.locked === true) {
      // After a failure that failure is the better response.
      return Promise.reject(this.errored ?? new TypeError('The body was read already, or is being read'))
    }
    this.#isConsumed = true
    if (this.readableEncoding !== null) return this.#consumeDecoded(this.readableEncoding).then(convert)
    return new Promise((resolve, reject) =>
      this.#feed(new Collector(this.#takeUnread(), convert, resolve, reject)),
    )
  }

  /** The rest goes to a consumer, which has what is there already. */
  #feed(consumer: Consumer): void {
    this.#isConsumed = true
    this.#early = null
    if (this.#isComplete) {
      this.#end()
      consumer.onEnd(this.#hasQuietEnd)
    } else {
      this.#consumer = consumer
      this.#controller.resume()
    }
  }

  #takeUnread(): Buffer[] {
    const chunks = this.#early ?? []
    this.#early = null
    if (!this.#isStreaming) return chunks
    for (let chunk: unknown = this.read(); chunk !== null; chunk = this.read()) chunks.push(chunk as Buffer)
    return chunks
  }

  /** After `setEncoding` the stream's decoder may hold half a character: what follows has to go through it as well. */
  #consumeDecoded(encoding: BufferEncoding): Promise<Buffer> {
    return new Promise((resolve, reject) => {
      let text = ''
      this.on('data', (chunk: string) => {
        text += chunk
      })
      this.on('end', () => resolve(Buffer.from(text, encoding)))
      this.on('error', reject)
      this.resume()
    })
  }
}

function failUnread(body: BodyReadable): void {
  body.dropUnread()
}
