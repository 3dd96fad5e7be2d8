/**
 * The only timers in the code: coarse, cheap, replaceable in tests.
 *
 * @module
 */

import { performance } from 'node:perf_hooks'
import { originalClearTimeout, originalSetImmediate, originalSetTimeout } from './original-timers.ts'
import type { UnorderedItem } from './unordered-list.ts'
import { UnorderedList } from './unordered-list.ts'

/**
 * Called when an alarm fires.
 *
 * @param rungAt the clock's `now()` when the time was over. What the process had received by then was read before this
 *   call. What arrived later may still be unread, if reading took long.
 */
export type OnAlarm = (rungAt: number) => void

/** A callback that will run unless it is cancelled. */
export interface Alarm {
  /** Idempotent; does nothing once the callback has run. */
  cancel(): void
  /** Sets whether the alarm keeps the process alive until it fires: for a wait without a socket. */
  setRef(isNeeded: boolean): void
}

/** Where time comes from. Tests pass a clock that they move by hand. */
export interface Clock {
  /** Milliseconds since some fixed point. It never goes back. */
  now(): number
  /** Calls back once, `delay` milliseconds from now. It doesn't keep the process alive unless `setRef` says so. */
  after(delay: number, callback: OnAlarm): Alarm
}

/**
 * Fires right after the process has checked the network for data. A busy process runs its timers late, and before it
 * reads: then a response or a connection that arrived in time may still wait in the operating system.
 */
class SystemAlarm implements Alarm {
  readonly #timer: NodeJS.Timeout
  /** Null once it has fired or is cancelled. */
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

/** Between its timers and what `setImmediate()` runs, the event loop reads the waiting data. */
function readThenRing(alarm: SystemAlarm): void {
  originalSetImmediate(ring, alarm, systemClock.now())
}

function ring(alarm: SystemAlarm, rungAt: number): void {
  alarm.ring(rungAt)
}

/**
 * Fake timers replace `now` on the object, or the global itself, but the prototype keeps the real one. On Bun, only the
 * object has one.
 */
const { now: realNow = performance.now }: Partial<Pick<typeof performance, 'now'>> =
  Object.getPrototypeOf(performance)

/** The real time, even while a test fakes timers. */
export const systemClock: Clock = Object.freeze({
  now: realNow.bind(performance),
  after: (delay: number, callback: OnAlarm) => new SystemAlarm(delay, callback),
})

/**
 * The longest delay that Node's timers accept, in milliseconds. For a later deadline, the alarm is set several times.
 */
export const MAX_DELAY = 2 ** 31 - 1

/** Keeps the process alive while a caller waits for something without its own socket or timer. */
export class Hold {
  readonly #clock: Clock
  readonly #onAlarm = (): void => this.#begin()
  /** Null while nothing needs it. */
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

  /** A wait may be longer than the longest alarm, so each alarm sets the next one. */
  #begin(): void {
    this.#alarm = this.#clock.after(MAX_DELAY, this.#onAlarm)
    this.#alarm.setRef(true)
  }
}

/** An item that can be late. {@link Deadlines} owns its fields. */
export interface Timed extends UnorderedItem {
  /** When it becomes late, by the clock's `now()`. Infinity while it has no deadline. */
  deadline: number
  /** The deadline has passed. The item has already left the list. */
  onDeadline(): void
}

/** The least time between two looks at the list, in milliseconds: it limits what 10,000 staggered deadlines cost. */
const RESOLUTION = 50
/**
 * The same for a list of short limits: with 10,000 of them, a look takes 150 µs, one part in 27 of the time even when
 * each look finds one.
 */
const SHORT_RESOLUTION = 4
/** Limits below this, in milliseconds, have a separate list. */
const SHORT = 1_000

/**
 * One alarm for any number of deadlines.
 *
 * Moving a deadline (each chunk of a body does that) is a single assignment: the alarm stays where it is, and notices
 * when it fires. It is only moved to an earlier time. So a deadline is met at its time or up to {@link RESOLUTION}
 * later, in a list for short limits up to {@link SHORT_RESOLUTION} later, and never before its time, even when a timer
 * fires too soon.
 */
export class Deadlines {
  readonly #clock: Clock
  readonly #keepsAlive: boolean
  readonly #resolution: number
  /** The list for short limits; null until one is needed. */
  #short: Deadlines | null = null
  readonly #items = new UnorderedList<Timed>()
  readonly #onAlarm = (rungAt: number): void => this.#ring(rungAt)
  #alarm: Alarm | null = null
  /** When the alarm fires; Infinity without one. */
  #alarmAt = Number.POSITIVE_INFINITY

  /**
   * @param keepsAlive whether to keep the process alive until all deadlines are met: for waits without a socket
   * @param resolution how late, in milliseconds, a deadline may be met at most, apart from the delay of the clock's
   *   alarms
   */
  constructor(clock: Clock, keepsAlive = false, resolution = RESOLUTION) {
    this.#clock = clock
    this.#keepsAlive = keepsAlive
    this.#resolution = resolution
  }

  /** How many items can be late, including those in the list for short limits. */
  get size(): number {
    return this.#items.size + (this.#short?.size ?? 0)
  }

  /**
   * The list for an item with this limit: below a second, one that is looked at more often.
   *
   * @param limit in milliseconds, 0 for none
   */
  listFor(limit: number): Deadlines {
    if (limit === 0 || limit >= SHORT) return this
    this.#short ??= new Deadlines(this.#clock, this.#keepsAlive, SHORT_RESOLUTION)
    return this.#short
  }

  /** The clock's time, in milliseconds. */
  now(): number {
    return this.#clock.now()
  }

  /**
   * `item` becomes late at `at`, in the time of the clock that says it is `now`; Infinity means never. Replaces the
   * previous deadline.
   */
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

  /**
   * Cancels the alarm, for an owner that is done. An empty list alone leaves its alarm armed, so that a client with one
   * request at a time doesn't create and cancel a timer for each.
   */
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

  /** Leaves items that have become due since the alarm fired to the next one: data for them may still be unread. */
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
    // An earlier callback may have removed this item from the list, or moved its deadline.
    if (item.listIndex === -1 || item.deadline > rungAt) return
    this.delete(item)
    item.onDeadline()
  }
}
