/**
 * The connection's send window on engine 'node': what has used it up.
 *
 * @module
 */

import type { ClientHttp2Session, SessionState } from 'node:http2'
import { toLeastRoom } from '../../protocol/upload-queue.ts'

/** An open stream's body. */
export interface OpenUpload {
  /** How many bytes node was given. */
  readonly written: number
  /** How many of them node has certainly sent. */
  readonly flushed: number
}

/** No unused connection window is smaller (RFC 9113 §6.9.2). In bytes. */
const LEAST_WHOLE = 65_535

/**
 * node:http2 reports the window's size, but neither which streams have used it nor when credit arrives. So this class
 * counts what was given to streams that have ended since the window was last seen to be free: only they can have lost
 * it.
 */
export class NodeSendWindow {
  readonly #http2: Pick<ClientHttp2Session, 'state'>
  readonly #open = new Set<OpenUpload>()
  /** Uploads whose rest isn't needed: node continues to send what it was given until it sends RST_STREAM. */
  readonly #ending = new Set<OpenUpload>()
  /** The largest window that was seen, in bytes. */
  #whole = LEAST_WHOLE
  /** How many bytes of the window closed streams hold, at most. */
  #lost = 0
  /** How many of these bytes, at most, belong to bodies that weren't sent completely. */
  #cut = 0

  constructor(http2: Pick<ClientHttp2Session, 'state'>) {
    this.#http2 = http2
  }

  /** Whether nearly all of it is held by streams that have ended, or are about to. */
  get isShut(): boolean {
    // The usual case: node creates an object to report the window.
    if (this.#hasRoom) return false
    let left = this.#look()
    if (this.#hasRoom) return false
    for (const { written, flushed } of this.#ending) left -= written - flushed
    // The server may be reading what open streams have certainly sent.
    let rest = Math.max(left, 0)
    for (const { flushed } of this.#open) rest += flushed
    return rest < this.#leastRoom
  }

  /** A stream with a body is opened. */
  add(upload: OpenUpload): void {
    this.#open.add(upload)
  }

  /** The rest of a body isn't needed. Its stream will be reset. */
  leave(upload: OpenUpload): void {
    if (this.#open.delete(upload)) this.#ending.add(upload)
  }

  /**
   * A stream with a body is closed. Idempotent.
   *
   * @param isSent whether all of the body was sent
   */
  delete(upload: OpenUpload, isSent: boolean): void {
    const isLeft = this.#ending.delete(upload)
    if (!isLeft && !this.#open.delete(upload)) return
    this.#lost += upload.written
    if (isLeft || !isSent) this.#cut += upload.written
  }

  /** Whether streams that have ended leave enough of it, even if they hold everything that they were given. */
  get #hasRoom(): boolean {
    let room = this.#whole - this.#lost
    for (const { written } of this.#ending) room -= written
    return room >= this.#leastRoom
  }

  get #leastRoom(): number {
    return toLeastRoom(this.#cut + this.#ending.size)
  }

  /** @returns the window now, in bytes; Infinity if it isn't known */
  #look(): number {
    // A destroyed session has an empty state, or none on Bun.
    const state: SessionState | null = this.#http2.state
    const window = state?.remoteWindowSize ?? Number.POSITIVE_INFINITY
    if (window === Number.POSITIVE_INFINITY) return window
    if (window > this.#whole) this.#whole = window
    this.#lost = Math.min(this.#lost, this.#whole - window)
    this.#cut = Math.min(this.#cut, this.#lost)
    return window
  }
}
