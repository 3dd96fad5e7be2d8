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
  readonly #http2: ClientHttp2Session
  readonly #open = new Set<OpenUpload>()
  /** The largest window that was seen. Bytes. */
  #whole = 0
  /** Bytes of the window that streams hold, at most, that have ended. */
  #lost = 0
  /** How many of those were sent, at most, of bodies that weren't sent as a whole. */
  #cut = 0

  constructor(http2: ClientHttp2Session) {
    this.#http2 = http2
  }

  /** Whether nearly all of it is held by streams that have ended. */
  get isShut(): boolean {
    const window = this.#look()
    const least = toLeastRoom(this.#cut)
    if (window >= least || this.#whole - this.#lost >= least) return false
    // What open streams have certainly sent the server may be reading.
    let rest = window
    for (const upload of this.#open) rest += upload.flushed
    return rest < least
  }

  /** A stream with a body is opened. */
  add(upload: OpenUpload): void {
    this.#look()
    this.#open.add(upload)
  }

  /** A stream with a body has ended. Idempotent. */
  delete(upload: OpenUpload): void {
    if (!this.#open.delete(upload)) return
    this.#lost += upload.written
    if (!upload.isWhole) this.#cut += upload.written
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
