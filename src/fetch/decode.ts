/**
 * Decodes the content codings of a response body (RFC 9110 §8.4): a small body in one step, others as they arrive.
 *
 * @module
 */

import type * as zlib from 'node:zlib'
import { loadZlib } from '../core/builtin.ts'
import { KeptPieces } from '../core/kept-pieces.ts'
import { originalSetImmediate } from '../core/original-timers.ts'
import { HeadersCountError, toError } from '../errors/errors.ts'

/** A content coding that Dodici can decode. */
export type Coding = 'gzip' | 'deflate' | 'br' | 'zstd'

/** Receives decoded bytes. No method may throw. */
export interface DecodedSink {
  /**
   * A decoded piece. Return false to hold back further pieces until `resume()`. Its bytes never change, but later
   * pieces may share its ArrayBuffer: copy the bytes to transfer them.
   */
  onDecoded(chunk: Buffer): boolean
  /** The whole body was decoded, and the encoded body is complete. May be called during `end()`. Nothing follows. */
  onDecodedEnd(): void
  /** The data is invalid; the error is node:zlib's. Nothing follows. */
  onDecodeError(error: Error): void
  /** The decoder accepts encoded bytes again after `write()` has returned false. */
  onDecoderDrain(): void
}

/**
 * How many codings a body may have, as in Node's fetch: each multiplies the size that a server can make of one byte.
 */
export const MAX_CODINGS = 5

/** Node 22.15 and later have it. */
function hasZstd(): boolean {
  return 'createZstdDecompress' in loadZlib()
}

/** The supported codings, as the value of an `accept-encoding`. */
export function toSupportedCodings(): string {
  return hasZstd() ? 'gzip, deflate, br, zstd' : 'gzip, deflate, br'
}

const CODINGS: ReadonlyMap<string, Coding> = new Map<string, Coding>([
  ['gzip', 'gzip'],
  // RFC 9110 §8.4.1.3
  ['x-gzip', 'gzip'],
  ['deflate', 'deflate'],
  ['br', 'br'],
  ['zstd', 'zstd'],
])

/**
 * The codings in a `content-encoding`, several fields joined by commas, in the order in which to decode them. Null:
 * the body is passed on unchanged, because it has no coding, or one that is unknown here.
 *
 * @throws HeadersCountError if there are more than `MAX_CODINGS`.
 */
export function toCodings(contentEncoding: string): readonly Coding[] | null {
  const names = contentEncoding.toLowerCase().split(',')
  if (names.length > MAX_CODINGS) {
    const message = `too many content-encodings in response: ${names.length}, maximum allowed is ${MAX_CODINGS}`
    throw new HeadersCountError(message, { processed: 'yes' })
  }
  const codings: Coding[] = []
  for (const entry of names) {
    const name = entry.trim()
    // RFC 9110 §5.6.1.2: empty elements of a list are ignored.
    if (name === '' || name === 'identity') continue
    const coding = CODINGS.get(name)
    if (coding === undefined || (coding === 'zstd' && !hasZstd())) return null
    codings.unshift(coding)
  }
  return codings.length === 0 ? null : codings
}

/** While it is paused, a node:zlib decoder continues until its buffer is full: here with one piece of 16 KiB. */
const UNBUFFERED = { readableHighWaterMark: 1 }

/** As in curl and Node's fetch: each piece is decoded at once, and a truncated body isn't an error. */
function toZlibOptions({ constants }: typeof zlib): zlib.ZlibOptions {
  return { flush: constants.Z_SYNC_FLUSH, finishFlush: constants.Z_SYNC_FLUSH, ...UNBUFFERED }
}

/** The same as {@link toZlibOptions}, for brotli. */
function toBrotliOptions({ constants }: typeof zlib): zlib.BrotliOptions {
  const { BROTLI_OPERATION_FLUSH: flush } = constants
  return { flush, finishFlush: flush, ...UNBUFFERED }
}

/** RFC 9659 §3: no window of more than 8 MiB. */
const MAX_ZSTD_WINDOW_LOG = 23

/** Some servers omit the zlib header (RFC 9110 §8.4.1.2), whose low four bits are 8, the method. */
function isDeflateRaw(firstByte: number | undefined): boolean {
  return ((firstByte ?? 0) & 0x0f) !== 0x08
}

type Engine = ReturnType<typeof createEngine>

/** A node:zlib decoder for a body that begins with this byte. */
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
 * Decodes one coding. It is the output of the previous layer: it receives the bytes which that layer has decoded.
 *
 * Its engine gets one piece at a time. The others wait outside Node's streams, which would keep an object of about
 * 200 bytes for each, however small it is.
 */
class Layer implements DecodedSink {
  readonly #coding: Coding
  readonly #output: DecodedSink
  /** Is told when bytes are accepted again: the previous layer, or for the first layer the decoder's writer. */
  input: DecodedSink
  /** While it has this many bytes, it asks for no more. */
  readonly #capacity: number
  /** Created for the first byte: an encoded body without bytes is an empty body in every coding. */
  #engine: Engine | null = null
  /** Pieces that the engine hasn't received yet. */
  readonly #waiting = new KeptPieces()
  /** The piece that the engine is processing. Null: none, and no pieces wait either. */
  #current: Buffer | null = null
  /** How many bytes of the pieces before the current one the engine has consumed. */
  #taken = 0
  #isFull = false
  #isInputEnded = false
  /** Whether the sink gets nothing more: the layer has ended, failed, or was destroyed. */
  #isOver = false

  /** @param capacity how many bytes may wait before onDecoded() returns false: 1 or more */
  constructor(coding: Coding, output: DecodedSink, input: DecodedSink, capacity: number) {
    this.#coding = coding
    this.#output = output
    this.input = input
    this.#capacity = capacity
  }

  /** Returns false if onDecoderDrain() of the input will be called. */
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

  /** The next layer accepts bytes again. */
  onDecoderDrain(): void {
    this.#engine?.resume()
  }

  destroy(): void {
    this.#isOver = true
    this.#close()
  }

  /** @param piece the oldest waiting piece; null for none */
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

  /** The input or the coded data has ended. In the second case, the engine ignores the rest of its piece. */
  #onEngineEnd(engine: Engine): void {
    // RFC 8878 §3: a frame may follow another. Node before 26 drops a frame that comes in one piece with the end of
    // one.
    const rest = this.#current?.subarray(engine.bytesWritten - this.#taken)
    this.#closeEngine()
    const next = rest === undefined || rest.length === 0 ? this.#waiting.shift() : rest
    if (this.#coding === 'zstd' && opensZstdFrame(next?.[0])) this.#give(next)
    else this.#finish()
  }

  /** A writer that waits for a drain is told by the decoder once this layer's end has reached the last layer. */
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

/** How many encoded bytes it accepts in advance. */
const CAPACITY = 65_536

/**
 * Decodes one body, with back-pressure in both directions. Its memory is limited, however large the decoded body is:
 * while its sink accepts nothing, each layer holds at most 32 KiB of decoded bytes for the next one, and the window
 * of its coding: 32 KiB for gzip and deflate, up to 16 MiB for brotli, up to 8 MiB for Zstandard.
 */
export class Decoder {
  readonly #sink: DecodedSink
  /** In decoding order. */
  readonly #layers: readonly Layer[]
  /** Whether write() has returned false. */
  #owesDrain = false
  /** Three flags: the coded data has ended; the encoded body has ended; the sink gets nothing more. */
  #isDecoded = false
  #isComplete = false
  #isOver = false

  /** @param codings from `toCodings()` */
  constructor(codings: readonly Coding[], sink: DecodedSink) {
    this.#sink = sink
    const ends: DecodedSink = {
      onDecoded: (chunk) => sink.onDecoded(chunk),
      onDecodedEnd: () => this.#onDecodedEnd(),
      onDecodeError: (error) => this.#fail(error),
      onDecoderDrain: () => this.#onDrain(),
    }
    const layers: Layer[] = []
    for (const coding of codings.toReversed()) {
      // A layer asks the one before it for a piece when it has none.
      const capacity = layers.length === codings.length - 1 ? CAPACITY : 1
      const layer = new Layer(coding, layers[0] ?? ends, ends, capacity)
      if (layers[0] !== undefined) layers[0].input = layer
      layers.unshift(layer)
    }
    this.#layers = layers
  }

  /**
   * Writes encoded bytes, which must not change afterwards. Returns false to ask for a pause until
   * `onDecoderDrain()`.
   */
  write(chunk: Buffer): boolean {
    const [layer] = this.#layers
    if (this.#isOver || layer === undefined) return true
    const isTaken = layer.onDecoded(chunk)
    // It may have failed just now.
    this.#owesDrain = !isTaken && !this.#isOver
    return !this.#owesDrain
  }

  /** The encoded body is complete: no more is written. */
  end(): void {
    if (this.#isOver || this.#isComplete) return
    this.#isComplete = true
    if (this.#isDecoded) this.#tellEnd()
    else this.#layers[0]?.onDecodedEnd()
  }

  /** The sink accepts pieces again. None arrive during this call. */
  resume(): void {
    if (!this.#isOver) this.#layers.at(-1)?.onDecoderDrain()
  }

  /** Drops the rest: native memory is released at once, and the sink gets nothing more. Idempotent. */
  destroy(): void {
    this.#isOver = true
    this.#close()
  }

  #onDecodedEnd(): void {
    this.#isDecoded = true
    if (this.#isComplete) {
      this.#tellEnd()
    } else {
      // The rest of every layer is dropped. The sink is told the end when the response has ended.
      this.#close()
      this.#onDrain()
    }
  }

  #onDrain(): void {
    if (this.#isOver || !this.#owesDrain) return
    this.#owesDrain = false
    this.#sink.onDecoderDrain()
  }

  #tellEnd(): void {
    this.destroy()
    this.#sink.onDecodedEnd()
  }

  #fail(error: Error): void {
    if (this.#isOver) return
    this.destroy()
    this.#sink.onDecodeError(error)
  }

  #close(): void {
    for (const layer of this.#layers) layer.destroy()
  }
}

/** How many bytes are decoded in one step at most, in all codings together: more would block the event loop. */
const MAX_DECODED = 65_536

/**
 * Decodes a whole body in one step. Null if it is empty, too large for that, or invalid: then a Decoder reports the
 * error.
 */
export function decodeWhole(encoded: Buffer, codings: readonly Coding[]): Buffer | null {
  if (encoded.length === 0) return null
  let left = MAX_DECODED
  try {
    let bytes = encoded
    for (const coding of codings) {
      const decoded = undo(bytes, coding, left)
      if (decoded === null) return null
      bytes = decoded
      left -= decoded.length
    }
    return bytes
  } catch {
    return null
  }
}

function undo(bytes: Buffer, coding: Coding, maxOutputLength: number): Buffer | null {
  const zlib = loadZlib()
  const options = { ...toZlibOptions(zlib), maxOutputLength }
  switch (coding) {
    case 'gzip':
      return zlib.gunzipSync(bytes, options)
    case 'deflate':
      return isDeflateRaw(bytes[0]) ? zlib.inflateRawSync(bytes, options) : zlib.inflateSync(bytes, options)
    case 'br':
      if (toBrotliSize(bytes) > maxOutputLength) return null
      return zlib.brotliDecompressSync(bytes, { ...toBrotliOptions(zlib), maxOutputLength })
    case 'zstd':
      // Node 22 and 24 lose frames that follow another one. The Decoder works around that.
      return null
  }
}

/**
 * The decoded size of a brotli stream, from the headers of its meta-blocks; Infinity if they can't be found. A
 * decoder fills its window of up to 16 MiB before it returns any of it, so `maxOutputLength` takes effect too late.
 *
 * Only the end of an uncompressed meta-block is known. So this works for a stream with a single compressed
 * meta-block, which encoders create for a small body, after any uncompressed ones.
 *
 * @see RFC 7932 §9.1 and §9.2
 */
export function toBrotliSize(stream: Buffer): number {
  let at = toWindowBits(stream)
  let size = 0
  while (at < stream.length * 8) {
    const isLast = toField(stream, at, 1) === 1
    if (isLast && toField(stream, at + 1, 1) === 1) return size
    if (isLast) at++
    // MNIBBLES: 3 stands for a meta-block of metadata.
    const nibbles = toField(stream, at + 1, 2) + 4
    if (nibbles === 7) break
    const length = toField(stream, at + 3, nibbles * 4) + 1
    size += length
    if (isLast) return size
    at += 3 + nibbles * 4
    const isUncompressed = toField(stream, at, 1) === 1
    if (!isUncompressed) break
    at = (Math.ceil((at + 1) / 8) + length) * 8
  }
  return Number.POSITIVE_INFINITY
}

/** How many bits encode the window size (WBITS). */
function toWindowBits(stream: Buffer): number {
  if (toField(stream, 0, 1) === 0) return 1
  return toField(stream, 1, 3) === 0 ? 7 : 4
}

/** A number of up to 24 bits, least significant bit first. Bits after the end are zero. */
function toField(stream: Buffer, at: number, length: number): number {
  const first = at >>> 3
  let bits = 0
  for (let i = 3; i >= 0; i--) bits = bits * 256 + (stream[first + i] ?? 0)
  return Math.floor(bits / 2 ** (at & 7)) % 2 ** length
}

/** How many encoded bytes are decoded in one step at most. */
const MAX_WHOLE = 4_096

/** How many encoded bytes are accepted from the peer before the reader asks. */
const MAX_UNREAD = 65_536

/**
 * A small response arrives with its end in one turn of the event loop. node:zlib decodes it in about half the time
 * without a thread (`bench/micro/decode.mjs`). A late, large or invalid body goes to a {@link Decoder}, which is
 * created when the reader asks: brotli's window alone may take 16 MiB, even for a body of a few bytes.
 */
export class BodyDecoder {
  readonly #codings: readonly Coding[]
  readonly #sink: DecodedSink
  /** Pieces that the Decoder hasn't received yet. */
  readonly #kept = new KeptPieces()
  /** Null while the pieces are kept, and if the body was decoded in one step. */
  #decoder: Decoder | null = null
  /** Whether the reader has asked. */
  #isWanted = false
  /** Whether the first piece arrived in this turn of the event loop: the end may still arrive in it. */
  #isNew = false
  /** Whether write() has returned false before there was a Decoder. */
  #owesDrain = false
  /** Whether the encoded body is complete. */
  #isComplete = false
  #isOver = false

  /** @param codings from `toCodings()` */
  constructor(codings: readonly Coding[], sink: DecodedSink) {
    this.#codings = codings
    this.#sink = sink
  }

  /** Writes encoded bytes. Returns false to ask for a pause until `onDecoderDrain()`. */
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

  /** The reader asks for data. */
  resume(): void {
    if (this.#decoder !== null) {
      this.#decoder.resume()
      return
    }
    this.#isWanted = true
    const { size } = this.#kept
    if (size > MAX_WHOLE || (size > 0 && (this.#isComplete || !this.#isNew))) this.#streamLate()
  }

  /** The turn in which the first piece arrived is over: more of the body will arrive later. */
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
    const whole = decodeWhole(encoded, this.#codings)
    if (whole === null) this.#kept.add(encoded)
    return whole
  }

  /** Starts in the reader's call, or in a turn without one: the writer may be waiting. */
  #streamLate(): void {
    const owesDrain = this.#owesDrain
    // The Decoder reports itself when it takes more.
    if (this.#stream() && owesDrain) this.#sink.onDecoderDrain()
  }

  /** From now on, the body is decoded piece by piece. Returns the same as {@link write}. */
  #stream(): boolean {
    if (this.#isOver || this.#decoder !== null) return true
    const decoder = new Decoder(this.#codings, this.#sink)
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
