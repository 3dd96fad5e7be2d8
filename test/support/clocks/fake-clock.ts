import type { Alarm, Clock, OnAlarm } from '../../../src/core/clock.ts'

class FakeAlarm implements Alarm {
  readonly at: number
  readonly callback: OnAlarm
  /** It keeps the process alive. */
  isReferenced = false
  readonly #alarms: Set<FakeAlarm>

  constructor(at: number, callback: OnAlarm, alarms: Set<FakeAlarm>) {
    this.at = at
    this.callback = callback
    this.#alarms = alarms
    alarms.add(this)
  }

  cancel(): void {
    this.#alarms.delete(this)
  }

  setRef(isNeeded: boolean): void {
    this.isReferenced = isNeeded
  }
}

/** A clock that stands still until a test moves it. Times are in milliseconds. */
export class FakeClock implements Clock {
  readonly #alarms = new Set<FakeAlarm>()
  #now: number
  #made = 0

  /** Starts away from 0, so that a duration taken for a point in time is noticed. */
  constructor(now = 1_000) {
    this.#now = now
  }

  /** How many alarms are set. */
  get alarms(): number {
    return this.#alarms.size
  }

  /** How many of them keep the process alive. */
  get referenced(): number {
    return [...this.#alarms].filter(({ isReferenced }) => isReferenced).length
  }

  /** How many alarms were ever asked for. */
  get made(): number {
    return this.#made
  }

  now(): number {
    return this.#now
  }

  after(delay: number, callback: OnAlarm): Alarm {
    // setTimeout() takes such delays for 1 ms, without a word that a test would notice.
    if (!(delay >= 0 && delay <= 2 ** 31 - 1)) throw new RangeError(`No timer takes a delay of ${delay} ms`)
    this.#made++
    return new FakeAlarm(this.#now + delay, callback, this.#alarms)
  }

  /** Moves on, and rings what is due on the way in its order, with the time of each. */
  advance(milliseconds: number): void {
    const end = this.#now + milliseconds
    for (let next = this.#takeDue(end); next !== null; next = this.#takeDue(end)) {
      this.#now = Math.max(this.#now, next.at)
      next.callback(this.#now)
    }
    this.#now = end
  }

  /** Moves on with nothing ringing, as when a busy process comes late to its timers. */
  skip(milliseconds: number): void {
    this.#now += milliseconds
  }

  #takeDue(end: number): FakeAlarm | null {
    let soonest: FakeAlarm | null = null
    for (const alarm of this.#alarms) {
      if (alarm.at <= end && (soonest === null || alarm.at < soonest.at)) soonest = alarm
    }
    soonest?.cancel()
    return soonest
  }
}
