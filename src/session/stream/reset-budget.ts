/**
 * Limits how many streams a session may reset, and how fast.
 *
 * @module
 */

import type { Deadlines, Timed } from '../../core/clock.ts'
import { originalSetImmediate } from '../../core/original-timers.ts'
import { TokenBucket } from '../../core/token-bucket.ts'
import type { SessionLimits } from '../../options/limits.ts'
import type { ConfirmationOwner } from './reset-confirmation.ts'
import { ResetConfirmation } from './reset-confirmation.ts'
import { StreamAges } from './stream-ages.ts'

/**
 * The early resets that a session may send, whatever the number of its responses. A reset is early while its stream
 * has no response and isn't of age. Envoy ends a connection when half of its first 500 streams, or half of all later
 * on, were reset early.
 */
const EARLY_BURST = 200
/** From this age on, a reset isn't early. Envoy counts full seconds: more than one. Milliseconds. */
const AGE = 2_000
/** How often waiting streams are checked. Milliseconds. */
const TICK = 250
/** So many waiting streams, on any session, are a reason to open another one. */
const CROWD = 200
/**
 * When less than this part of the burst is left, another session takes new calls: these resets are for the old ones.
 */
const RESERVE = 1 / 4
/** A smaller burst has no reserve: it refills soon. */
const LARGE_BURST = 200

/** A stream that its caller has given up, and that isn't reset yet. */
export interface Resettable {
  /** Null until opened. */
  readonly streamId: number | null
  /** Whether the header section of a final response has come. */
  readonly hasResponded: boolean
  reset(): void
}

/** The session, as its budget of resets sees it. */
export interface ResetOwner extends ConfirmationOwner {
  /** The streams with a response that are over. */
  readonly completed: number
  /** The id of the newest open stream; 0 for none. */
  toNewestId(): number
  /** Streams still wait after others were reset. */
  onStuck(): void
}

/**
 * Sends RST_STREAM as fast as servers tolerate it (CVE-2023-44487, "rapid reset"; docs/connections.md has what was
 * measured):
 *
 * - as many at once as the server acknowledges: see {@link ResetConfirmation};
 * - no more than a token bucket holds: `resetBurst`, and `resetRate` a second. nghttp2, and with it Node's server, ends
 *   a connection that sends 1,000, and 33 a second;
 * - few early ones: see {@link EARLY_BURST}.
 *
 * A stream that has to wait stays open, and takes up its place on the session, until the server has responded or the
 * stream is reset.
 *
 * No stream is reset at once. A caller may be running inside nghttp2, which is reading and must not be made to send
 * then: it would ask for the data of closing streams, for ever, or write to freed memory
 * (docs/internals/node-http2.md).
 */
export class ResetBudget implements Timed {
  deadline = Number.POSITIVE_INFINITY
  listIndex = -1
  readonly confirmation: ResetConfirmation
  readonly #deadlines: Deadlines
  readonly #owner: ResetOwner
  readonly #waiting = new Set<Resettable>()
  /** Those of the waiting streams whose reset would be early. */
  readonly #young = new Set<Resettable>()
  readonly #flushSoon = (): void => {
    this.#isFlushDue = false
    this.#flush()
  }
  readonly #toNewestId = (): number => this.#owner.toNewestId()
  readonly #ages = new StreamAges(AGE)
  readonly #bucket: TokenBucket
  readonly #isUnlimited: boolean
  readonly #reserve: number
  #isFlushDue = false
  #isOver = false
  /** Streams that waited for a token, or for their age, after the last flush. */
  #stuck = 0
  /** Only the reserve is left. */
  #isSpent = false
  #sent = 0
  #sentEarly = 0

  /** @param burst the resets that this session may send at once: `resetBurst`, or less */
  constructor(
    deadlines: Deadlines,
    { resetRate }: Pick<SessionLimits, 'resetRate'>,
    burst: number,
    owner: ResetOwner,
  ) {
    this.#deadlines = deadlines
    this.#owner = owner
    this.#bucket = new TokenBucket(burst, resetRate, deadlines.now())
    this.#isUnlimited = burst === Number.POSITIVE_INFINITY
    this.#reserve = burst < LARGE_BURST || this.#isUnlimited ? 0 : burst * RESERVE
    this.confirmation = new ResetConfirmation(owner)
  }

  /** The number of streams that wait for their reset. */
  get waiting(): number {
    return this.#waiting.size + this.#young.size
  }

  /** Resets that were sent. */
  get sent(): number {
    return this.#sent
  }

  /**
   * Whether another session should take new calls. Streams that wait only for the next turn don't count.
   *
   * @param places of the session
   */
  isCrowded(places: number): boolean {
    if (this.#stuck === 0 && !this.#isSpent) return false
    const stuck = Math.min(this.#stuck, this.waiting)
    return this.#isSpent || stuck >= CROWD || stuck > places / 2
  }

  /** Resets the stream in the next turn of the event loop, or as soon as the server tolerates it. */
  add(stream: Resettable): void {
    this.#waiting.add(stream)
    this.#flushLater()
  }

  #flushLater(): void {
    if (this.#isFlushDue) return
    this.#isFlushDue = true
    originalSetImmediate(this.#flushSoon)
  }

  /** The stream has closed by itself. */
  delete(stream: Resettable): void {
    if (!this.#waiting.delete(stream)) this.#young.delete(stream)
  }

  /** A stream has closed, and the server may still count it: we, or the server, have reset it. */
  onEarlyEnd(): void {
    if (this.#isOver) return
    this.confirmation.onEarlyEnd()
    if (this.confirmation.isWanted) this.#flushLater()
  }

  /** The session is gone. */
  stop(): void {
    this.#isOver = true
    this.#waiting.clear()
    this.#young.clear()
    this.confirmation.stop()
    this.#deadlines.delete(this)
  }

  onDeadline(): void {
    this.#flush()
    this.onLoad()
  }

  /** A stream was opened, or the server's limit has changed: calls may wait for the places of reset streams now. */
  onLoad(): void {
    if (!this.confirmation.isWanted) return
    this.confirmation.check()
    this.#arm(this.#deadlines.now())
  }

  /** The server has read resets: more may follow. */
  onConfirmed(): void {
    // In a later turn: nghttp2 may be reading.
    if (this.waiting > 0) this.#flushLater()
  }

  /** Resets the waiting streams that may be reset now. */
  #flush(): void {
    if (this.#isOver) return
    const now = this.#deadlines.now()
    this.#bucket.refill(now)
    this.#ages.sample(now, this.#toNewestId)
    this.#send(this.#ages.toLastOfAge(now))
    if (this.#isOver) return
    // What waits for an ACK alone doesn't wait for long.
    this.#stuck = this.confirmation.isFull ? this.#young.size : this.waiting
    this.confirmation.check()
    this.#isSpent = !this.#bucket.has(this.#reserve)
    this.#arm(now)
    if (this.#stuck > 0) this.#owner.onStuck()
  }

  /** @param lastOfAge the highest id of a stream that is of age */
  #send(lastOfAge: number): void {
    for (const stream of this.#young) {
      if (this.#isTooEarly(stream, lastOfAge)) continue
      this.#young.delete(stream)
      this.#waiting.add(stream)
    }
    for (const stream of this.#waiting) {
      const isTooEarly = this.#isTooEarly(stream, lastOfAge)
      if (!isTooEarly && (this.confirmation.isFull || !this.#bucket.take())) break
      this.#waiting.delete(stream)
      if (isTooEarly) {
        this.#young.add(stream)
      } else {
        if (isEarly(stream, lastOfAge)) this.#sentEarly++
        this.#sent++
        stream.reset()
      }
    }
  }

  #isTooEarly(stream: Resettable, lastOfAge: number): boolean {
    return this.#sentEarly >= this.#earlyBurst && isEarly(stream, lastOfAge)
  }

  get #earlyBurst(): number {
    if (this.#isUnlimited) return Number.POSITIVE_INFINITY
    return Math.max(EARLY_BURST, this.#owner.completed / 2)
  }

  #arm(now: number): void {
    if (this.#stuck === 0 && !this.#isSpent && !this.confirmation.isWanted) this.#deadlines.delete(this)
    else if (this.listIndex === -1) this.#deadlines.set(this, now + TICK, now)
  }
}

function isEarly({ streamId, hasResponded }: Resettable, lastOfAge: number): boolean {
  return !hasResponded && streamId !== null && streamId > lastOfAge
}
