/**
 * A stream's messages, in both directions.
 *
 * @module
 */

import { Code, ConnectError } from '@connectrpc/connect'
import type { Compression } from '@connectrpc/connect/protocol'
import type { Envelope } from './envelopes.ts'
import { decompress, isCompressed, toCompressedFrame, toFrame } from './envelopes.ts'

/** What a protocol knows about a response's messages. */
export interface MessageRules<T> {
  /** The flag of the envelope that ends the stream; 0 if the protocol has none. */
  readonly endFlag: number
  /** The compression that the header section named; null: none. */
  readonly compression: Compression | null
  readonly readMaxBytes: number
  parse(data: Uint8Array): T
  /**
   * Called before each message.
   *
   * @throws ConnectError if there must be none
   */
  onMessage(): void
  /**
   * Called for the envelope that ends the stream.
   *
   * @throws ConnectError if the call has failed
   */
  onEndEnvelope(data: Uint8Array): void
  /**
   * The body has been read, and the trailers have arrived.
   *
   * @throws ConnectError if the call has failed
   */
  onEnd(): void
}

/** Where a response's messages come from: a call. */
export interface MessageSource {
  /** Whether the whole response has arrived. Messages may be waiting. */
  readonly isComplete: boolean
  /**
   * The next message. Null: none is waiting.
   *
   * @throws ConnectError if the call has failed, after the messages that arrived before
   */
  take(): Envelope | null
  /** Settles when `take()` has something to return or throw. */
  wait(): Promise<void>
  /**
   * The body has been read.
   *
   * @throws ConnectError if it ended within a message
   */
  end(): void
  /** Ends the call, unless it is over. */
  fail(error: unknown): void
  /** The caller doesn't want more: waiting messages are dropped, and the call ends if it hasn't. */
  leave(error: ConnectError): void
}

/** A response's messages. Leaving the loop cancels the call. */
export class IncomingMessages<T> implements AsyncIterableIterator<T> {
  readonly #source: MessageSource
  readonly #rules: MessageRules<T>
  /** The pending answer to `next()`, which others wait for. Null: there is none. */
  #turn: Promise<IteratorResult<T>> | null = null
  #isOver = false

  constructor(source: MessageSource, rules: MessageRules<T>) {
    this.#source = source
    this.#rules = rules
  }

  [Symbol.asyncIterator](): this {
    return this
  }

  next(): Promise<IteratorResult<T>> {
    if (this.#turn !== null) {
      const again = () => this.next()
      return this.#turn.then(again, again)
    }
    if (this.#isOver) return Promise.resolve({ done: true, value: undefined })
    try {
      const envelope = this.#source.take()
      // Most messages have arrived when they are asked for, and aren't compressed.
      if (envelope !== null && !isCompressed(envelope) && !this.#isEnd(envelope)) {
        return Promise.resolve({ done: false, value: this.#toMessage(envelope.data) })
      }
      const turn = this.#advance(envelope)
      this.#turn = turn
      return turn
    } catch (error) {
      return this.#fail(error)
    }
  }

  return(): Promise<IteratorResult<T>> {
    this.#isOver = true
    this.#source.leave(new ConnectError('the caller stopped reading the messages', Code.Canceled))
    return Promise.resolve({ done: true, value: undefined })
  }

  /** @param first - what was already taken; null: wait for it */
  async #advance(first: Envelope | null): Promise<IteratorResult<T>> {
    try {
      let envelope = first
      for (;;) {
        if (envelope === null) {
          if (this.#source.isComplete) break
          await this.#source.wait()
        } else {
          const data = isCompressed(envelope) ? await this.#decompress(envelope) : envelope.data
          if (!this.#isEnd(envelope)) return { done: false, value: this.#toMessage(data) }
          this.#rules.onEndEnvelope(data)
        }
        envelope = this.#source.take()
      }
      this.#source.end()
      this.#rules.onEnd()
      this.#isOver = true
      return { done: true, value: undefined }
    } catch (error) {
      return await this.#fail(error)
    } finally {
      this.#turn = null
    }
  }

  #isEnd({ flags }: Envelope): boolean {
    const { endFlag } = this.#rules
    return endFlag !== 0 && (flags & endFlag) === endFlag
  }

  #toMessage(data: Uint8Array): T {
    this.#rules.onMessage()
    return this.#rules.parse(data)
  }

  #decompress(envelope: Envelope): Promise<Uint8Array> {
    return decompress(envelope, this.#rules.compression, this.#rules.readMaxBytes)
  }

  /** The error is reported once; nothing follows it. */
  #fail(error: unknown): Promise<never> {
    this.#isOver = true
    this.#source.fail(error)
    return Promise.reject(error)
  }
}

/** How messages are sent. */
export interface SendingRules<T> {
  readonly sendCompression: Compression | null
  readonly compressMinBytes: number
  serialize(message: T): Uint8Array<ArrayBuffer>
}

/** One message in the form in which it is sent. */
export function toMessageFrame<T>(
  message: T,
  { sendCompression, compressMinBytes, serialize }: SendingRules<T>,
): Uint8Array<ArrayBuffer> | Promise<Uint8Array<ArrayBuffer>> {
  const data = serialize(message)
  return sendCompression === null
    ? toFrame(0, data)
    : toCompressedFrame(data, sendCompression, compressMinBytes)
}

/** All messages as one body, which can be sent again. */
export async function toBody<T>(messages: AsyncIterable<T>, rules: SendingRules<T>): Promise<Uint8Array> {
  const frames: Uint8Array[] = []
  for await (const message of messages) frames.push(await toMessageFrame(message, rules))
  const [first] = frames
  return frames.length === 1 && first !== undefined ? first : Buffer.concat(frames)
}

/** A request's messages, as they arrive. */
export class OutgoingMessages<T> implements AsyncIterableIterator<Uint8Array> {
  readonly #messages: AsyncIterator<T>
  readonly #rules: SendingRules<T>
  readonly #onError: (error: unknown) => void

  /** @param onError - the messages, or the codec, threw. Called first, because the body's own error says less. */
  constructor(messages: AsyncIterable<T>, rules: SendingRules<T>, onError: (error: unknown) => void) {
    this.#messages = messages[Symbol.asyncIterator]()
    this.#rules = rules
    this.#onError = onError
  }

  [Symbol.asyncIterator](): this {
    return this
  }

  async next(): Promise<IteratorResult<Uint8Array>> {
    try {
      const { done, value } = await this.#messages.next()
      if (done === true) return { done, value: undefined }
      return { done: false, value: await toMessageFrame(value, this.#rules) }
    } catch (error) {
      this.#onError(ConnectError.from(error, Code.Internal))
      throw error
    }
  }

  /**
   * The call is over. An async generator that is waiting for something would make this wait, too, so its end isn't
   * awaited.
   */
  async return(): Promise<IteratorResult<Uint8Array>> {
    this.#messages.return?.().catch(() => {
      // The call has its outcome: what the messages throw at their end doesn't belong to it.
    })
    return { done: true, value: undefined }
  }
}
