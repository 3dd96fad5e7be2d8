/**
 * Decodes the content codings of a response's body (RFC 9110 §8.4): a small body in one step, others while they come.
 *
 * @module
 */

import type * as zlib from 'node:zlib'
import { loadZlib } from '../core/builtin.ts'
import { KeptPieces } from '../core/kept-pieces.ts'
import { originalSetImmediate } from '../core/original-timers.ts'
import { HeadersCountError, toError } from '../errors/errors.ts'

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
  /** Bad data, with node:zlib's error. Nothing follows. */
  onDecodeError(error: Error): void
  /** The decoder takes encoded bytes again, after `write()` has returned false. */
  onDecoderDrain(): void
}

/**
 * How many codings one body may have, as in Node's fetch: each multiplies the size that a server can make of a byte.
 */
export const MAX_CODINGS = 5

/** Node 22.15 and newer have it. */
function hasZstd(): boolean {
  return 'createZstdDecompress' in loadZlib()
}

/** The codings that can be decoded, as the value of an `accept-encoding`. */
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
 * The codings of a `content-encoding`, several fields joined by commas, in the order in which they must be decoded.
 * Null: the body is passed on as it is. Either it has no coding, or one of its codings is unknown here.
 *
 * @throws HeadersCountError when there are more than `MAX_CODINGS`.
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

/** While it is paused, a decoder of node:zlib goes on until its buffer is full: here with one piece, of 16 KiB. */
const UNBUFFERED = { readableHighWaterMark: 1 }

/** As in curl and Node's fetch: each piece is decoded at once, and a truncated body is no error. */
function toZlibOptions({ constants }: typeof zlib): zlib.ZlibOptions {
  return { flush: constants.Z_SYNC_FLUSH, finishFlush: constants.Z_SYNC_FLUSH, ...UNBUFFERED }
}

/** As {@link toZlibOptions}. */
function toBrotliOptions({ constants }: typeof zlib): zlib.BrotliOptions {
  const { BROTLI_OPERATION_FLUSH: flush } = constants
  return { flush, finishFlush: flush, ...UNBUFFERED }
}

/** RFC 9659 §3: no window of more than 8 MiB. */
const MAX_ZSTD_WINDOW_LOG = 23

/** Some servers leave out the zlib format's header (RFC 9110 §8.4.1.2), whose lower half says 8 for the method. */
function isDeflateRaw(firstByte: number | undefined): boolean {
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
class Layer implements DecodedSink {
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

/** How many encoded bytes are taken ahead. */
const CAPACITY = 65_536

/**
 * Decodes one body, with back-pressure in both directions. Its memory is bounded, whatever the size of the decoded
 * body: while its sink takes nothing, each layer has decoded 32 KiB at most that the next one hasn't taken. In addition
 * it holds the window of its coding: 32 KiB for gzip and deflate, up to 16 MiB for brotli, up to 8 MiB for Zstandard.
 */
export class Decoder {
  readonly #sink: DecodedSink
  /** In the order in which they decode. */
  readonly #layers: readonly Layer[]
  /** write() has returned false. */
  #owesDrain = false
  /** Three flags: the coded data has ended; the encoded body has ended; the sink hears nothing more. */
  #isDecoded = false
  #isComplete = false
  #isOver = false

  /** @param codings as `toCodings()` gives them */
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

  /** Encoded bytes, which may not be changed afterwards. False: pause the response until `onDecoderDrain()`. */
  write(chunk: Buffer): boolean {
    const [layer] = this.#layers
    if (this.#isOver || layer === undefined) return true
    const isTaken = layer.onDecoded(chunk)
    // It may have failed just now.
    this.#owesDrain = !isTaken && !this.#isOver
    return !this.#owesDrain
  }

  /** The encoded body is complete: nothing more is written. */
  end(): void {
    if (this.#isOver || this.#isComplete) return
    this.#isComplete = true
    if (this.#isDecoded) this.#tellEnd()
    else this.#layers[0]?.onDecodedEnd()
  }

  /** The sink takes pieces again. They don't come from inside this call. */
  resume(): void {
    if (!this.#isOver) this.#layers.at(-1)?.onDecoderDrain()
  }

  /** Drops the rest: native memory is released at once, and the sink hears nothing more. Idempotent. */
  destroy(): void {
    this.#isOver = true
    this.#close()
  }

  #onDecodedEnd(): void {
    this.#isDecoded = true
    if (this.#isComplete) {
      this.#tellEnd()
    } else {
      // The rest of every layer is dropped. The sink hears of the end when the response has ended.
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

/** At most this much is decoded in one step, in all codings together: more would hold up the event loop. Bytes. */
const MAX_DECODED = 65_536

/** Null when the body is empty, too large for one step, or invalid: then a Decoder reports the error. */
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
 * The decoded size of a brotli stream, as the headers of its meta-blocks tell it; Infinity when they can't be found. A
 * decoder fills its window, of up to 16 MiB, before it gives any of it out: `maxOutputLength` comes too late.
 *
 * Only the end of an uncompressed meta-block is known. So it can be told for a stream of one compressed meta-block,
 * which is what encoders make of a small body, with uncompressed ones before it.
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

/** How many bits tell the size of the window (WBITS). */
function toWindowBits(stream: Buffer): number {
  if (toField(stream, 0, 1) === 0) return 1
  return toField(stream, 1, 3) === 0 ? 7 : 4
}

/** A number of up to 24 bits, least significant bit first. Bits behind the end are zeros. */
function toField(stream: Buffer, at: number, length: number): number {
  const first = at >>> 3
  let bits = 0
  for (let i = 3; i >= 0; i--) bits = bits * 256 + (stream[first + i] ?? 0)
  return Math.floor(bits / 2 ** (at & 7)) % 2 ** length
}

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

  /** @param codings as `toCodings()` gives them */
  constructor(codings: readonly Coding[], sink: DecodedSink) {
    this.#codings = codings
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
    const whole = decodeWhole(encoded, this.#codings)
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
