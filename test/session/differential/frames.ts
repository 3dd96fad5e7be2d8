/** Frames of a plan → what goes over the wire. */

import { Flag, frames as frameBytes, Type } from '../../../src/testing/frames.ts'
import { encodeFields } from '../../../src/testing/hpack.ts'
import type { PeerFrame } from './plan.ts'

function toPadded(frame: PeerFrame & { padding: number | null }, content: Buffer): Buffer {
  if (frame.padding === null) return content
  return Buffer.concat([Buffer.from([frame.padding]), content, Buffer.alloc(frame.padding)])
}

function toHeaderBytes(frame: PeerFrame & { type: 'header' }, streamId: number): Buffer[] {
  const block = encodeFields(frame.fields)
  const size = Math.ceil(block.length / frame.parts)
  const padded = frame.padding === null ? 0 : Flag.PADDED
  const pieces: Buffer[] = []
  for (let at = 0; at < block.length || pieces.length === 0; at += size) {
    const part = block.subarray(at, at + size)
    const isLast = at + size >= block.length
    const isFirst = pieces.length === 0
    const flags =
      (isLast ? Flag.END_HEADERS : 0) | (isFirst ? padded | (frame.isEnd ? Flag.END_STREAM : 0) : 0)
    const payload = isFirst ? toPadded(frame, part) : part
    pieces.push(frameBytes.frame(isFirst ? Type.HEADERS : Type.CONTINUATION, flags, streamId, payload))
    if (isLast) break
  }
  return pieces
}

/** Its octets on a stream: a header may be several frames. */
export function toFrameBytes(frame: PeerFrame, streamId: number): Buffer[] {
  if (frame.type === 'header') return toHeaderBytes(frame, streamId)
  if (frame.type === 'reset') return [frameBytes.reset(streamId, frame.code)]
  const flags = (frame.isEnd ? Flag.END_STREAM : 0) | (frame.padding === null ? 0 : Flag.PADDED)
  return [frameBytes.frame(Type.DATA, flags, streamId, toPadded(frame, frame.bytes))]
}
