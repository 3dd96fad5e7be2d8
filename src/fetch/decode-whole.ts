/**
 * Decodes a small body in one step.
 *
 * @module
 */

import { loadZlib } from '../core/builtin.ts'
import type { Coding } from './coding-layer.ts'
import { isDeflateRaw, toBrotliOptions, toZlibOptions } from './coding-layer.ts'

/** At most this much is decoded in one step, in all codings together: more would hold up the event loop. Bytes. */
const MAX_DECODED = 65_536

/**
 * Null when the body is empty, too large for one step, or invalid: then a Decoder reports the error.
 * @param maxSize how large the decoded body may be; -1: any size
 */
export function decodeWhole(encoded: Buffer, codings: readonly Coding[], maxSize: number): Buffer | null {
  if (encoded.length === 0) return null
  let left = maxSize === -1 ? MAX_DECODED : Math.min(MAX_DECODED, maxSize)
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
