/**
 * What a client's windows allow a server to send (RFC 9113 §5.2).
 *
 * @module
 */

import type { Frame } from './frames.ts'
import { Flag, frames, Setting, Type, toSettings } from './frames.ts'

const DEFAULT_WINDOW = 65_535
/** The frame size that any client accepts (RFC 9113 §6.5.2). */
const MAX_FRAME_SIZE = 16_384
const NO_ERROR = 0

/** A part of a response body. */
export interface Outgoing {
  readonly content: Buffer
  /** What ends the stream: END_STREAM on the last DATA frame, frames after it, or nothing yet. */
  readonly end: 'data' | Buffer | null
  /** Called before the last write. */
  onLast(): void
  /** All of it was written, or never will be. */
  onGone(): void
}

interface SendWindow {
  left: number
  readonly queue: Outgoing[]
}

/** Writes the bodies of a connection's responses, as far as the client's windows allow; the rest waits. */
export class SendWindows {
  /** Whether a body whose last octet uses up a window ends with RST_STREAM(NO_ERROR), as Node's server does it. */
  endsByReset = false
  readonly #write: (...pieces: readonly Buffer[]) => void
  readonly #streams = new Map<number, SendWindow>()
  #left = DEFAULT_WINDOW
  /** SETTINGS_INITIAL_WINDOW_SIZE. */
  #initial = DEFAULT_WINDOW

  constructor(write: (...pieces: readonly Buffer[]) => void) {
    this.#write = write
  }

  /** The client has opened a stream. */
  open(streamId: number): void {
    this.#streams.set(streamId, { left: this.#initial, queue: [] })
  }

  /** Nothing more is sent on the stream. */
  close(streamId: number): void {
    const window = this.#streams.get(streamId)
    this.#streams.delete(streamId)
    for (const outgoing of window?.queue.splice(0) ?? []) outgoing.onGone()
  }

  /** The connection has closed. */
  closeAll(): void {
    for (const streamId of [...this.#streams.keys()]) this.close(streamId)
  }

  send(streamId: number, outgoing: Outgoing): void {
    const window = this.#streams.get(streamId)
    if (window === undefined) {
      outgoing.onGone()
      return
    }
    window.queue.push(outgoing)
    if (window.queue.length === 1) this.#flush(streamId, window)
  }

  /** Applies what a frame says about the client's windows. */
  receive(frame: Frame): void {
    if (frame.type === Type.WINDOW_UPDATE) this.#grant(frame)
    else if (frame.type === Type.SETTINGS && (frame.flags & Flag.ACK) === 0) this.#resize(frame)
    else return
    for (const [streamId, window] of this.#streams) this.#flush(streamId, window)
  }

  #grant({ streamId, payload }: Frame): void {
    const increment = payload.readUInt32BE(0)
    const window = this.#streams.get(streamId)
    if (streamId === 0) this.#left += increment
    else if (window !== undefined) window.left += increment
  }

  /** RFC 9113 §6.9.2: the windows of all streams change by the difference. */
  #resize(frame: Frame): void {
    const size = toSettings(frame).findLast(([id]) => id === Setting.INITIAL_WINDOW_SIZE)?.[1]
    if (size === undefined) return
    for (const window of this.#streams.values()) window.left += size - this.#initial
    this.#initial = size
  }

  #flush(streamId: number, window: SendWindow): void {
    for (let next = window.queue[0]; next !== undefined; next = window.queue[0]) {
      const rest = this.#sendPart(streamId, window, next)
      if (rest !== null) {
        window.queue[0] = { ...next, content: rest }
        return
      }
      window.queue.shift()
      if (next.end !== null) this.close(streamId)
      next.onGone()
    }
  }

  /** @returns what doesn't fit; null if everything does */
  #sendPart(streamId: number, window: SendWindow, { content, end, onLast }: Outgoing): Buffer | null {
    const size = Math.max(0, Math.min(content.length, window.left, this.#left))
    const isLast = size === content.length
    window.left -= size
    this.#left -= size
    if (isLast) onLast()
    const endsByReset =
      this.endsByReset && end === 'data' && size > 0 && (window.left === 0 || this.#left === 0)
    const flags = isLast && end === 'data' && !endsByReset ? Flag.END_STREAM : 0
    this.#write(
      ...toDataFrames(streamId, content.subarray(0, size), flags),
      ...(isLast && endsByReset ? [frames.reset(streamId, NO_ERROR)] : []),
      ...(isLast && end instanceof Buffer ? [end] : []),
    )
    return isLast ? null : content.subarray(size)
  }
}

/** DATA frames as large as any client accepts. The flags apply to the last one. */
function toDataFrames(streamId: number, content: Buffer, flags: number): Buffer[] {
  if (content.length === 0) return flags === 0 ? [] : [frames.data(streamId, '', flags)]
  const pieces: Buffer[] = []
  for (let at = 0; at < content.length; at += MAX_FRAME_SIZE) {
    const isLast = at + MAX_FRAME_SIZE >= content.length
    pieces.push(frames.data(streamId, content.subarray(at, at + MAX_FRAME_SIZE), isLast ? flags : 0))
  }
  return pieces
}
