/**
 * The body of an answer: a Readable with the methods of a Fetch body.
 *
 * @module
 */

import { Blob } from 'node:buffer'
import { Readable } from 'node:stream'
import { ReadableStream } from 'node:stream/web'
import type { DispatchController } from '../../types/handler.ts'
import type { IncomingHttpHeaders } from '../../types/headers.ts'
import type { BodyReadable as BodyReadableType, DumpOptions } from '../../types/response.ts'
import { toInteger } from '../core/options.ts'
import { RequestAbortedError } from '../errors.ts'
import { checkSignal } from './signal.ts'

/** undici's: more than this isn't worth reading to keep a stream alive. Bytes. */
const DUMP_LIMIT = 131_072

const EMPTY = Buffer.alloc(0)

/** Reads all of a body at once: the chunks go into a list, past the buffer and the events of a Readable. */
interface Consumer {
  readonly chunks: Buffer[]
  readonly onBytes: (bytes: Buffer) => void
  readonly onError: (error: Error) => void
}

/**
 * Readable, with `text()` and its like. Back-pressure is the stream's own: nothing is read from the peer, and no credit is
 * given to it, while `highWaterMark` bytes wait here.
 */
export class BodyReadable extends Readable implements BodyReadableType {
  readonly #controller: DispatchController
  readonly #headers: IncomingHttpHeaders
  /** Bytes that the answer announced; null where it didn't, or where no body follows. */
  readonly #announced: number | null
  #bytesRead = 0
  /** Null unless one of text() and its like was called. */
  #consumer: Consumer | null = null
  /** Null until `body` is read. */
  #web: ReadableStream<Uint8Array> | null = null
  /** The answer has been received whole, if not read. */
  #isComplete = false
  /** One of text() and its like was called. */
  #isConsumed = false

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
    this.#controller.resume()
  }

  override _destroy(error: Error | null, callback: (error?: Error | null) => void): void {
    const consumer = this.#consumer
    this.#consumer = null
    // Destroyed before its end, and not by a failure of the call: the reader has had enough.
    const reason = error ?? (this.readableEnded || this.#isComplete ? null : new RequestAbortedError())
    if (!this.#isComplete) this.#controller.abort(reason ?? new RequestAbortedError())
    consumer?.onError(reason ?? new RequestAbortedError())
    // A tick later: whoever gets this body by a promise has no chance to listen for `error` before.
    process.nextTick(callback, reason)
  }

  /** A piece has come. False asks for no more. */
  receive(chunk: Buffer): boolean {
    this.#bytesRead += chunk.length
    if (this.#consumer !== null) {
      this.#consumer.chunks.push(chunk)
      return true
    }
    return this.destroyed ? true : this.push(chunk)
  }

  /** All of it has come. */
  finish(): void {
    this.#isComplete = true
    const consumer = this.#consumer
    if (consumer === null) {
      this.push(null)
      return
    }
    this.#consumer = null
    // Everything went past the stream: its own end is for those who listen to it.
    this.push(null)
    this.resume()
    consumer.onBytes(join(consumer.chunks))
  }

  /** The caller's signal wants no more of it, however much has come. */
  abort(reason: Error): void {
    this.on('error', ignoreError)
    this.destroy(reason)
  }

  /** It will never be complete. */
  fail(error: Error): void {
    this.#isComplete = true
    // Not swallowed: readers get it. But a body that nobody reads must not end the process.
    this.on('error', ignoreError)
    this.destroy(error)
  }

  /** The body as a string, read as UTF-8; a byte order mark is left out. */
  async text(): Promise<string> {
    return decode(await this.#consume())
  }

  /** The body, parsed as JSON. @throws SyntaxError when it is none. */
  async json(): Promise<unknown> {
    return JSON.parse(decode(await this.#consume()))
  }

  /** The body as bytes. */
  async bytes(): Promise<Uint8Array> {
    const bytes = await this.#consume()
    return new Uint8Array(bytes.buffer, bytes.byteOffset, bytes.byteLength)
  }

  /** The body as an ArrayBuffer of its own. */
  async arrayBuffer(): Promise<ArrayBuffer> {
    const bytes = await this.#consume()
    const copy = new ArrayBuffer(bytes.byteLength)
    new Uint8Array(copy).set(bytes)
    return copy
  }

  /** The body as a Blob of the answer's content type. */
  async blob(): Promise<Blob> {
    return new Blob([await this.arrayBuffer()], { type: this.#contentType() })
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
    checkSignal(signal)
    signal?.throwIfAborted()
    if (this.closed) return
    await new Promise<void>((resolve, reject) => {
      const onAbort = (): void => void this.destroy(signal?.reason)
      signal?.addEventListener('abort', onAbort, { once: true })
      this.on('error', ignoreError)
      this.on('close', () => {
        signal?.removeEventListener('abort', onAbort)
        if (signal?.aborted === true) reject(signal.reason)
        else resolve()
      })
      this.on('data', () => {
        if (this.#bytesRead > limit) this.destroy()
      })
      // It may have been paused, and would stay so.
      this.resume()
      if ((this.#announced ?? 0) > limit || this.#bytesRead > limit) this.destroy()
    })
  }

  /** Whether any of it was read, or it was destroyed. */
  get bodyUsed(): boolean {
    return this.#isConsumed || Readable.isDisturbed(this)
  }

  /** The body as a web stream: made on first use, and locked once text() or its like has begun. */
  get body(): ReadableStream<Uint8Array> {
    if (this.#web === null) {
      this.#web = this.#toWeb()
      if (this.bodyUsed) this.#web.getReader()
    }
    return this.#web
  }

  #contentType(): string {
    const value = this.#headers['content-type']
    return typeof value === 'string' ? value : ''
  }

  #consume(): Promise<Buffer> {
    if (this.bodyUsed || this.#web?.locked === true) {
      // After a failure that failure is the better answer.
      return Promise.reject(this.errored ?? new TypeError('The body was read already, or is being read'))
    }
    this.#isConsumed = true
    if (this.readableEncoding !== null) return this.#consumeDecoded(this.readableEncoding)
    const chunks: Buffer[] = []
    for (let chunk: unknown = this.read(); chunk !== null; chunk = this.read()) chunks.push(chunk as Buffer)
    if (this.#isComplete) {
      this.resume()
      return Promise.resolve(join(chunks))
    }
    return new Promise((onBytes, onError) => {
      this.#consumer = { chunks, onBytes, onError }
      this.#controller.resume()
    })
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

  /** `ReadableStream.from` would do, but for a cancel before the first read: that never reaches the iterator. */
  #toWeb(): ReadableStream<Uint8Array> {
    let iterator: AsyncIterator<Uint8Array> | null = null
    return new ReadableStream<Uint8Array>(
      {
        pull: async (controller) => {
          iterator ??= this[Symbol.asyncIterator]()
          const { done, value } = await iterator.next()
          if (done === true) controller.close()
          else controller.enqueue(value)
        },
        cancel: () => this.abort(new RequestAbortedError('The body was cancelled')),
      },
      { highWaterMark: 0 },
    )
  }
}

function join(chunks: Buffer[]): Buffer {
  if (chunks.length === 1) return chunks[0] ?? EMPTY
  return chunks.length === 0 ? EMPTY : Buffer.concat(chunks)
}

/** As the Fetch standard decodes: UTF-8, without its byte order mark. */
function decode(bytes: Buffer): string {
  const hasMark = bytes.length > 2 && bytes[0] === 0xef && bytes[1] === 0xbb && bytes[2] === 0xbf
  return bytes.toString('utf8', hasMark ? 3 : 0)
}

function ignoreError(): void {}
