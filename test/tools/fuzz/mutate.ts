/** How a peer's frames go wrong at random. */

import { frames } from '../../../src/testing/frames.ts'
import type { Random } from '../../protocol/hpack/support.ts'

/** Changes a few of the pieces: each of them is a frame, with its header. */
export function mutate(given: readonly Buffer[], random: Random, changes: number): Buffer[] {
  let pieces = [...given]
  for (let count = changes; count > 0; count--) {
    const at = random.below(pieces.length)
    const piece = pieces[at] ?? Buffer.alloc(0)
    switch (random.below(6)) {
      case 0:
        pieces.splice(at, 0, toAnyFrame(random))
        break
      case 1:
        pieces.splice(at, 1)
        break
      case 2:
        pieces.splice(random.below(pieces.length), 0, piece)
        break
      case 3:
        pieces[at] = flip(piece, random)
        break
      case 4:
        pieces[at] = piece.subarray(0, random.below(piece.length + 1))
        break
      default:
        // The frame's own header stays: what it says of itself is what goes wrong.
        pieces[at] = Buffer.concat([piece.subarray(0, 9), flip(piece.subarray(9), random)])
    }
    if (pieces.length === 0) pieces = [toAnyFrame(random)]
  }
  return pieces
}

/** A frame of any type, mostly with a plausible stream and size. */
export function toAnyFrame(random: Random): Buffer {
  const size = random.pick([0, 1, 4, 5, 6, 8, 12, random.below(300), random.below(17_000)])
  const payload = Buffer.alloc(size)
  for (let at = 0; at < size; at++) payload[at] = random.below(random.pick([2, 256]))
  const streamId = random.pick([0, 0, 1, 3, 5, 7, 9, 2, 99, 2 ** 31 - 1])
  return frames.frame(random.below(13), random.pick([0, 1, 4, 5, 8, 12, 0x20, 0x2c, 0xff]), streamId, payload)
}

function flip(piece: Buffer, random: Random): Buffer {
  const copy = Buffer.from(piece)
  for (let count = 1 + random.below(3); count > 0 && copy.length > 0; count--) {
    const at = random.below(copy.length)
    copy[at] = random.below(256)
  }
  return copy
}
