/** A script of a peer that responds with as much as it may send, by the windows that it was given, and counts it. */

import type { ConnectionScript, FaultConnection } from '../../../src/testing/fault-connection.ts'
import type { FaultStream } from '../../../src/testing/fault-stream.ts'
import type { Frame } from '../../../src/testing/frames.ts'
import { Flag, frames, Setting, Type, toSettings } from '../../../src/testing/frames.ts'

const DEFAULT_WINDOW = 65_535
const SMALL = 'small'
const FRAME = Buffer.alloc(16_384)

/** For one connection. `/small` gets a response at once; all other responses never end. */
export class GreedyScript implements ConnectionScript {
  readonly acksPings: boolean
  /** Octets of DATA so far. */
  sent = 0
  /** What the streams may still be sent. */
  readonly #windows = new Map<FaultStream, number>()
  /** Those that wait for a window of the connection. */
  #small: FaultStream[] = []
  /** SETTINGS_INITIAL_WINDOW_SIZE. */
  #initial = DEFAULT_WINDOW
  /** The connection's own. */
  #window = DEFAULT_WINDOW
  readonly #roundTrip: number

  /** @param roundTrip milliseconds by which the ACKs of PINGs are delayed; 0: they are sent at once. */
  constructor(roundTrip = 0) {
    this.#roundTrip = roundTrip
    this.acksPings = roundTrip === 0
  }

  onComplete(stream: FaultStream, connection: FaultConnection): void {
    if (stream.path === '/small') {
      this.#small.push(stream)
      this.#send(connection)
      return
    }
    stream.head(200)
    this.#windows.set(stream, this.#initial)
    this.#send(connection)
  }

  onFrame(frame: Frame, connection: FaultConnection): void {
    if (frame.type === Type.SETTINGS && (frame.flags & Flag.ACK) === 0) this.#resize(frame)
    else if (frame.type === Type.WINDOW_UPDATE) this.#grant(frame)
    else if (frame.type === Type.PING && !this.acksPings) this.#acknowledgeLater(frame, connection)
    else return
    this.#send(connection)
  }

  #acknowledgeLater({ flags, payload }: Frame, connection: FaultConnection): void {
    if ((flags & Flag.ACK) !== 0) return
    setTimeout(() => connection.write(frames.ping(payload, Flag.ACK)), this.#roundTrip).unref()
  }

  /** RFC 9113 §6.9.2: the windows of all streams change by the difference. */
  #resize(frame: Frame): void {
    const size = toSettings(frame).find(([id]) => id === Setting.INITIAL_WINDOW_SIZE)?.[1] ?? this.#initial
    for (const [stream, window] of this.#windows) this.#windows.set(stream, window + size - this.#initial)
    this.#initial = size
  }

  #grant({ streamId, payload }: Frame): void {
    const increment = payload.readUInt32BE(0)
    if (streamId === 0) this.#window += increment
    for (const [stream, window] of this.#windows) {
      if (stream.id === streamId) this.#windows.set(stream, window + increment)
    }
  }

  #send(connection: FaultConnection): void {
    while (this.#window >= SMALL.length) {
      const stream = this.#small.shift()
      if (stream === undefined) break
      this.#window -= SMALL.length
      stream.respond(SMALL)
    }
    for (const [stream, window] of this.#windows) {
      let left = window
      while (left > 0 && this.#window > 0 && stream.isOpen) {
        const length = Math.min(left, this.#window, FRAME.length)
        connection.write(frames.frame(Type.DATA, 0, stream.id, FRAME.subarray(0, length)))
        left -= length
        this.#window -= length
        this.sent += length
      }
      this.#windows.set(stream, left)
    }
  }
}
