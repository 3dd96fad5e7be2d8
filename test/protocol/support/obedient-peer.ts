/** A server that sends as much as it may, and not one byte more, on a connection with a delay. */

import { expect } from 'vitest'
import type { Frame } from '../../../src/testing/frames.ts'
import { Flag, frames, Setting, Type, toSettings } from '../../../src/testing/frames.ts'
import type { Random } from '../hpack/support.ts'
import type { HeardStream, Rig } from './rig.ts'

const DEFAULT_WINDOW = 65_535

/**
 * Keeps the windows of RFC 9113 §6.9 as a sender does. What the client sends is taken later, in its order; so is what
 * the peer sends.
 */
export class ObedientPeer {
  /** What it may send on the whole connection, and on each stream that is open. */
  window = DEFAULT_WINDOW
  readonly windows = new Map<number, number>()
  /** SETTINGS_INITIAL_WINDOW_SIZE, as it has heard of it. */
  initialWindow = DEFAULT_WINDOW
  readonly #rig: Rig
  readonly #random: Random
  /** On its way to the peer, and to the client. */
  readonly #up: Frame[] = []
  readonly #down: Buffer[] = []

  constructor(rig: Rig, random: Random) {
    this.#rig = rig
    this.#random = random
    this.#down.push(frames.settings())
  }

  /** Takes some of the frames that the client has sent; by default all of them. */
  hear(count = Number.POSITIVE_INFINITY): void {
    this.#up.push(...this.#rig.take())
    for (let left = count; left > 0; left--) {
      const frame = this.#up.shift()
      if (frame === undefined) return
      this.#take(frame)
    }
  }

  /** Sends up to so many bytes of a stream. */
  send(streamId: number, most: number, isLast = false): void {
    const size = Math.max(0, Math.min(most, this.window, this.windows.get(streamId) ?? 0))
    // Padding counts, too (RFC 9113 §6.1).
    const padding = this.#random.below(4) === 0 ? Math.min(size - 1, this.#random.below(256)) : -1
    const content = Buffer.alloc(padding < 0 ? size : size - 1 - padding)
    const payload =
      padding < 0 ? content : Buffer.concat([Buffer.of(padding), content, Buffer.alloc(padding)])
    const flags = (padding < 0 ? 0 : Flag.PADDED) | (isLast ? Flag.END_STREAM : 0)
    this.#down.push(frames.frame(Type.DATA, flags, streamId, payload))
    this.window -= payload.length
    this.windows.set(streamId, (this.windows.get(streamId) ?? 0) - payload.length)
    if (isLast) this.windows.delete(streamId)
  }

  /** Lets some of what it has sent arrive; by default all of it. */
  deliver(count = Number.POSITIVE_INFINITY): void {
    this.#rig.receive(Buffer.concat(this.#down.splice(0, Math.min(count, this.#down.length))))
  }

  /** Until nothing is on its way any more. */
  settle(): void {
    for (let quiet = 0; quiet < 2; quiet++) {
      this.hear()
      if (this.#down.length > 0) quiet = 0
      this.deliver()
    }
  }

  #take({ type, flags, streamId, payload }: Frame): void {
    if (type === Type.SETTINGS && (flags & Flag.ACK) === 0) {
      this.#resize({ type, flags, streamId, payload })
      this.#down.push(frames.settingsAck())
    } else if (type === Type.PING && (flags & Flag.ACK) === 0) {
      this.#down.push(frames.ping(payload, Flag.ACK))
    } else if (type === Type.HEADERS) {
      this.windows.set(streamId, this.initialWindow)
      this.#down.push(frames.response(streamId))
    } else if (type === Type.RST_STREAM) {
      this.windows.delete(streamId)
    } else if (type === Type.WINDOW_UPDATE) {
      this.#grant(streamId, payload.readUInt32BE(0))
    }
  }

  #grant(streamId: number, increment: number): void {
    // RFC 9113 §6.9: 0 would be an error.
    expect(increment).toBeGreaterThan(0)
    if (streamId === 0) this.window += increment
    const window = this.windows.get(streamId)
    if (window !== undefined) this.windows.set(streamId, window + increment)
  }

  #resize(frame: Frame): void {
    const size = toSettings(frame).findLast(([id]) => id === Setting.INITIAL_WINDOW_SIZE)?.[1]
    if (size === undefined) return
    for (const [id, window] of this.windows) this.windows.set(id, window + size - this.initialWindow)
    this.initialWindow = size
  }
}

/** Reads all that lies unread of these streams. */
export function readAll(rig: Rig, streams: Iterable<HeardStream>): void {
  for (const stream of streams) if (stream.held > 0) rig.http2.flow.release(stream, stream.held)
}
