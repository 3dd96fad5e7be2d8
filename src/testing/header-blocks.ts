/**
 * Header blocks that no honest encoder writes (RFC 7541), and the frames that carry them.
 *
 * @module
 */

import { Flag, frames, Type } from './frames.ts'

const FRAME_SIZE = 16_384

/** A whole header block, in as many frames as it takes. The flags apply to the first one. */
export function toBlock(streamId: number, block: Buffer, flags = 0): Buffer {
  const pieces: Buffer[] = []
  for (let at = 0; at < block.length || at === 0; at += FRAME_SIZE) {
    const end = at + FRAME_SIZE >= block.length ? Flag.END_HEADERS : 0
    const type = at === 0 ? Type.HEADERS : Type.CONTINUATION
    const piece = block.subarray(at, at + FRAME_SIZE)
    pieces.push(frames.frame(type, end | (at === 0 ? flags : 0), streamId, piece))
  }
  return Buffer.concat(pieces)
}

/** A literal without Huffman coding; `pattern` is 0x40 for one that goes into the table, 0 for one that doesn't. */
export function toLiteral(pattern: number, name: string, value: string): Buffer {
  return Buffer.concat([Buffer.of(pattern), toText(name), toText(value)])
}

/** A string literal (RFC 7541 §5.2) without Huffman coding. */
export function toText(text: string): Buffer {
  return Buffer.concat([toLength(text.length), Buffer.from(text, 'latin1')])
}

/** RFC 7541 §5.1, with a prefix of seven bits. */
export function toLength(value: number): Buffer {
  if (value < 127) return Buffer.of(value)
  const octets = [127]
  let rest = value - 127
  for (; rest >= 128; rest >>>= 7) octets.push(0x80 | (rest & 0x7f))
  return Buffer.of(...octets, rest)
}
