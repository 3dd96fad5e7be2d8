/** A peer that sends as much of a body as flow control lets it, and counts. */

import type { ConnectionScript, FaultConnection } from '../../../src/testing/fault-connection.ts'
import type { FaultStream } from '../../../src/testing/fault-stream.ts'
import type { Frame, SettingsEntry } from '../../../src/testing/frames.ts'
import { Flag, frames, Setting, Type, toSettings } from '../../../src/testing/frames.ts'

/** RFC 9113 §6.9.2: the initial size of a window. Bytes. */
const INITIAL_WINDOW = 65_535

/** RFC 9113 §6.5.2: the initial maximum size of a frame. Bytes. */
const MAX_FRAME = 16_384

const WINDOW_INCREMENT = 0x7fff_ffff

/** After so many round trips without anything new, nothing new is expected. */
const QUIET_ROUNDS = 4

interface Pouring {
  readonly stream: FaultStream
  /** The bytes that the stream window permits now. */
  window: number
  readonly content: Buffer
  sent: number
}

/** Sends bodies on one connection, as fast as its windows allow. */
export class Tap {
  readonly connection: FaultConnection
  /** The bytes that the connection window permits now. */
  window = INITIAL_WINDOW
  #initial = INITIAL_WINDOW
  readonly #pourings = new Map<number, Pouring>()

  constructor(connection: FaultConnection) {
    this.connection = connection
  }

  /** Responds with a body, and sends as much of it as the windows permit. */
  pour(stream: FaultStream, content: Buffer, fields: readonly (readonly [string, string])[] = []): void {
    stream.head(200, fields)
    const pouring = { stream, window: this.#initial, content, sent: 0 }
    this.#pourings.set(stream.id, pouring)
    this.#push(pouring)
  }

  /** Bytes of a stream's body that have gone out. */
  sentOf(stream: FaultStream): number {
    return this.#pourings.get(stream.id)?.sent ?? 0
  }

  /** Settles when the windows permit no more, with the number of bytes sent of the stream's body. */
  async blockedAt(stream: FaultStream): Promise<number> {
    let sent = -1
    for (let quiet = 0; quiet < QUIET_ROUNDS; quiet++) {
      await this.connection.ping()
      if (this.sentOf(stream) !== sent) quiet = 0
      sent = this.sentOf(stream)
    }
    return sent
  }

  onFrame(frame: Frame): void {
    const { type, flags, streamId, payload } = frame
    if (type === Type.SETTINGS && (flags & Flag.ACK) === 0) this.#onSettings(toSettings(frame))
    if (type !== Type.WINDOW_UPDATE) return
    const increment = payload.readUInt32BE(0) & WINDOW_INCREMENT
    const pouring = this.#pourings.get(streamId)
    if (streamId === 0) this.window += increment
    else if (pouring !== undefined) pouring.window += increment
    for (const each of this.#pourings.values()) this.#push(each)
  }

  /** RFC 9113 §6.9.2: a change applies to all streams. */
  #onSettings(entries: readonly SettingsEntry[]): void {
    const given = entries.findLast(([id]) => id === Setting.INITIAL_WINDOW_SIZE)
    if (given === undefined) return
    const change = given[1] - this.#initial
    this.#initial = given[1]
    for (const each of this.#pourings.values()) {
      each.window += change
      this.#push(each)
    }
  }

  #push(pouring: Pouring): void {
    const { stream, content } = pouring
    while (pouring.sent < content.length && stream.resetCode === null) {
      const length = Math.min(MAX_FRAME, this.window, pouring.window, content.length - pouring.sent)
      if (length <= 0) return
      const piece = content.subarray(pouring.sent, pouring.sent + length)
      pouring.sent += length
      pouring.window -= length
      this.window -= length
      this.connection.write(frames.frame(Type.DATA, 0, stream.id, piece))
      if (pouring.sent === content.length) stream.end()
    }
  }
}

/** Incompressible bytes; the same ones each time. */
export function toNoise(length: number): Buffer {
  const noise = Buffer.alloc(length)
  let state = 1
  for (let i = 0; i < length; i++) {
    // Numerical Recipes: a linear congruential generator modulo 2^32.
    state = (Math.imul(state, 1_664_525) + 1_013_904_223) >>> 0
    noise[i] = state >>> 24
  }
  return noise
}

/** A script whose connections have a tap each. */
export function tapped(
  onRequest: (stream: FaultStream, tap: Tap) => void,
  script: Omit<ConnectionScript, 'onRequest' | 'onFrame'> = {},
): ConnectionScript {
  const taps = new Map<FaultConnection, Tap>()
  const toTap = (connection: FaultConnection): Tap => {
    const tap = taps.get(connection) ?? new Tap(connection)
    taps.set(connection, tap)
    return tap
  }
  return {
    ...script,
    onRequest: (stream, connection) => onRequest(stream, toTap(connection)),
    onFrame: (frame, connection) => toTap(connection).onFrame(frame),
  }
}
