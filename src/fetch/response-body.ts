/**
 * The body of a fetch response. It keeps the pieces until the caller reads them, with `text()` and similar methods or
 * as a web stream.
 *
 * @module
 */

import type { DispatchController } from '../../types/handler.ts'
import { Collector } from '../api/body-consumer.ts'
import { toSizeError } from '../call/response-limits.ts'
import { KeptPieces } from '../core/kept-pieces.ts'
import { originalSetImmediate } from '../core/original-timers.ts'
import { failAwaited, rejectAwaited } from '../errors/awaited-stack.ts'
import { isError, RequestAbortedError } from '../errors/errors.ts'
import type { ByteSupply } from './byte-source.ts'
import { ByteSource } from './byte-source.ts'
import type { Coding, DecodedSink } from './decode.ts'
import { BodyDecoder } from './decode.ts'

/** How many decoded bytes are accepted from the peer while the body isn't read. */
const HIGH_WATER_MARK = 65_536

/** Is told, once, that a body is finished. */
export interface BodyOwner {
  onBodyDone(): void
}

/** `failed`: for any reason, including an abort by the caller. `cancelled`: the reader gave up the rest. */
type State = 'receiving' | 'complete' | 'failed' | 'cancelled'

/** Resets the streams of bodies whose owner was garbage-collected, so that their flow-control credit is returned. */
const forgotten = new FinalizationRegistry((body: ResponseBody) => body.forget())

/**
 * Responses and streams from this turn of the event loop, each followed by its body. Most bodies were read, or have
 * arrived, by the end of the turn.
 */
let young: object[] = []

/**
 * Watches those whose bodies aren't finished at the end of the turn. Watching every response would take half as long
 * as everything else in a small fetch except its request, and watched objects survive the next scavenges.
 */
function watchYoung(): void {
  const pairs = young
  young = []
  for (let i = 0; i < pairs.length; i += 2) (pairs[i + 1] as ResponseBody).watch(pairs[i] as object)
}

/**
 * The body has no reference to its Response or its web stream. Both may be garbage-collected, and then the call ends,
 * even if more of the body would arrive.
 */
export class ResponseBody implements DecodedSink, ByteSupply {
  /** Null for a body created from bytes. */
  readonly #controller: DispatchController | null
  /** Null once the owner was told. */
  #owner: BodyOwner | null
  #state: State = 'receiving'
  /** Why it failed. */
  #error: unknown = null
  /** Pieces that the reader, or the collector, hasn't read yet. */
  readonly #kept: KeptPieces
  /** Null if the bytes are passed on as they arrive. */
  #decoder: BodyDecoder | null = null
  /** Null unless text() or a similar method waits for the end. */
  #collector: Collector<unknown, unknown> | null = null
  /** Null until the body is needed as a stream. */
  #source: ByteSource | null = null

  /** Whether `forgotten` watches the Response or the stream. */
  #isWatched = false
  /** In bytes; -1: no limit. */
  readonly #maxSize: number
  /** How many decoded bytes were passed on. */
  #decoded = 0

  /**
   * @param maxSize how many decoded bytes the body may have; -1: no limit
   * @param expected its announced size, decoded; -1 if unknown
   */
  constructor(
    controller: DispatchController | null,
    owner: BodyOwner | null,
    maxSize: number,
    expected = -1,
  ) {
    this.#kept = new KeptPieces(expected)
    this.#controller = controller
    this.#owner = owner
    this.#maxSize = maxSize
  }

  /** A body that has already arrived, and that Dodici has read. */
  static of(bytes: Buffer, owner: BodyOwner): ResponseBody {
    const body = new ResponseBody(null, owner, -1)
    body.onDecoded(bytes)
    body.finish()
    return body
  }

  /** The data that arrives has to be decoded. */
  decode(codings: readonly Coding[]): void {
    this.#decoder = new BodyDecoder(codings, this)
  }

  /** If `holder` is garbage-collected before the body was read, the body is given up. */
  belongTo(holder: object): void {
    if (young.length === 0) originalSetImmediate(watchYoung)
    young.push(holder, this)
  }

  /** The same as {@link belongTo}, but watches at once, unless the body is finished. */
  watch(holder: object): void {
    if (this.#owner === null || this.#collector !== null || this.#isWatched) return
    // Once there is a stream, its Response may go.
    if (this.#source !== null && !(holder instanceof ReadableStream)) return
    this.#isWatched = true
    forgotten.register(holder, this, this)
  }

  #unwatch(): void {
    if (!this.#isWatched) return
    this.#isWatched = false
    forgotten.unregister(this)
  }

  /** A piece has arrived, as it was sent. */
  receive(chunk: Buffer): void {
    if (this.#state !== 'receiving') return
    const takesMore = this.#decoder === null ? this.onDecoded(chunk) : this.#decoder.write(chunk)
    if (!takesMore) this.#controller?.pause()
  }

  /** The whole body has arrived. */
  finish(): void {
    if (this.#state !== 'receiving') return
    if (this.#decoder === null) this.onDecodedEnd()
    else this.#decoder.end()
  }

  /** The body will never be complete, or must not be read any more. @param error the error for readers */
  fail(error: unknown): void {
    if (this.#state === 'cancelled' || this.#state === 'failed') return
    // A body that was read to its end can't fail any more.
    if (this.#state === 'complete' && this.#kept.size === 0) return
    this.#move('failed')
    this.#error = error
    this.#kept.clear()
    this.#decoder?.destroy()
    this.#collector?.onError(error)
    this.#collector = null
    this.#source?.fail(error)
    this.#tellDone()
  }

  onDecoded(chunk: Buffer): boolean {
    if (this.#state !== 'receiving' || chunk.length === 0) return true
    this.#decoded += chunk.length
    if (this.#maxSize !== -1 && this.#decoded > this.#maxSize) {
      const error = toSizeError(this.#maxSize)
      error.processed = 'yes'
      this.onDecodeError(error)
      return true
    }
    if (this.#collector !== null) {
      this.#collector.take(chunk)
      return true
    }
    this.#kept.add(chunk)
    this.#source?.onReadable()
    return this.#kept.size < HIGH_WATER_MARK
  }

  onDecodedEnd(): void {
    if (this.#state !== 'receiving') return
    this.#move('complete')
    const collector = this.#collector
    this.#collector = null
    if (collector !== null) {
      this.#tellDone()
      collector.onEnd()
      return
    }
    this.#source?.onReadable()
    if (this.#kept.size === 0) this.#tellDone()
  }

  onDecodeError(error: Error): void {
    this.fail(new TypeError('terminated', { cause: error }))
    this.#controller?.abort(error)
  }

  onDecoderDrain(): void {
    this.#controller?.resume()
  }

  /** Whether no more pieces will arrive. Some may still wait to be read. */
  get isComplete(): boolean {
    return this.#state === 'complete' && this.#kept.size === 0
  }

  /** Why it failed; undefined if it hasn't. */
  get failure(): { readonly error: unknown } | undefined {
    return this.#state === 'failed' ? { error: this.#error } : undefined
  }

  /** The whole body, converted. Call it once, and only if the body has no stream. */
  read<T, TOwner>(convert: (kept: KeptPieces, owner: TOwner) => T, owner: TOwner): Promise<T | Awaited<T>> {
    if (this.#state === 'failed')
      return new Promise((resolve, reject) => rejectAwaited(resolve, reject, this.#error))
    if (this.#state !== 'receiving') return this.#convert(convert, owner)
    return new Promise((resolve, reject) => {
      // The promise resolves with the result of `convert`.
      this.#collector = new Collector(this.#kept, convert, owner, resolve, reject) as Collector<
        unknown,
        unknown
      >
      this.more()
    })
  }

  /** For a complete body: creates neither closures nor a Collector. */
  #convert<T, TOwner>(convert: (kept: KeptPieces, owner: TOwner) => T, owner: TOwner): Promise<Awaited<T>> {
    this.#tellDone()
    try {
      return Promise.resolve(convert(this.#kept, owner))
    } catch (thrown) {
      return failAwaited(thrown)
    }
  }

  /** A piece for the stream, of at most `limit` bytes; null if there is none at the moment. */
  take(limit: number): Buffer | null {
    const piece = this.#kept.shift(limit)
    if (piece !== null && this.isComplete) this.#tellDone()
    return piece
  }

  /** Asks for more, which may arrive during this call: handle the pieces that have arrived first. */
  more(): void {
    if (this.#state !== 'receiving') return
    // A collector takes any number of bytes.
    if (this.#collector === null && this.#kept.size >= HIGH_WATER_MARK) return
    // A full decoder reports itself when it takes more.
    if (this.#decoder !== null) this.#decoder.resume()
    else this.#controller?.resume()
  }

  /** The body as a byte stream, created once. From then on, the stream is watched instead of the Response. */
  toStream(): ReadableStream<Uint8Array> {
    const source = new ByteSource(this)
    this.#source = source
    const stream = source.open()
    this.#unwatch()
    this.belongTo(stream)
    return stream
  }

  /** The stream's reader has cancelled. */
  cancel(reason: unknown): void {
    if (this.#state === 'failed' || this.#state === 'cancelled') return
    const wasReceiving = this.#state === 'receiving'
    this.#move('cancelled')
    this.#kept.clear()
    this.#decoder?.destroy()
    this.#tellDone()
    if (wasReceiving) this.#controller?.abort(toCancelError(reason))
  }

  /** The Response or the stream was garbage-collected: the body can no longer be read. */
  forget(): void {
    if (this.#collector === null)
      this.cancel(new Error('The Response was garbage-collected before its body was read'))
  }

  #tellDone(): void {
    this.#unwatch()
    const owner = this.#owner
    this.#owner = null
    owner?.onBodyDone()
  }

  #move(state: State): void {
    this.#state = state
  }
}

/** An Error for a dispatcher, and for the source of the request body: the reader may cancel with any value. */
function toCancelError(reason: unknown): Error {
  if (isError(reason)) return reason
  const message = 'The body was cancelled'
  return new RequestAbortedError(message, reason === undefined ? undefined : { cause: reason })
}
