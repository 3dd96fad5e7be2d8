/**
 * The loop that sends requests, and counts the results.
 *
 * @module
 */

import type { DispatchController, DispatchHandler } from '../../../types/handler.ts'
import type { DispatchOptions } from '../../../types/request.ts'
import type { Alarm, Clock } from '../../core/clock.ts'
import { noop } from '../../core/noop.ts'
import type { LoadFigures } from './load-job.ts'
import type { Pace } from './pacer.ts'
import { Pacer } from './pacer.ts'
import { Tally } from './tally.ts'

/** The part of a dispatcher that is used. */
export interface Sender {
  dispatch(options: DispatchOptions, handler: DispatchHandler): boolean
}

/** One session, and how many requests it may have at a time. */
export interface Lane {
  readonly sender: Sender
  readonly streams: number
}

/** How much is sent, and how fast. */
export interface LoadPlan {
  /** How many requests; null for any number. */
  readonly requests: number | null
  /** After so many milliseconds, no more requests are sent; null for any time. */
  readonly duration: number | null
  /** Null: a session sends a request as soon as an earlier one has ended. */
  readonly pace: Pace | null
}

/** A {@link LoadRun}'s results. */
export interface LoadOutcome extends LoadFigures {
  readonly tally: Tally
}

/**
 * How long to wait after an error, in milliseconds: a session that has just failed may fail the next requests at once.
 */
const REST_AFTER_ERRORS = 1

/** A request that is sent this many milliseconds after it was due is late. */
const LATE = 1

/** `open`: requests are sent. `draining`: it waits for those that were sent. */
type RunState = 'open' | 'draining' | 'closed'

/** One place for a request on one session: its handler, reused. */
class Slot implements DispatchHandler {
  readonly sender: Sender
  readonly #run: LoadRun
  // Not 0: V8 would change the field's representation with the first fraction.
  due = Number.NaN
  sent = Number.NaN
  status = 0

  constructor(sender: Sender, run: LoadRun) {
    this.sender = sender
    this.#run = run
  }

  onRequestStart(): void {}

  /** Only the last one isn't informational. */
  onResponseStart(_controller: DispatchController, status: number): void {
    this.status = status
  }

  onResponseData(_controller: DispatchController, chunk: Buffer): void {
    this.#run.addBytes(chunk.length)
  }

  onResponseEnd(): void {
    this.#run.onResponse(this)
  }

  onResponseError(_controller: DispatchController, error: Error): void {
    this.#run.onFailure(this, error)
  }
}

/**
 * One run over open sessions. Without a pace, it is a closed loop: when a request ends, the next one starts. With a
 * pace, it is an open loop: what is due while all places are taken waits for one, as a number.
 */
export class LoadRun {
  readonly #options: readonly DispatchOptions[]
  readonly #clock: Clock
  readonly #begun: number
  readonly #endAt: number
  readonly #most: number
  readonly #pacer: Pacer | null
  /** How many requests are due in the whole run. */
  readonly #mostDue: number
  readonly #tally = new Tally()
  #settle: (outcome: LoadOutcome) => void = noop
  /** Settles when the run is over. It doesn't reject. */
  readonly outcome: Promise<LoadOutcome>
  #state: RunState = 'open'
  #sent = 0
  #inFlight = 0
  /** Which of the options is next. */
  #turn = 0
  #sentLate = 0
  #elapsed = 0
  #inTime = 0
  #mostWaiting = 0
  /** Places without a request: in an open loop, all that wait for one, in a closed loop, those that rest. */
  readonly #free: Slot[] = []
  /** The first one in `#free` that is still free: taken in turn, so that all sessions get requests. */
  #firstFree = 0
  /** Ends the duration. */
  #endAlarm: Alarm | null = null
  /** Sends what is due then, or what waits after a failure. */
  #sendAlarm: Alarm | null = null
  /** When it fires, in the clock's milliseconds. */
  #sendAt = 0

  /**
   * Begins.
   *
   * @param options the requests' options, in turn. The senders may ask for them any number of times
   */
  constructor(lanes: readonly Lane[], options: readonly DispatchOptions[], plan: LoadPlan, clock: Clock) {
    this.#options = options
    this.#clock = clock
    const now = clock.now()
    this.#begun = now
    this.#endAt = now + (plan.duration ?? Number.POSITIVE_INFINITY)
    this.#most = plan.requests ?? Number.POSITIVE_INFINITY
    this.#pacer = plan.pace === null ? null : new Pacer(plan.pace, now)
    this.#mostDue = Math.min(this.#most, this.#pacer?.dueBefore(this.#endAt) ?? this.#most)
    this.outcome = new Promise((resolve) => {
      this.#settle = resolve
    })
    if (plan.duration !== null) this.#endAlarm = clock.after(plan.duration, () => this.#drain(this.#endAt))
    this.#addSlots(lanes)
    this.#fill(now)
    // If there are few requests, a thread may get none.
    this.#closeIfDone(now)
  }

  /** Responses and failures so far. */
  get progress(): { readonly responses: number; readonly failures: number } {
    return { responses: this.#tally.responses, failures: this.#tally.failures }
  }

  /** Ends the run at once, with the results so far. Requests in flight are left to their senders. */
  cut(): void {
    if (this.#state === 'open') this.#drain(this.#clock.now())
    this.#close()
  }

  addBytes(count: number): void {
    this.#tally.bodyBytes += count
  }

  onResponse(slot: Slot): void {
    if (this.#state === 'closed') return
    const now = this.#clock.now()
    const { statuses, latency, service, series } = this.#tally
    statuses[slot.status] = (statuses[slot.status] ?? 0) + 1
    latency.record(now - slot.due)
    if (this.#pacer !== null) service.record(now - slot.sent)
    series.record(now - this.#begun)
    this.#inFlight--
    // The clock may be ahead of the alarm.
    if (now > this.#endAt) this.#drain(this.#endAt)
    if (this.#state === 'open') this.#inTime++
    this.#reuse(slot, now)
  }

  onFailure(slot: Slot, error: Error): void {
    if (this.#state === 'closed') return
    this.#tally.recordError('code' in error ? String(error.code) : error.name)
    this.#inFlight--
    // A call may fail while it is dispatched: sending the next one from here could go on for ever.
    this.#free.push(slot)
    const now = this.#clock.now()
    this.#arm(now + REST_AFTER_ERRORS, now)
    this.#closeIfDone(now)
  }

  /** First one place of each session, then the second of each, and so on. */
  #addSlots(lanes: readonly Lane[]): void {
    const most = Math.max(...lanes.map(({ streams }) => streams))
    for (let place = 0; place < most; place++) {
      for (const { sender, streams } of lanes) if (place < streams) this.#free.push(new Slot(sender, this))
    }
  }

  /** A response has freed a place. */
  #reuse(slot: Slot, now: number): void {
    if (this.#pacer === null && this.#state === 'open' && this.#sent < this.#most) {
      this.#send(slot, now, now)
      return
    }
    this.#free.push(slot)
    if (this.#pacer !== null) this.#fill(now)
    this.#closeIfDone(now)
  }

  /** Sends what may be sent now in the free places. */
  #fill(now: number): void {
    if (this.#state !== 'open') return
    const pacer = this.#pacer
    const due = this.#toDue(now)
    // Not those that become free meanwhile, through a failure in `dispatch()`.
    for (let places = this.#free.length - this.#firstFree; places > 0 && this.#sent < due; places--) {
      const slot = this.#takeFree()
      if (slot === null) break
      this.#send(slot, pacer === null ? now : pacer.dueAt(this.#sent), now)
    }
    if (pacer === null) return
    this.#mostWaiting = Math.max(this.#mostWaiting, due - this.#sent)
    // What waits is sent in the next place that becomes free.
    if (this.#sent === due && due < this.#mostDue) this.#arm(pacer.dueAt(due), now)
  }

  /** How many requests may have been sent by now. */
  #toDue(now: number): number {
    return this.#pacer === null ? this.#most : Math.min(this.#mostDue, this.#pacer.dueUntil(now))
  }

  #send(slot: Slot, due: number, now: number): void {
    slot.due = due
    slot.sent = now
    const options = this.#options[this.#turn]
    this.#turn = this.#turn + 1 === this.#options.length ? 0 : this.#turn + 1
    this.#sent++
    this.#inFlight++
    if (options !== undefined) slot.sender.dispatch(options, slot)
  }

  #takeFree(): Slot | null {
    const slot = this.#free[this.#firstFree]
    if (slot === undefined) return null
    this.#firstFree++
    // Moves the others once for as many as were taken.
    if (this.#firstFree * 2 >= this.#free.length) {
      this.#free.splice(0, this.#firstFree)
      this.#firstFree = 0
    }
    return slot
  }

  /** Sends what is due at that time, unless an earlier alarm does. */
  #arm(at: number, now: number): void {
    if (this.#state !== 'open' || (this.#sendAlarm !== null && this.#sendAt <= at)) return
    this.#sendAlarm?.cancel()
    this.#sendAt = at
    this.#sendAlarm = this.#clock.after(Math.max(0, at - now), () => {
      this.#sendAlarm = null
      const now = this.#clock.now()
      const { length } = this.#free
      // What is late here waited for this thread, not for a stream.
      if (this.#pacer !== null && this.#firstFree < length && this.#state === 'open')
        this.#sentLate += Math.max(0, this.#toDue(now - LATE) - this.#sent)
      this.#fill(now)
    })
  }

  /**
   * Sends nothing more.
   *
   * @param at when that was decided
   */
  #drain(at: number): void {
    if (this.#state !== 'open') return
    this.#state = 'draining'
    this.#elapsed = at - this.#begun
    this.#endAlarm?.cancel()
    this.#sendAlarm?.cancel()
    if (this.#inFlight === 0) this.#close()
  }

  #closeIfDone(now: number): void {
    if (this.#inFlight > 0) return
    if (this.#sent >= this.#most) this.#drain(now)
    if (this.#state === 'draining') this.#close()
  }

  #close(): void {
    if (this.#state === 'closed') return
    this.#state = 'closed'
    const unsent = this.#pacer === null ? 0 : this.#toDue(this.#begun + this.#elapsed) - this.#sent
    this.#settle({
      tally: this.#tally,
      elapsed: this.#elapsed,
      lasted: this.#clock.now() - this.#begun,
      inTime: this.#inTime,
      unsent,
      mostWaiting: Math.max(this.#mostWaiting, unsent),
      sentLate: this.#sentLate,
      unfinished: this.#inFlight,
    })
  }
}
