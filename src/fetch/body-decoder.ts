/**
 * Decodes the content codings of a body, when its reader asks. A small body is decoded in one step.
 *
 * @module
 */

import { KeptPieces } from '../core/kept-pieces.ts'
import { originalSetImmediate } from '../core/original-timers.ts'
import type { Coding, DecodedSink } from './coding-layer.ts'
import { Decoder } from './decode.ts'
import { decodeWhole } from './decode-whole.ts'

/** A larger body isn't decoded in one step. Encoded bytes. */
const MAX_WHOLE = 4_096

/** No more is taken from the peer while the reader hasn't asked. Encoded bytes. */
const MAX_UNREAD = 65_536

/**
 * A small response comes with its end in one turn of the event loop. node:zlib decodes it in about half the time when
 * it doesn't use a thread (`bench/micro/decode.mjs`). A body that is late, large or invalid is left to a
 * {@link Decoder}, which is made when the reader asks: the window of brotli alone may take 16 MiB, for a body of a few
 * bytes.
 */
export class BodyDecoder {
  readonly #codings: readonly Coding[]
  readonly #maxSize: number
  readonly #sink: DecodedSink
  /** What the Decoder wasn't given yet. */
  readonly #kept = new KeptPieces()
  /** Null while the pieces are kept, and when the body was decoded in one step. */
  #decoder: Decoder | null = null
  /** The reader has asked. */
  #isWanted = false
  /** The first piece came in this turn of the event loop: its end may come as well. */
  #isNew = false
  /** write() has returned false, before there was a Decoder. */
  #owesDrain = false
  /** The encoded body is complete. */
  #isComplete = false
  #isOver = false

  /** See {@link Decoder}. */
  constructor(codings: readonly Coding[], maxSize: number, sink: DecodedSink) {
    this.#codings = codings
    this.#maxSize = maxSize
    this.#sink = sink
  }

  /** Encoded bytes. False: pause the response until `onDecoderDrain()`. */
  write(chunk: Buffer): boolean {
    if (this.#isOver) return true
    if (this.#decoder !== null) return this.#decoder.write(chunk)
    if (this.#kept.size === 0 && !this.#isNew) {
      this.#isNew = true
      originalSetImmediate(endTurn, this)
    }
    this.#kept.add(chunk)
    if (this.#isWanted && this.#kept.size > MAX_WHOLE) return this.#stream()
    this.#owesDrain = this.#kept.size >= MAX_UNREAD
    return !this.#owesDrain
  }

  /** The encoded body is complete. */
  end(): void {
    if (this.#isOver) return
    this.#isComplete = true
    if (this.#decoder !== null) {
      this.#decoder.end()
      return
    }
    const whole = this.#kept.size > MAX_WHOLE ? null : this.#decodeWhole()
    if (whole !== null) {
      this.destroy()
      this.#sink.onDecoded(whole)
      this.#sink.onDecodedEnd()
    } else if (this.#isWanted || this.#kept.size === 0) {
      this.#stream()
    }
  }

  /** The reader asks. */
  resume(): void {
    if (this.#decoder !== null) {
      this.#decoder.resume()
      return
    }
    this.#isWanted = true
    const { size } = this.#kept
    if (size > MAX_WHOLE || (size > 0 && (this.#isComplete || !this.#isNew))) this.#streamLate()
  }

  /** The turn is over in which the first piece came: more of the body is to come later. */
  endTurn(): void {
    this.#isNew = false
    if (this.#isWanted && this.#kept.size > 0) this.#streamLate()
  }

  /** Drops the rest of the body. */
  destroy(): void {
    this.#isOver = true
    this.#kept.clear()
    this.#decoder?.destroy()
  }

  #decodeWhole(): Buffer | null {
    const encoded = this.#kept.join()
    const whole = decodeWhole(encoded, this.#codings, this.#maxSize)
    if (whole === null) this.#kept.add(encoded)
    return whole
  }

  /** Begins in a call of the reader, or of none: the writer may be waiting. */
  #streamLate(): void {
    const owesDrain = this.#owesDrain
    // The Decoder reports itself when it takes more.
    if (this.#stream() && owesDrain) this.#sink.onDecoderDrain()
  }

  /** From now on the body is decoded piece by piece. Returns what {@link write} returns. */
  #stream(): boolean {
    if (this.#isOver || this.#decoder !== null) return true
    const decoder = new Decoder(this.#codings, this.#maxSize, this.#sink)
    this.#decoder = decoder
    let takesMore = true
    for (let piece = this.#kept.shift(); piece !== null; piece = this.#kept.shift()) {
      takesMore = decoder.write(piece)
    }
    if (this.#isComplete) decoder.end()
    return takesMore
  }
}

function endTurn(decoder: BodyDecoder): void {
  decoder.endTurn()
}
