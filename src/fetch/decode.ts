/**
 * Decodes the content codings of a response's body (RFC 9110 §8.4), while it comes.
 *
 * @module
 */

import { loadZlib } from '../core/builtin.ts'
import { HeadersCountError } from '../errors/errors.ts'
import { toLimitError } from '../options/limits.ts'
import type { Coding, DecodedSink } from './coding-layer.ts'
import { Layer } from './coding-layer.ts'

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
    const message = `The response has ${names.length} content codings, more than the ${MAX_CODINGS} that are undone`
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

/** How many encoded bytes are taken ahead. */
const CAPACITY = 65_536

/**
 * Decodes one body, with back-pressure in both directions. Its memory is bounded, whatever the size of the decoded
 * body: while its sink takes nothing, each layer has decoded 32 KiB at most that the next one hasn't taken. In addition
 * it holds the window of its coding: 32 KiB for gzip and deflate, up to 16 MiB for brotli, up to 8 MiB for Zstandard.
 */
export class Decoder {
  readonly #sink: DecodedSink
  readonly #maxSize: number
  /** In the order in which they decode. */
  readonly #layers: readonly Layer[]
  #size = 0
  /** write() has returned false. */
  #owesDrain = false
  /** Three flags: the coded data has ended; the encoded body has ended; the sink hears nothing more. */
  #isDecoded = false
  #isComplete = false
  #isOver = false

  /**
   * @param codings As `toCodings()` gives them.
   * @param maxSize How many bytes the decoded body may have; -1: any number. A larger one fails with a
   *   ResponseExceededMaxSizeError, before the piece that exceeds the limit is handed out.
   */
  constructor(codings: readonly Coding[], maxSize: number, sink: DecodedSink) {
    this.#sink = sink
    this.#maxSize = maxSize
    const ends: DecodedSink = {
      onDecoded: (chunk) => this.#onDecoded(chunk),
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

  #onDecoded(chunk: Buffer): boolean {
    this.#size += chunk.length
    const maxSize = this.#maxSize
    if (maxSize === -1 || this.#size <= maxSize) return this.#sink.onDecoded(chunk)
    const found = 'The decoded body of the response has more bytes than'
    const error = toLimitError('maxResponseSize', maxSize, found)
    error.processed = 'yes'
    this.#fail(error)
    return false
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
