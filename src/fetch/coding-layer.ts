/**
 * One content coding (RFC 9110 §8.4), decoded while its bytes come.
 *
 * @module
 */

import type * as zlib from 'node:zlib'
import { loadZlib } from '../core/builtin.ts'
import { KeptPieces } from '../core/kept-pieces.ts'
import { toError } from '../errors/errors.ts'

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

/** While it is paused, a decoder of node:zlib goes on until its buffer is full: here with one piece, of 16 KiB. */
const UNBUFFERED = { readableHighWaterMark: 1 }

/** As in curl and Node's fetch: each piece is decoded at once, and a truncated body is no error. */
export function toZlibOptions({ constants }: typeof zlib): zlib.ZlibOptions {
  return { flush: constants.Z_SYNC_FLUSH, finishFlush: constants.Z_SYNC_FLUSH, ...UNBUFFERED }
}

/** As {@link toZlibOptions}. */
export function toBrotliOptions({ constants }: typeof zlib): zlib.BrotliOptions {
  const { BROTLI_OPERATION_FLUSH: flush } = constants
  return { flush, finishFlush: flush, ...UNBUFFERED }
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
  const zlib = loadZlib()
  const { constants } = zlib
  const options = toZlibOptions(zlib)
  switch (coding) {
    case 'gzip':
      return zlib.createGunzip(options)
    case 'deflate':
      return isDeflateRaw(firstByte) ? zlib.createInflateRaw(options) : zlib.createInflate(options)
    case 'br':
      return zlib.createBrotliDecompress(toBrotliOptions(zlib))
    case 'zstd':
      return zlib.createZstdDecompress({
        flush: constants.ZSTD_e_continue,
        finishFlush: constants.ZSTD_e_end,
        ...UNBUFFERED,
        params: { [constants.ZSTD_d_windowLogMax]: MAX_ZSTD_WINDOW_LOG },
      })
  }
}

/** RFC 8878 §3.1: the first byte of a frame, or of a skippable frame. */
function opensZstdFrame(firstByte: number | undefined): boolean {
  return firstByte !== undefined && (firstByte === 0x28 || firstByte >> 4 === 0x5)
}

/**
 * Decodes one coding. It is the output of the layer before it: it takes the bytes that that layer has decoded.
 *
 * Its engine gets one piece at a time. The others wait outside of node's streams, which would keep an object of about
 * 200 bytes for each, however small it is.
 */
export class Layer implements DecodedSink {
  readonly #coding: Coding
  readonly #output: DecodedSink
  /**
   * Is told when bytes are taken again: the layer before this one, or for the first layer the writer of the decoder.
   */
  input: DecodedSink
  /** No more bytes are asked for while so many are here. */
  readonly #capacity: number
  /** Made for the first byte: an encoded body without bytes is an empty body in every coding. */
  #engine: Engine | null = null
  /** What the engine wasn't given yet. */
  readonly #waiting = new KeptPieces()
  /** The piece that the engine works on. Null for none: then nothing waits either. */
  #current: Buffer | null = null
  /** How many bytes the engine has taken of the pieces before the current one. */
  #taken = 0
  #isFull = false
  #isInputEnded = false
  /** The sink hears nothing more: the layer has ended, failed, or was destroyed. */
  #isOver = false

  /** @param capacity how many bytes may be here before onDecoded() returns false. At least 1 */
  constructor(coding: Coding, output: DecodedSink, input: DecodedSink, capacity: number) {
    this.#coding = coding
    this.#output = output
    this.input = input
    this.#capacity = capacity
  }

  /** False: onDecoderDrain() of the input will be called. */
  onDecoded(chunk: Buffer): boolean {
    // Bytes behind the end of the coded data are dropped.
    if (this.#isOver) return true
    this.#waiting.add(chunk)
    if (this.#current === null) this.#give(this.#waiting.shift())
    const size = this.#waiting.size + (this.#current?.length ?? 0)
    if (size >= this.#capacity) this.#isFull = true
    return !this.#isFull
  }

  onDecodedEnd(): void {
    if (this.#isOver) return
    this.#isInputEnded = true
    if (this.#engine === null) this.#finish()
    else if (this.#waiting.size === 0) this.#engine.end()
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

  /** @param piece the oldest that waits; null for none */
  #give(piece: Buffer | null): void {
    if (piece === null) return
    const engine = this.#engine ?? this.#open(piece[0])
    if (engine === null) return
    this.#current = piece
    engine.write(piece, (error) => {
      if (engine === this.#engine && (error ?? null) === null) this.#onTaken(engine, piece)
    })
    if (this.#isInputEnded && this.#waiting.size === 0) engine.end()
  }

  #onTaken(engine: Engine, piece: Buffer): void {
    this.#taken += piece.length
    this.#current = null
    this.#give(this.#waiting.shift())
    if (engine !== this.#engine || this.#current !== null || this.#isInputEnded || !this.#isFull) return
    this.#isFull = false
    this.input.onDecoderDrain()
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
    this.#taken = 0
    engine.on('data', (chunk: Buffer) => {
      if (engine === this.#engine && !this.#output.onDecoded(chunk)) engine.pause()
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

  /** The input has ended, or the coded data has. Then the engine doesn't take the rest of its piece. */
  #onEngineEnd(engine: Engine): void {
    // RFC 8878 §3: a frame may follow another. Node before 26 drops a frame that comes in one piece with the end of
    // one.
    const rest = this.#current?.subarray(engine.bytesWritten - this.#taken)
    this.#closeEngine()
    const next = rest === undefined || rest.length === 0 ? this.#waiting.shift() : rest
    if (this.#coding === 'zstd' && opensZstdFrame(next?.[0])) this.#give(next)
    else this.#finish()
  }

  /** A writer that waits for a drain gets it from the decoder, once this layer's end has reached the last layer. */
  #finish(): void {
    this.destroy()
    this.#output.onDecodedEnd()
  }

  #close(): void {
    this.#waiting.clear()
    this.#closeEngine()
  }

  #closeEngine(): void {
    const engine = this.#engine
    this.#engine = null
    this.#current = null
    // node:zlib itself waits for a write that is under way in its thread.
    engine?.destroy()
  }
}
