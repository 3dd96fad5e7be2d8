/**
 * The connection's send window on engine 'node': who has used it up.
 *
 * @module
 */

import type { ClientHttp2Session, SessionState } from 'node:http2'
import { toLeastRoom } from '../../protocol/upload-queue.ts'

/** The body of an open stream. */
export interface OpenUpload {
  /** Bytes that were given to node. */
  readonly written: number
  /** How many of them node has certainly sent. */
  readonly flushed: number
  /** Whether all of the body was sent. */
  readonly isWhole: boolean
}

/**
 * node:http2 tells the size of the window, but neither which streams have used it nor when credit comes. So this counts
 * what streams have been given that have ended since the window was last seen to be free: only they can have lost it.
 */
export class NodeSendWindow {
  readonly #http2: Pick<ClientHttp2Session, 'state'>
  readonly #open = new Set<OpenUpload>()
  /** The rest of them isn't wanted, and node sends on what it was given until it sends RST_STREAM. */
  readonly #ending = new Set<OpenUpload>()
  /** The largest window that was seen. Bytes. */
  #whole = 0
  /** Bytes of the window that closed streams hold, at most. */
  #lost = 0
  /** How many of those were sent, at most, of bodies that weren't sent as a whole. */
  #cut = 0

  constructor(http2: Pick<ClientHttp2Session, 'state'>) {
    this.#http2 = http2
  }

  /** Whether nearly all of it is held by streams that have ended, or are about to. */
  get isShut(): boolean {
    let left = this.#look()
    let lost = this.#lost
    for (const { written, flushed } of this.#ending) {
      lost += written
      left -= written - flushed
    }
    const least = toLeastRoom(this.#cut + this.#ending.size)
    if (left >= least || this.#whole - lost >= least) return false
    // What open streams have certainly sent the server may be reading.
    let rest = Math.max(left, 0)
    for (const { flushed } of this.#open) rest += flushed
    return rest < least
  }

  /** A stream with a body is opened. */
  add(upload: OpenUpload): void {
    this.#look()
    this.#open.add(upload)
  }

  /** The rest of a body isn't wanted. Its stream is to be reset. */
  leave(upload: OpenUpload): void {
    if (this.#open.delete(upload)) this.#ending.add(upload)
  }

  /** A stream with a body is closed. Idempotent. */
  delete(upload: OpenUpload): void {
    const isLeft = this.#ending.delete(upload)
    if (!isLeft && !this.#open.delete(upload)) return
    this.#lost += upload.written
    if (isLeft || !upload.isWhole) this.#cut += upload.written
    this.#look()
  }

  /** @returns the window now, in bytes; Infinity where it isn't known */
  #look(): number {
    // A session that is destroyed has an empty state, or none on Bun.
    const state: SessionState | null = this.#http2.state
    const window = state?.remoteWindowSize ?? Number.POSITIVE_INFINITY
    if (window === Number.POSITIVE_INFINITY) return window
    if (window > this.#whole) this.#whole = window
    this.#lost = Math.min(this.#lost, this.#whole - window)
    this.#cut = Math.min(this.#cut, this.#lost)
    return window
  }
}
