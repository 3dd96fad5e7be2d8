/**
 * The only timers in the code: coarse, cheap, injectable by tests.
 *
 * @module
 */

import { performance } from 'node:perf_hooks'
import { originalClearTimeout, originalSetImmediate, originalSetTimeout } from './original-timers.ts'
import type { UnorderedItem } from './unordered-list.ts'
import { UnorderedList } from './unordered-list.ts'

/**
 * Called when an alarm rings.
 *
 * @param rungAt the clock's `now()` when the time had come. What the process had received by then was read before this
 *   call. What came later may wait still, when reading took long.
 */
export type OnAlarm = (rungAt: number) => void

/** A callback that will come unless it is cancelled. */
export interface Alarm {
  /** Idempotent; a no-op once the callback has run. */
  cancel(): void
  /** Whether the alarm keeps the process alive until it rings: for a wait without a socket. */
  setRef(isNeeded: boolean): void
}

/** Where time comes from. Tests pass one that they move by hand. */
export interface Clock {
  /** Milliseconds since some fixed point, never going back. */
  now(): number
  /** Calls back once, `delay` milliseconds from now. Doesn't keep the process alive, unless `setRef` says so. */
  after(delay: number, callback: OnAlarm): Alarm
}

/**
 * Rings right after the process has looked for what came from the network. The timers of a busy process run late, and
 * before it reads: a response, or a connection, that came in time may still wait in the operating system then.
 */
class SystemAlarm implements Alarm {
  readonly #timer: NodeJS.Timeout
  /** Null once it has rung, or is cancelled. */
  #callback: OnAlarm | null

  constructor(delay: number, callback: OnAlarm) {
    this.#callback = callback
    // Most waiting calls have a socket, which keeps the process alive: the timer alone shouldn't.
    this.#timer = originalSetTimeout(readThenRing, delay, this).unref()
  }

  cancel(): void {
    this.#callback = null
    originalClearTimeout(this.#timer)
  }

  ring(rungAt: number): void {
    const callback = this.#callback
    this.#callback = null
    callback?.(rungAt)
  }

  setRef(isNeeded: boolean): void {
    if (isNeeded) this.#timer.ref()
    else this.#timer.unref()
  }
}

/** Between its timers and what `setImmediate()` runs, the event loop reads what waits. */
function readThenRing(alarm: SystemAlarm): void {
  originalSetImmediate(ring, alarm, systemClock.now())
}

function ring(alarm: SystemAlarm, rungAt: number): void {
  alarm.ring(rungAt)
}

/**
 * Fake timers replace `now` of the object, or the global itself. The prototype keeps the real one. On Bun only the
 * object has one.
 */
const { now: realNow = performance.now }: Partial<Pick<typeof performance, 'now'>> =
  Object.getPrototypeOf(performance)

/** The real time, also while a test fakes the timers. */
export const systemClock: Clock = Object.freeze({
  now: realNow.bind(performance),
  after: (delay: number, callback: OnAlarm) => new SystemAlarm(delay, callback),
})

/** The longest delay that Node's timers take. For a later deadline the alarm is set several times. Milliseconds. */
export const MAX_DELAY = 2 ** 31 - 1

/** Keeps the process alive while a caller waits for something that has no socket or timer of its own. */
export class Hold {
  readonly #clock: Clock
  readonly #onAlarm = (): void => this.#begin()
  /** Null while it isn't needed. */
  #alarm: Alarm | null = null

  constructor(clock: Clock) {
    this.#clock = clock
  }

  set(isNeeded: boolean): void {
    if (isNeeded === (this.#alarm !== null)) return
    if (isNeeded) {
      this.#begin()
    } else {
      this.#alarm?.cancel()
      this.#alarm = null
    }
  }

  /** A wait may be longer than the longest alarm: each alarm sets the next one. */
  #begin(): void {
    this.#alarm = this.#clock.after(MAX_DELAY, this.#onAlarm)
    this.#alarm.setRef(true)
  }
}

/** What can be late. Its fields are {@link Deadlines}' own. */
export interface Timed extends UnorderedItem {
  /** When it is late, by the clock's `now()`. Infinity while it has no deadline. */
  deadline: number
  /** The deadline has passed. The item has left the list already. */
  onDeadline(): void
}

/**
 * After one look at the list the next comes no sooner, in milliseconds: it bounds what 10,000 staggered deadlines cost.
 */
const RESOLUTION = 50
/**
 * The same for a list of short limits: with 10,000 of them a look takes 150 µs, one part in 27 of the time even
 * when each look finds one.
 */
const SHORT_RESOLUTION = 4
/** Shorter limits than this have a list of their own. Milliseconds. */
const SHORT = 1_000

/**
 * One alarm for any number of deadlines.
 *
 * Moving a deadline (each chunk of a body does) is one assignment: the alarm is left where it is, and finds out when it
 * rings. It is moved only to come earlier. So a deadline is met at its time or up to {@link RESOLUTION} later, in a
 * list for short limits up to {@link SHORT_RESOLUTION}; and never before its time, even when a timer rings too soon.
 */
export class Deadlines {
  readonly #clock: Clock
  readonly #keepsAlive: boolean
  readonly #resolution: number
  /** The list for what is due soon; null before there was any. */
  #short: Deadlines | null = null
  readonly #items = new UnorderedList<Timed>()
  readonly #onAlarm = (rungAt: number): void => this.#ring(rungAt)
  #alarm: Alarm | null = null
  /** When the alarm rings; Infinity without one. */
  #alarmAt = Number.POSITIVE_INFINITY

  /**
   * @param keepsAlive whether the process lives until they have been met: for waits that no socket is held for
   * @param resolution how late one may be met at most, beside what the clock's alarms are; milliseconds
   */
  constructor(clock: Clock, keepsAlive = false, resolution = RESOLUTION) {
    this.#clock = clock
    this.#keepsAlive = keepsAlive
    this.#resolution = resolution
  }

  /** How many things can be late, in the list for short limits as well. */
  get size(): number {
    return this.#items.size + (this.#short?.size ?? 0)
  }

  /**
   * The list for something that has so many milliseconds at most: below a second one that is looked at more often.
   * @param limit 0 for none
   */
  listFor(limit: number): Deadlines {
    if (limit === 0 || limit >= SHORT) return this
    this.#short ??= new Deadlines(this.#clock, this.#keepsAlive, SHORT_RESOLUTION)
    return this.#short
  }

  /** Milliseconds of the clock. */
  now(): number {
    return this.#clock.now()
  }

  /** `item` is late at `at`, on the clock that says it is `now`; Infinity means never. Replaces what was set before. */
  set(item: Timed, at: number, now: number): void {
    item.deadline = at
    if (at === Number.POSITIVE_INFINITY) return
    this.#items.add(item)
    if (at < this.#alarmAt) this.#arm(now, at)
  }

  /** `item` can't be late any more. */
  delete(item: Timed): void {
    if (this.#items.delete(item)) item.deadline = Number.POSITIVE_INFINITY
  }

  /** Takes the alarm back. For an owner that is done: an empty list leaves its alarm armed, so that a client with one
   * request at a time doesn't make and cancel a timer for each. */
  stop(): void {
    this.#disarm()
    this.#short?.stop()
  }

  #arm(now: number, at: number): void {
    this.#alarm?.cancel()
    this.#alarmAt = at
    this.#alarm = this.#clock.after(Math.min(MAX_DELAY, Math.max(0, Math.ceil(at - now))), this.#onAlarm)
    if (this.#keepsAlive) this.#alarm.setRef(true)
  }

  #disarm(): void {
    this.#alarm?.cancel()
    this.#alarm = null
    this.#alarmAt = Number.POSITIVE_INFINITY
  }

  /** Items that are due since the alarm rang are left for the next one: what came for them may still wait. */
  #ring(rungAt: number): void {
    this.#disarm()
    const now = this.#clock.now()
    const late: Timed[] = []
    let soonest = Number.POSITIVE_INFINITY
    for (const item of this.#items.items) {
      if (item.deadline <= rungAt) late.push(item)
      else if (item.deadline < soonest) soonest = item.deadline
    }
    if (soonest !== Number.POSITIVE_INFINITY) this.#arm(now, Math.max(soonest, now + this.#resolution))
    let isDone = false
    try {
      for (const item of late) this.#tell(item, rungAt)
      isDone = true
    } finally {
      // A listener has thrown: the alarm is set again for the items that haven't been looked at.
      if (!isDone) this.#arm(now, now + this.#resolution)
    }
  }

  #tell(item: Timed, rungAt: number): void {
    // An earlier callback may have taken this item off the list, or moved its deadline.
    if (item.listIndex === -1 || item.deadline > rungAt) return
    this.delete(item)
    item.onDeadline()
  }
}
