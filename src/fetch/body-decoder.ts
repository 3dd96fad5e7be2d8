/**
 * The codings of a body, undone at once where it is small.
 *
 * @module
 */

import zlib from 'node:zlib'
import { joinChunks } from '../core/body-bytes.ts'
import { originalSetImmediate } from '../core/original-timers.ts'
import type { Coding, DecodedSink } from './coding-layer.ts'
import { BROTLI_OPTIONS, isDeflateRaw, ZLIB_OPTIONS } from './coding-layer.ts'
import { Decoder } from './decode.ts'

/** What is held for the end of its body at most. Bytes, as they come. */
const MAX_HELD = 4_096

/** What may come of it before others have to wait too long for their turn. Bytes. */
const MAX_WHOLE = 65_536

/**
 * A small response comes with its end in one turn of the event loop, and node:zlib undoes it in about half the
 * time where it needs no thread (`bench/micro/decode.mjs`). Whatever takes longer, or is larger, or goes wrong, is
 * left to a {@link Decoder}.
 */
export class BodyDecoder {
  readonly #codings: readonly Coding[]
  readonly #maxSize: number
  readonly #sink: DecodedSink
  #held: Buffer[] = []
  #heldSize = 0
  /** Null while what has come is held, and when nothing was left for one. */
  #decoder: Decoder | null = null
  #isOver = false

  /** See {@link Decoder}. */
  constructor(codings: readonly Coding[], maxSize: number, sink: DecodedSink) {
    this.#codings = codings
    this.#maxSize = maxSize
    this.#sink = sink
  }

  /** Encoded bytes. False: pause the response until `onDecoderDrain()`. */
  write(chunk: Buffer): boolean {
    if (this.#decoder !== null) return this.#decoder.write(chunk)
    if (this.#held.length === 0) originalSetImmediate(streamHeld, this)
    this.#held.push(chunk)
    this.#heldSize += chunk.length
    return this.#heldSize <= MAX_HELD || this.stream()
  }

  /** The encoded body is complete. */
  end(): void {
    if (this.#isOver) return
    if (this.#decoder === null) {
      const limit = this.#maxSize === -1 ? MAX_WHOLE : Math.min(MAX_WHOLE, this.#maxSize)
      const whole = decodeWhole(joinChunks(this.#held), this.#codings, limit)
      if (whole !== null) {
        this.destroy()
        this.#sink.onDecoded(whole)
        this.#sink.onDecodedEnd()
        return
      }
      this.stream()
    }
    this.#decoder?.end()
  }

  /** What was held isn't all: from now on the body is decoded as it comes. As {@link write}. */
  stream(): boolean {
    if (this.#isOver || this.#decoder !== null) return true
    const decoder = new Decoder(this.#codings, this.#maxSize, this.#sink)
    this.#decoder = decoder
    const held = this.#held
    this.#held = []
    let takesMore = true
    for (const chunk of held) takesMore = decoder.write(chunk)
    return takesMore
  }

  /** The sink takes pieces again. */
  resume(): void {
    this.#decoder?.resume()
  }

  /** Nobody wants the rest. */
  destroy(): void {
    this.#isOver = true
    this.#held = []
    this.#decoder?.destroy()
  }
}

function streamHeld(decoder: BodyDecoder): void {
  decoder.stream()
}

/** Null where it is too large, or where a Decoder has to say what is wrong with it. */
function decodeWhole(encoded: Buffer, codings: readonly Coding[], limit: number): Buffer | null {
  if (encoded.length === 0) return null
  try {
    let bytes = encoded
    for (const coding of codings) {
      const decoded = undo(bytes, coding, limit)
      if (decoded === null) return null
      bytes = decoded
    }
    return bytes
  } catch {
    return null
  }
}

function undo(bytes: Buffer, coding: Coding, maxOutputLength: number): Buffer | null {
  const options = { ...ZLIB_OPTIONS, maxOutputLength }
  switch (coding) {
    case 'gzip':
      return zlib.gunzipSync(bytes, options)
    case 'deflate':
      return isDeflateRaw(bytes[0]) ? zlib.inflateRawSync(bytes, options) : zlib.inflateSync(bytes, options)
    case 'br':
      return zlib.brotliDecompressSync(bytes, { ...BROTLI_OPTIONS, maxOutputLength })
    case 'zstd':
      // Node 22 and 24 lose frames that follow another: a Decoder knows.
      return null
  }
}
