/**
 * The messages of a call as the body of its request.
 *
 * @module
 */

import { Readable } from 'node:stream'

/** Called once the session has room for another message, or the call has ended. */
export type WriteCallback = (error?: Error | null) => void

/** What a session may take ahead, so that one tick's messages go out together. Bytes. */
const HIGH_WATER_MARK = 65_536

/** A stream that the call pushes into. Dodici reads it as fast as the windows allow. */
export class MessageSource extends Readable {
  #waiting: WriteCallback[] = []

  constructor() {
    super({ highWaterMark: HIGH_WATER_MARK })
  }

  /** @param callback undefined: the caller doesn't wait */
  write(frame: Buffer, callback: WriteCallback | undefined): void {
    const hasRoom = this.destroyed || this.push(frame)
    if (callback === undefined) return
    if (hasRoom) process.nextTick(callback)
    else this.#waiting.push(callback)
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
