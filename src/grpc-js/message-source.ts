/**
 * A call's messages as its request body.
 *
 * @module
 */

import { Readable } from 'node:stream'

/** Called once the session has room for another message, or the call has ended. */
export type WriteCallback = (error?: Error | null) => void

/** How many bytes a session may take ahead, so that one tick's messages are sent together. */
const HIGH_WATER_MARK = 65_536

/** A stream that the call pushes to. Dodici reads it as fast as the windows allow. */
export class MessageSource extends Readable {
  #waiting: WriteCallback[] = []
  /** Whether a callback is running. */
  #isCalling = false

  constructor() {
    super({ highWaterMark: HIGH_WATER_MARK })
  }

  /** @param callback undefined: the caller doesn't wait */
  write(frame: Buffer, callback: WriteCallback | undefined): void {
    const hasRoom = this.destroyed || this.push(frame)
    if (callback === undefined) return
    if (hasRoom) this.#callBack(callback)
    else this.#waiting.push(callback)
  }

  /**
   * At once, so that what a Writable has buffered arrives together, rather than one message per tick. A callback that
   * itself sends the next message must not cause a nested callback, however much room there is.
   */
  #callBack(callback: WriteCallback): void {
    if (this.#isCalling) {
      process.nextTick(callback)
      return
    }
    this.#isCalling = true
    try {
      callback()
    } finally {
      this.#isCalling = false
    }
  }

  end(): void {
    if (!this.destroyed) this.push(null)
  }

  override _read(): void {
    if (this.#waiting.length > 0) this.#tell()
  }

  override _destroy(error: Error | null, callback: (error?: Error | null) => void): void {
    this.#tell()
    callback(error)
  }

  #tell(): void {
    const waiting = this.#waiting
    this.#waiting = []
    for (const callback of waiting) process.nextTick(callback)
  }
}
