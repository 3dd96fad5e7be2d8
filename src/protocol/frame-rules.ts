/**
 * The rules for a server's frames that can be checked from the frame header alone.
 *
 * @module
 */

import { Flag, FrameType, PRIORITY_SIZE } from './frames.ts'
import { badSize, protocolError } from './protocol-error.ts'

/** The largest ORIGIN frame that is read, in bytes; larger ones are ignored. */
export const MAX_ORIGIN_FRAME = 65_536

/** RFC 8336 §2.2: a frame with one of these flags means something else, and is ignored. */
const UNDEFINED_ORIGIN_FLAGS = 0x0f

/** Whether a frame's payload is read; the other frames are ignored (RFC 9113 §4.1, §5.5). */
export function isRead(type: number, flags: number, streamId: number, length: number): boolean {
  if (type <= FrameType.CONTINUATION) return true
  if (type !== FrameType.ORIGIN) return false
  return streamId === 0 && (flags & UNDEFINED_ORIGIN_FLAGS) === 0 && length <= MAX_ORIGIN_FRAME
}

/**
 * Checks a frame by its header, before its payload takes any memory.
 *
 * @param length the payload's size in bytes
 * @throws ConnectionFault
 */
export function checkFrame(type: number, flags: number, streamId: number, length: number): void {
  switch (type) {
    case FrameType.DATA:
      if (streamId === 0) protocolError('DATA arrived on stream 0 (RFC 9113 §6.1)')
      if (length === 0 && (flags & Flag.PADDED) !== 0) badSize('A padded DATA frame is empty (RFC 9113 §6.1)')
      break
    case FrameType.HEADERS:
      if (streamId === 0) protocolError('HEADERS arrived on stream 0 (RFC 9113 §6.2)')
      if (length < toPrefixSize(flags)) badSize('HEADERS is shorter than its own fields (RFC 9113 §6.2)')
      break
    case FrameType.PRIORITY:
      // A size other than 5 is a stream error, which the listener handles.
      if (streamId === 0) protocolError('PRIORITY arrived on stream 0 (RFC 9113 §6.3)')
      break
    case FrameType.RST_STREAM:
      if (streamId === 0) protocolError('RST_STREAM arrived on stream 0 (RFC 9113 §6.4)')
      if (length !== 4) badSize(`RST_STREAM has ${length} bytes instead of 4 (RFC 9113 §6.4)`)
      break
    case FrameType.PUSH_PROMISE:
      protocolError('PUSH_PROMISE arrived, although SETTINGS_ENABLE_PUSH is 0 (RFC 9113 §6.6)')
      break
    case FrameType.WINDOW_UPDATE:
      if (length !== 4) badSize(`WINDOW_UPDATE has ${length} bytes instead of 4 (RFC 9113 §6.9)`)
      break
    default:
      checkConnectionFrame(type, flags, streamId, length)
  }
}

/** Checks the connection's own frames. Unknown types have no rules. */
function checkConnectionFrame(type: number, flags: number, streamId: number, length: number): void {
  switch (type) {
    case FrameType.SETTINGS:
      if (streamId !== 0) protocolError('SETTINGS arrived on a stream (RFC 9113 §6.5)')
      if (length % 6 !== 0)
        badSize(`SETTINGS has ${length} bytes, which is not a multiple of 6 (RFC 9113 §6.5)`)
      if ((flags & Flag.ACK) !== 0 && length > 0) badSize('A SETTINGS ACK has a payload (RFC 9113 §6.5)')
      break
    case FrameType.PING:
      if (streamId !== 0) protocolError('PING arrived on a stream (RFC 9113 §6.7)')
      if (length !== 8) badSize(`PING has ${length} bytes instead of 8 (RFC 9113 §6.7)`)
      break
    case FrameType.GOAWAY:
      if (streamId !== 0) protocolError('GOAWAY arrived on a stream (RFC 9113 §6.8)')
      if (length < 8) badSize(`GOAWAY has ${length} bytes, fewer than 8 (RFC 9113 §6.8)`)
  }
}

/** The size, in bytes, of the fields before the field block fragment in HEADERS, by its flags. */
function toPrefixSize(flags: number): number {
  return ((flags & Flag.PADDED) === 0 ? 0 : 1) + ((flags & Flag.PRIORITY) === 0 ? 0 : PRIORITY_SIZE)
}
