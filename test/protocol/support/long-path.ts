/** A download over a path with a delay, played in steps of a millisecond. */

import type { Frame } from '../../../src/testing/frames.ts'
import { Flag, frames, Setting, Type, toSettings } from '../../../src/testing/frames.ts'
import type { Rig } from './rig.ts'

const DEFAULT_WINDOW = 65_535
const FRAME_SIZE = 16_384

/** What a path is like. */
export interface PathOptions {
  /** Milliseconds. */
  readonly roundTrip: number
  /** Bytes for each millisecond that the path, or the server, is good for. */
  readonly rate: number
}

/**
 * A server that sends an endless response as fast as the windows and the path let it. The ACKs of PINGs go ahead of
 * data.
 */
export class LongPath {
  /** Bytes that it has sent. */
  sent = 0
  /** What it was told, and has not used. */
  connectionWindow = DEFAULT_WINDOW
  streamWindow = 0
  initialWindow = DEFAULT_WINDOW
  readonly #rig: Rig
  readonly #options: PathOptions
  readonly #up: { readonly at: number; readonly frame: Frame }[] = []
  readonly #down: { readonly at: number; readonly bytes: Buffer }[] = []

  constructor(rig: Rig, options: PathOptions) {
    this.#rig = rig
    this.#options = options
    this.#post(frames.settings())
    rig.open()
  }

  /** Lets so many milliseconds pass. */
  run(milliseconds: number): void {
    for (let left = milliseconds; left > 0; left--) {
      const now = ++this.#rig.time
      for (const frame of this.#rig.take()) this.#up.push({ at: now + this.#options.roundTrip / 2, frame })
      while ((this.#up[0]?.at ?? Number.POSITIVE_INFINITY) <= now) this.#take(this.#up.shift()?.frame)
      this.#send()
      while ((this.#down[0]?.at ?? Number.POSITIVE_INFINITY) <= now) {
        this.#rig.receive(this.#down.shift()?.bytes ?? Buffer.alloc(0))
      }
    }
  }

  #post(bytes: Buffer): void {
    this.#down.push({ at: this.#rig.time + this.#options.roundTrip / 2, bytes })
  }

  #send(): void {
    let left = this.#options.rate
    while (left > 0) {
      const size = Math.min(left, FRAME_SIZE, this.connectionWindow, this.streamWindow)
      if (size <= 0) return
      this.#post(frames.frame(Type.DATA, 0, 1, Buffer.alloc(size)))
      this.connectionWindow -= size
      this.streamWindow -= size
      this.sent += size
      left -= size
    }
  }

  #take(frame: Frame | undefined): void {
    if (frame === undefined) return
    const { type, flags, streamId, payload } = frame
    if (type === Type.SETTINGS && (flags & Flag.ACK) === 0) {
      const size = toSettings(frame).findLast(([id]) => id === Setting.INITIAL_WINDOW_SIZE)?.[1]
      if (size !== undefined) {
        if (this.sent > 0 || this.streamWindow > 0) this.streamWindow += size - this.initialWindow
        this.initialWindow = size
      }
      this.#post(frames.settingsAck())
    } else if (type === Type.PING) {
      this.#post(frames.ping(payload, Flag.ACK))
    } else if (type === Type.HEADERS) {
      this.streamWindow = this.initialWindow
      this.#post(frames.response(1))
    } else if (type === Type.WINDOW_UPDATE) {
      if (streamId === 0) this.connectionWindow += payload.readUInt32BE(0)
      else this.streamWindow += payload.readUInt32BE(0)
    }
  }
}
