/**
 * One content coding (RFC 9110 §8.4), decoded while its bytes come.
 *
 * @module
 */

import zlib from 'node:zlib'
import { toError } from '../errors.ts'

/** A content coding that can be decoded. */
export type Coding = 'gzip' | 'deflate' | 'br' | 'zstd'

/** The receiver of decoded bytes. No method may throw. */
export interface DecodedSink {
  /**
   * A decoded piece. False: further pieces are held back until `resume()`. Its bytes never change, but later pieces
   * may share its ArrayBuffer: copy the bytes to transfer them.
   */
  onDecoded(chunk: Buffer): boolean
  /** The whole body was decoded, and the encoded body is complete. May come from inside `end()`. Nothing follows. */
  onDecodedEnd(): void
  /** Bad data (the error is that of node:zlib), or more bytes than `maxSize`. Nothing follows. */
  onDecodeError(error: Error): void
  /** The decoder takes encoded bytes again, after `write()` has returned false. */
  onDecoderDrain(): void
}

const { constants } = zlib

/** As in curl and Node's fetch: each piece is decoded at once, and a truncated body is no error. */
export const ZLIB_OPTIONS: zlib.ZlibOptions = {
  flush: constants.Z_SYNC_FLUSH,
  finishFlush: constants.Z_SYNC_FLUSH,
}

/** As {@link ZLIB_OPTIONS}. */
export const BROTLI_OPTIONS: zlib.BrotliOptions = {
  flush: constants.BROTLI_OPERATION_FLUSH,
  finishFlush: constants.BROTLI_OPERATION_FLUSH,
}

/** RFC 9659 §3: no window of more than 8 MiB. */
const MAX_ZSTD_WINDOW_LOG = 23

/** Some servers leave out the zlib format's header (RFC 9110 §8.4.1.2), whose lower half says 8 for the method. */
export function isDeflateRaw(firstByte: number | undefined): boolean {
  return ((firstByte ?? 0) & 0x0f) !== 0x08
}

type Engine = ReturnType<typeof createEngine>

/** A decoder of node:zlib for a body that begins with that byte. */
function createEngine(coding: Coding, firstByte: number | undefined) {
  switch (coding) {
    case 'gzip':
      return zlib.createGunzip(ZLIB_OPTIONS)
    case 'deflate':
      return isDeflateRaw(firstByte) ? zlib.createInflateRaw(ZLIB_OPTIONS) : zlib.createInflate(ZLIB_OPTIONS)
    case 'br':
      return zlib.createBrotliDecompress(BROTLI_OPTIONS)
    case 'zstd':
      return zlib.createZstdDecompress({
        flush: constants.ZSTD_e_continue,
        finishFlush: constants.ZSTD_e_end,
        params: { [constants.ZSTD_d_windowLogMax]: MAX_ZSTD_WINDOW_LOG },
      })
  }
}

/** RFC 8878 §3.1: the first byte of a frame, or of a skippable frame. */
function opensZstdFrame(firstByte: number | undefined): boolean {
  return firstByte !== undefined && (firstByte === 0x28 || firstByte >> 4 === 0x5)
}

/** Decodes one coding. It is the output of the layer before it: it takes the bytes that that layer has decoded. */
export class Layer implements DecodedSink {
  readonly #coding: Coding
  readonly #output: DecodedSink
  /**
   * Is told when bytes are taken again: the layer before this one, or for the first layer the writer of the decoder.
   */
  input: DecodedSink
  /** Made for the first byte: an encoded body without bytes is an empty body in every coding. */
  #engine: Engine | null = null
  /** Zstandard only: pieces that the engine hasn't taken wholly, and how many bytes came before them. */
  #unacknowledged: Buffer[] = []
  #acknowledged = 0
  #isFull = false
  #isInputEnded = false
  /** The sink hears nothing more: the layer has ended, failed, or was destroyed. */
  #isOver = false

  constructor(coding: Coding, output: DecodedSink, input: DecodedSink) {
    this.#coding = coding
    this.#output = output
    this.input = input
  }

  /** False: onDecoderDrain() of the input will be called. */
  onDecoded(chunk: Buffer): boolean {
    // Bytes behind the end of the coded data are dropped.
    if (this.#isOver) return true
    if (chunk.length > 0) this.#write(chunk)
    return !this.#isFull
  }

  onDecodedEnd(): void {
    if (this.#isOver) return
    this.#isInputEnded = true
    if (this.#engine === null) this.#finish()
    else this.#engine.end()
  }

  onDecodeError(error: Error): void {
    this.#output.onDecodeError(error)
  }

  /** The layer behind this one takes bytes again. */
  onDecoderDrain(): void {
    this.#engine?.resume()
  }

  destroy(): void {
    this.#isOver = true
    this.#close()
  }

  #write(chunk: Buffer): void {
    const engine = this.#engine ?? this.#open(chunk[0])
    if (engine === null) return
    if (this.#coding !== 'zstd') {
      this.#isFull = !engine.write(chunk)
      return
    }
    this.#unacknowledged.push(chunk)
    this.#isFull = !engine.write(chunk, () => {
      if (engine !== this.#engine) return
      this.#acknowledged += chunk.length
      this.#unacknowledged.shift()
    })
  }

  #open(firstByte: number | undefined): Engine | null {
    let engine: Engine
    try {
      engine = createEngine(this.#coding, firstByte)
    } catch (thrown) {
      this.#output.onDecodeError(toError(thrown))
      return null
    }
    this.#engine = engine
    this.#unacknowledged = []
    this.#acknowledged = 0
    engine.on('data', (chunk: Buffer) => {
      if (engine === this.#engine && !this.#output.onDecoded(chunk)) engine.pause()
    })
    engine.on('drain', () => {
      if (engine === this.#engine) this.#drain()
    })
    engine.on('end', () => {
      if (engine === this.#engine) this.#onEngineEnd(engine)
    })
    // The listener stays: a destroyed engine may still fail.
    engine.on('error', (error: Error) => {
      if (engine === this.#engine) this.#output.onDecodeError(error)
    })
    return engine
  }

  /** The input has ended, or the coded data has. Bytes behind the coded data aren't acknowledged by the engine. */
  #onEngineEnd(engine: Engine): void {
    // RFC 8878 §3: a frame may follow another. Node before 26 drops a frame that comes in one piece with the end of
    // one.
    const rest = Buffer.concat(this.#unacknowledged).subarray(engine.bytesWritten - this.#acknowledged)
    this.#close()
    if (this.#coding !== 'zstd' || !opensZstdFrame(rest[0])) {
      this.#finish()
      return
    }
    const wasFull = this.#isFull
    this.#write(rest)
    if (this.#isInputEnded) this.#engine?.end()
    if (wasFull && !this.#isFull) this.#drain()
  }

  /** A writer that waits for a drain gets it from the decoder, once this layer's end has reached the last layer. */
  #finish(): void {
    this.#isOver = true
    this.#output.onDecodedEnd()
  }

  #drain(): void {
    this.#isFull = false
    this.input.onDecoderDrain()
  }

  #close(): void {
    const engine = this.#engine
    this.#engine = null
    // node:zlib itself waits for a write that is under way in its thread.
    engine?.destroy()
  }
}
