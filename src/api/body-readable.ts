/**
 * A response body: a Readable with the methods of a Fetch body.
 *
 * @module
 */

import { Blob } from 'node:buffer'
import { Readable } from 'node:stream'
import type { ReadableStream } from 'node:stream/web'
import type { ConnectionInfo } from '../../types/connection.ts'
import type { DispatchController } from '../../types/handler.ts'
import type { IncomingHttpHeaders } from '../../types/headers.ts'
import type { BodyReadable as BodyReadableType, DumpOptions } from '../../types/response.ts'
import { readArrayBuffer, readBytes, readText, toJson, toJsonError } from '../core/body-bytes.ts'
import { KeptPieces } from '../core/kept-pieces.ts'
import { noop } from '../core/noop.ts'
import { originalNextTick, originalSetImmediate } from '../core/original-timers.ts'
import { ReadableFeed } from '../core/readable-feed.ts'
import { invalid, toInteger } from '../core/validate.ts'
import { failAwaited, rejectAwaited } from '../errors/awaited-stack.ts'
import { RequestAbortedError } from '../errors/errors.ts'
import type { Consumer } from './body-consumer.ts'
import { Collector, Dump } from './body-consumer.ts'
import { iterate } from './body-iterator.ts'
import { LazyReadable } from './lazy-readable.ts'
import { toWebStream } from './web-stream.ts'

/** The default in undici, in bytes: a longer rest isn't worth reading just to end the stream cleanly. */
const DUMP_LIMIT = 131_072

/** The response that a body belongs to. */
export interface BodyOwner {
  /** Whether the request was a HEAD: then `content-length` says nothing about the body. */
  readonly isHead: boolean
  /** The request's path. */
  readonly target: string
  readonly statusCode: number
}

type Convert<T> = (kept: KeptPieces, body: BodyReadable) => T

/**
 * A Readable with `text()` and similar methods. The stream provides the back-pressure: while `highWaterMark` bytes
 * wait here, nothing is read from the peer, and the peer gets no credit.
 *
 * Most bodies are read with `text()` or similar methods, so the pieces are kept here. Only the first read as a
 * Readable passes them to the stream: its buffer, events and ticks cost as much as everything else in a small
 * response. Until then it isn't even a stream: `isStream` is false, and Readable needn't be asked.
 */
export class BodyReadable extends LazyReadable implements BodyReadableType {
  readonly #controller: DispatchController
  readonly #headers: IncomingHttpHeaders
  readonly #owner: BodyOwner
  /** The response's `content-length`; null if it has none, or if no body follows. */
  readonly #announced: number | null
  #bytesRead = 0
  /** Pieces that neither a consumer nor the stream has received. Null before the first piece. */
  #kept: KeptPieces | null = null
  /** Passes the pieces to the stream; null until the body is read as a stream. */
  #feed: ReadableFeed | null = null
  /** Whether text() or a similar method has read the whole body, and nothing listens for the stream's own end. */
  #hasQuietEnd = false
  /** Null unless text() or a similar method was called. */
  #consumer: Consumer | null = null
  /** Null until `body` is read. */
  #web: ReadableStream<Uint8Array> | null = null
  /** Whether the whole response was received. It may not have been read yet. */
  #isComplete = false
  /** Whether text() or a similar method was called. */
  #isConsumed = false
  /** Whether the call has failed, or its signal has fired; not after the reader's own `destroy()`. */
  #hasFailed = false
  /** The error with which the stream fails once the pieces in its buffer were read; null if the call hasn't failed. */
  #failure: Error | null = null

  /** @param highWaterMark in bytes */
  constructor(
    controller: DispatchController,
    headers: IncomingHttpHeaders,
    highWaterMark: number,
    owner: BodyOwner,
  ) {
    super(highWaterMark)
    this.#controller = controller
    this.#headers = headers
    this.#owner = owner
    const length = owner.isHead ? undefined : headers['content-length']
    this.#announced = length === undefined ? null : Number(length)
  }

  override _read(): void {
    const feed = this.#startStreaming()
    feed.onRead()
    if (feed.hasRoom) this.#controller.resume()
  }

  /** What carries the response: see {@link DispatchController.connection}. Null for another package's dispatcher. */
  get connection(): ConnectionInfo | null {
    return this.#controller.connection ?? null
  }

  /** After the call has failed, the stream fails once the last piece was read. */
  override read(size?: number): ReturnType<Readable['read']> {
    const feed = this.#startStreaming()
    feed.beforeRead(size)
    const chunk: unknown = super.read(size)
    feed.afterRead(size)
    if (this.#failure !== null && !this.hasUnread) this.destroy(this.#failure)
    return chunk
  }

  /** What is put back comes first, also in the result of text(). */
  override unshift(chunk: unknown, encoding?: BufferEncoding): void {
    this.#startStreaming()
    super.unshift(chunk, encoding)
  }

  /** A listener for the end is called even if it is added after text(). */
  override on(event: string | symbol, listener: (...args: never[]) => void): this {
    if (this.#hasQuietEnd) this.#endLoudly()
    return super.on(event, listener as Parameters<Readable['on']>[1])
  }

  override addListener(event: string | symbol, listener: (...args: never[]) => void): this {
    return this.on(event, listener)
  }

  override _destroy(error: Error | null, callback: (error?: Error | null) => void): void {
    const consumer = this.#consumer
    // Read now: the reader's own `destroy()` fails the call below, and that sets the flag.
    const hasFailed = this.#hasFailed
    this.#consumer = null
    // Destroyed before its end, and not by a failure of the call: the reader gives up the rest.
    const reason = error ?? (this.readableEnded || this.#isComplete ? null : new RequestAbortedError())
    if (!this.#isComplete) this.#controller.abort(reason ?? new RequestAbortedError())
    consumer?.onError(reason ?? new RequestAbortedError())
    // A tick runs before the continuation of an `await`: a caller that gets this body by a promise couldn't listen for
    // `error` yet.
    if (hasFailed) originalSetImmediate(callback, reason)
    else originalNextTick(callback, reason)
  }

  /** A piece has arrived. Returns false to ask for a pause. */
  receive(chunk: Buffer): boolean {
    this.#bytesRead += chunk.length
    if (this.#consumer !== null) {
      this.#consumer.take(chunk)
      return true
    }
    if (this.isStream && this.destroyed) return true
    if (this.#feed !== null) return this.#feed.receive(chunk)
    this.#kept ??= this.#createKept()
    this.#kept.add(chunk)
    // A read of more would raise `readableHighWaterMark`, but it would have made the feed.
    return this.#bytesRead < this.firstHighWaterMark
  }

  /** The whole body has arrived. */
  finish(): void {
    this.#isComplete = true
    const consumer = this.#consumer
    if (consumer === null) {
      this.#feed?.end()
      return
    }
    this.#consumer = null
    this.#end()
    consumer.onEnd(this.#hasQuietEnd)
  }

  /** Whether a part of it waits to be read. */
  get hasUnread(): boolean {
    return (this.#kept !== null && this.#kept.size > 0) || (this.isStream && this.readableLength > 0)
  }

  /** From now on, it is an ordinary stream. */
  #startStreaming(): ReadableFeed {
    if (this.#feed !== null) return this.#feed
    this.#kept ??= this.#createKept()
    const feed = new ReadableFeed(this, this.#kept)
    this.#feed = feed
    if (this.#isComplete && this.#failure === null && !this.destroyed) feed.end()
    return feed
  }

  /** A consumer has read the whole body. The stream itself ends only if something listens for that, now or later. */
  #end(): void {
    if (this.isStream && (this.#feed !== null || this.#isHeard)) this.#endLoudly()
    else this.#hasQuietEnd = true
  }

  /** Whether anything listens for its end, or for its pieces. */
  get #isHeard(): boolean {
    const count = this.listenerCount('end') + this.listenerCount('close') + this.listenerCount('data')
    return count > 0 || this.listenerCount('readable') > 0
  }

  #endLoudly(): void {
    this.#hasQuietEnd = false
    this.#feed?.end()
    this.resume()
  }

  /** The caller's signal has fired: pieces that have arrived are dropped, too. */
  abort(reason: Error): void {
    this.#hasFailed = true
    this.on('error', noop)
    this.destroy(reason)
  }

  /** The body will never be complete. A reader of the stream gets the pieces in its buffer first. */
  fail(error: Error): void {
    this.#isComplete = true
    this.#hasFailed = true
    // Readers still get the error. But the failure of an unread body must not end the process.
    this.on('error', noop)
    if (this.#consumer !== null || !this.hasUnread) {
      this.destroy(error)
      return
    }
    this.#failure = error
    // A caller that gets this body by a promise can't have begun to read it yet.
    if (this.#feed === null) originalSetImmediate(failUnread, this)
  }

  /** Drops the pieces that a reader of the stream hasn't read. */
  dropUnread(): void {
    if (this.#failure !== null && this.#feed === null) this.destroy(this.#failure)
  }

  /** Returns the body as a string, decoded as UTF-8, without a byte order mark. */
  text(): Promise<string> {
    return this.#consume(readText)
  }

  /** Returns the body, parsed as JSON. @throws SyntaxError if it isn't JSON: the message names the response. */
  json(): Promise<unknown> {
    return this.#consume(BodyReadable.#parse)
  }

  static #parse(kept: KeptPieces, body: BodyReadable): unknown {
    const bytes = kept.join()
    try {
      return toJson(bytes)
    } catch (thrown) {
      const { target, statusCode } = body.#owner
      throw toJsonError(thrown, bytes, { target, status: statusCode, contentType: body.#contentType() })
    }
  }

  /** Returns the body as bytes. */
  bytes(): Promise<Uint8Array> {
    return this.#consume(readBytes)
  }

  /** Returns the body as an ArrayBuffer of exactly its length. */
  arrayBuffer(): Promise<ArrayBuffer> {
    return this.#consume(readArrayBuffer)
  }

  /** Returns the body as a Blob with the response's content type. */
  blob(): Promise<Blob> {
    return this.#consume((kept) => new Blob([kept.joinOwn()], { type: this.#contentType() }))
  }

  /**
   * Returns the body, parsed as a form (multipart or urlencoded) by Node's own parser. @throws TypeError if it isn't
   * one.
   */
  formData(): Promise<FormData> {
    // Not an async function, which would be a frame in the stack of an error.
    return this.arrayBuffer().then((body) =>
      new Response(body, { headers: { 'content-type': this.#contentType() } }).formData(),
    )
  }

  /** Iterates over the pieces as they arrive, as with any Readable. Leaving the loop destroys the body. */
  override [Symbol.asyncIterator](): AsyncGenerator<Buffer, undefined, undefined> {
    return iterate(this)
  }

  /**
   * Reads the body and discards it, so that its stream ends cleanly. A body of more than `limit` bytes is aborted.
   *
   * @param options `limit` in bytes, by default 131_072, and a signal that ends the reading
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
      else this.#consumeBy(dump)
      if (isTooLong) this.destroy()
    })
  }

  /** Whether the body is read as a stream, or by text() or a similar method, or something listens for its end. */
  get #isFlowing(): boolean {
    return this.bodyUsed || this.#feed !== null || this.listenerCount('end') > 0
  }

  /** Counts the pieces for `dump()` while another reader reads the body. */
  #flow(dump: Dump): void {
    this.on('data', () => dump.check(this.#bytesRead))
    this.on('close', () => dump.onError())
    // The stream may be paused, and would stay so.
    this.resume()
  }

  /** Whether a part of it was read, or it was destroyed. */
  get bodyUsed(): boolean {
    return this.#isConsumed || (this.isStream && Readable.isDisturbed(this))
  }

  /** The body as a web stream: created on first use, and locked once text() or a similar method was called. */
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

  #consume<T>(convert: Convert<T>): Promise<T> {
    if (this.#failure !== null) this.destroy(this.#failure)
    if (this.bodyUsed || this.#web?.locked === true) {
      // After a failure, the failure says more than this TypeError.
      if (this.errored !== null) return toRejected(this.errored)
      return Promise.reject(new TypeError('The body has already been read, or is being read'))
    }
    this.#isConsumed = true
    // Nothing has passed through its decoder before the body is read as a stream.
    if (this.#feed !== null && this.readableEncoding !== null)
      return this.#consumeDecoded(this.readableEncoding).then((kept) => convert(kept, this))
    return this.#isComplete ? this.#consumeNow(convert) : this.#consumeLater(convert)
  }

  /** For a body that has already arrived, as most small responses have. */
  #consumeNow<T>(convert: Convert<T>): Promise<T> {
    try {
      const unread = this.#takeUnread()
      this.#end()
      return Promise.resolve(convert(unread, this))
    } catch (thrown) {
      // For example, the bytes aren't JSON.
      return failAwaited(thrown)
    }
  }

  #consumeLater<T>(convert: Convert<T>): Promise<T> {
    return new Promise((resolve, reject) =>
      this.#consumeBy(new Collector(this.#takeUnread(), convert, this, resolve, reject)),
    )
  }

  /** Passes the pieces that have arrived to a consumer, and then further pieces as they arrive. */
  #consumeBy(consumer: Consumer): void {
    this.#isConsumed = true
    this.#kept?.clear()
    if (this.#isComplete) {
      this.#end()
      consumer.onEnd(this.#hasQuietEnd)
    } else {
      this.#consumer = consumer
      this.#controller.resume()
    }
  }

  #createKept(): KeptPieces {
    return new KeptPieces(this.#announced ?? -1)
  }

  #takeUnread(): KeptPieces {
    const unread = this.#feed === null && this.#kept !== null ? this.#kept : this.#createKept()
    if (this.#feed === null) this.#kept = null
    else
      for (let chunk: unknown = this.read(); chunk !== null; chunk = this.read()) unread.add(chunk as Buffer)
    return unread
  }

  /** After `setEncoding`, the stream's decoder may hold half a character: what follows has to pass through it, too. */
  #consumeDecoded(encoding: BufferEncoding): Promise<KeptPieces> {
    return new Promise((resolve, reject) => {
      let text = ''
      this.on('data', (chunk: string) => {
        text += chunk
      })
      this.on('end', () => {
        const kept = new KeptPieces()
        kept.add(Buffer.from(text, encoding))
        resolve(kept)
      })
      this.on('error', (error) => rejectAwaited(resolve, reject, error))
      // The reader's own `destroy()` after the whole response has arrived is no error.
      this.on('close', () => {
        const isLeft = !this.readableEnded && this.errored === null
        if (isLeft) rejectAwaited(resolve, reject, new RequestAbortedError())
      })
      this.resume()
    })
  }
}

function toRejected(error: Error): Promise<never> {
  return new Promise((resolve, reject) => rejectAwaited(resolve, reject, error))
}

function failUnread(body: BodyReadable): void {
  body.dropUnread()
}
