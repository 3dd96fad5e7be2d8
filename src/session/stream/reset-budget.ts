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
 * How many early resets a session may send, whatever the number of its responses. A reset is early if its stream is
 * young and has no response. Envoy ends a connection when half of its first 500 streams, or later half of all, were
 * reset early.
 */
const EARLY_BURST = 200
/** From this age on, in milliseconds, a reset isn't early. Envoy counts full seconds: more than one. */
const AGE = 2_000
/** How often waiting streams are checked, in milliseconds. */
const TICK = 250
/** With this many waiting streams, on any session, another one should be opened. */
const CROWD = 200
/**
 * If less than this part of the burst is left, another session takes new calls: the remaining resets are for the old
 * ones.
 */
const RESERVE = 1 / 4
/** A smaller burst has no reserve, because it refills soon. */
const LARGE_BURST = 200

/** A stream that its caller has given up, but that isn't reset yet. */
export interface Resettable {
  /** Null until it is opened. */
  readonly streamId: number | null
  /** Whether the header section of a final response has arrived. */
  readonly hasResponded: boolean
  reset(): void
}

/** The session, as its reset budget sees it. */
export interface ResetOwner extends ConfirmationOwner {
  /** How many streams with a response are over. */
  readonly completed: number
  /** The id of the newest open stream; 0 if none is open. */
  toNewestId(): number
  /** Streams still wait after others were reset. */
  onStuck(): void
}

/**
 * Sends RST_STREAM as fast as servers tolerate it (CVE-2023-44487, "rapid reset"; docs/connections.md has the
 * measurements):
 *
 * - as many at once as the server acknowledges: see {@link ResetConfirmation};
 * - no more than a token bucket contains: `resetBurst`, and `resetRate` per second. nghttp2, and with it Node's
 *   server, ends a connection after a burst of 1,000, and 33 per second;
 * - few early ones: see {@link EARLY_BURST}.
 *
 * A stream that has to wait stays open, and keeps its place on the session, until the server has responded or the
 * stream is reset.
 *
 * No stream is reset at once. A caller may be running inside nghttp2, which is reading and must not be made to send
 * then: it would ask for the data of closing streams forever, or write to freed memory
 * (docs/internals/node-http2.md).
 */
export class ResetBudget implements Timed {
  deadline = Number.POSITIVE_INFINITY
  listIndex = -1
  readonly confirmation: ResetConfirmation
  readonly #deadlines: Deadlines
  readonly #owner: ResetOwner
  readonly #waiting = new Set<Resettable>()
  /** The waiting streams whose reset would be early. */
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
  /** How many streams waited for a token, or for their age, after the last flush. */
  #stuck = 0
  /** Whether only the reserve is left. */
  #isSpent = false
  #sent = 0
  #sentEarly = 0

  /** @param burst how many resets this session may send in one burst: `resetBurst`, or fewer */
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

  /** How many streams wait for their reset. */
  get waiting(): number {
    return this.#waiting.size + this.#young.size
  }

  /** How many resets were sent. */
  get sent(): number {
    return this.#sent
  }

  /**
   * Whether another session should take new calls. Streams that wait only for the next turn don't count.
   *
   * @param places how many streams the session may have
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

  /** The stream has closed without a reset. */
  delete(stream: Resettable): void {
    if (!this.#waiting.delete(stream)) this.#young.delete(stream)
  }

  /** A stream has closed, but the server may still count it, because Dodici or the server has reset it. */
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

  /** A stream was opened, or the server's limit has changed: calls may now wait for the places of reset streams. */
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

  /** @param lastOfAge the highest id of a stream that is old enough */
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
