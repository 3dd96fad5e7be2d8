/**
 * Limits how many streams a session may reset, and how fast.
 *
 * @module
 */

import type { Deadlines, Timed } from '../../core/clock.ts'
import { originalSetImmediate } from '../../core/original-timers.ts'
import { TokenBucket } from '../../core/token-bucket.ts'

/**
 * The resets that may be sent at once. nghttp2, and with it Node's server, ends a session after a burst of 1,000 and 33
 * more a second. Envoy checks the first 500 streams. (All of them since CVE-2023-44487, "rapid reset".)
 */
const BURST = 400
/** The resets that may be sent per second after that. */
const RATE = 30
/** How often the waiting streams are checked. Milliseconds. */
const TICK = 500

/** A stream that its caller has given up, and that isn't reset yet. */
export interface Resettable {
  reset(): void
}

/**
 * A token bucket: each RST_STREAM costs one. A stream that gets no token stays open, and takes up its place on the
 * session, until the server has responded or there is a token.
 *
 * No stream is reset at once. A caller may be running inside nghttp2, which is reading and must not be made to send
 * then: it would ask for the data of closing streams, for ever, or write to freed memory
 * (docs/internals/node-http2.md).
 */
export class ResetBudget implements Timed {
  deadline = Number.POSITIVE_INFINITY
  listIndex = -1
  readonly #deadlines: Deadlines
  readonly #onReset: () => void
  readonly #onStuck: () => void
  readonly #waiting = new Set<Resettable>()
  readonly #flushSoon = (): void => {
    this.#isFlushDue = false
    this.onDeadline()
  }
  #isFlushDue = false
  readonly #bucket: TokenBucket

  /**
   * @param onReset called after streams were reset
   * @param onStuck called after `onReset` when streams still wait because there is no token
   */
  constructor(deadlines: Deadlines, onReset: () => void, onStuck: () => void) {
    this.#deadlines = deadlines
    this.#onReset = onReset
    this.#onStuck = onStuck
    this.#bucket = new TokenBucket(BURST, RATE, deadlines.now())
  }

  /** The number of streams that wait for their reset. */
  get waiting(): number {
    return this.#waiting.size
  }

  /** Whether streams that wait for a token, not only for the next turn, hold more than half of this many places. */
  holdMost(places: number): boolean {
    return this.listIndex !== -1 && this.#waiting.size > places / 2
  }

  /** Resets the stream in the next turn of the event loop, or as soon as there is a token. */
  add(stream: Resettable): void {
    this.#waiting.add(stream)
    if (this.#isFlushDue) return
    this.#isFlushDue = true
    originalSetImmediate(this.#flushSoon)
  }

  /** The stream has closed by itself. */
  delete(stream: Resettable): void {
    if (this.#waiting.delete(stream) && this.#waiting.size === 0) this.stop()
  }

  /** The session is gone. */
  stop(): void {
    this.#waiting.clear()
    this.#deadlines.delete(this)
  }

  onDeadline(): void {
    const now = this.#deadlines.now()
    const before = this.#waiting.size
    this.#bucket.refill(now)
    for (const stream of this.#waiting) {
      if (!this.#bucket.take()) break
      this.#waiting.delete(stream)
      stream.reset()
    }
    if (this.#waiting.size < before) this.#onReset()
    if (this.#waiting.size === 0) return
    if (this.listIndex === -1) this.#deadlines.set(this, now + TICK, now)
    this.#onStuck()
  }
}
