/**
 * Decodes the content codings of a body. A small body is decoded in one step.
 *
 * @module
 */

import zlib from 'node:zlib'
import { joinChunks } from '../core/body-bytes.ts'
import { originalSetImmediate } from '../core/original-timers.ts'
import type { Coding, DecodedSink } from './coding-layer.ts'
import { BROTLI_OPTIONS, isDeflateRaw, ZLIB_OPTIONS } from './coding-layer.ts'
import { Decoder } from './decode.ts'

/** At most this much is held back until the body ends. Encoded bytes. */
const MAX_HELD = 4_096

/** At most this much is decoded in one step: more would hold up the event loop. Decoded bytes. */
const MAX_WHOLE = 65_536

/**
 * A small response comes with its end in one turn of the event loop. node:zlib decodes it in about half the time when
 * it doesn't use a thread (`bench/micro/decode.mjs`). A body that is late, large or invalid is left to a
 * {@link Decoder}.
 */
export class BodyDecoder {
  readonly #codings: readonly Coding[]
  readonly #maxSize: number
  readonly #sink: DecodedSink
  #held: Buffer[] = []
  #heldSize = 0
  /** Null while the pieces are held back, and when the body was decoded in one step. */
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

  /** More of the body is to come: from now on it is decoded piece by piece. Returns what {@link write} returns. */
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

  /** Drops the rest of the body. */
  destroy(): void {
    this.#isOver = true
    this.#held = []
    this.#decoder?.destroy()
  }
}

function streamHeld(decoder: BodyDecoder): void {
  decoder.stream()
}

/** Null when the body is too large for one step, or invalid: then a Decoder reports the error. */
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
      // Node 22 and 24 lose frames that follow another one. The Decoder works around that.
      return null
  }
}
