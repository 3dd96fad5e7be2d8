/**
 * Time that passes as soon as nothing else happens: a limit of minutes fires at once, and a wait for ever is found at
 * once. While something happens, it passes slowly.
 *
 * It takes the place of the timers and of `performance.now()`, which is all that the client's clock asks for. What node
 * itself waits for goes on in real time.
 */

import { syncBuiltinESMExports } from 'node:module'
import timers from 'node:timers'

/** An alarm of the global `setTimeout()`, or of the harness. */
class VirtualTimer {
  readonly at: number
  readonly callback: () => void
  /** Of the code under test, as opposed to the harness. */
  readonly isForeign: boolean

  constructor(at: number, callback: () => void, isForeign: boolean) {
    this.at = at
    this.callback = callback
    this.isForeign = isForeign
  }

  ref(): this {
    return this
  }

  unref(): this {
    return this
  }

  hasRef(): boolean {
    return true
  }
}

/** Real milliseconds: so long bytes may be on their way in the kernel, before time passes all the same. */
const PATIENCE = 25
/**
 * Turns of the event loop that take a millisecond, however much happens in them. Otherwise two sides that send a byte to and fro would
 * stop the time for all others, among them for the one that they wait for.
 */
const TURNS_OF_A_MILLISECOND = 1_000
/** Real milliseconds, once no time is left: what other threads do (zlib) may be late. */
const LAST_PATIENCE = 1_000

/** The next turn of the event loop. */
function turn(): Promise<void> {
  return new Promise((resolve) => {
    setImmediate(resolve)
  })
}

/** One per process. */
export class VirtualTime {
  /** Turns of the event loop in which nothing may happen before time passes. */
  quietTurns = 4
  /** Whether something is under way that the event loop doesn't tell of, such as bytes in the kernel. */
  isBusy: () => boolean = () => false
  /** Called with the exception of an alarm's callback: node's timers don't return it to their caller either. */
  onThrown: (thrown: unknown) => void = () => {}
  /** Called with each event, for a log; missing without one. */
  onLog: ((line: string) => void) | null = null
  #now = 1_000
  #timers: VirtualTimer[] = []
  #activity = 0
  readonly #realNow = performance.now.bind(performance)

  /** Milliseconds. */
  get now(): number {
    return this.#now
  }

  /** Real milliseconds since some fixed point. */
  get real(): number {
    return this.#realNow()
  }

  /** Alarms of the code under test that haven't rung. */
  get foreign(): number {
    return this.#timers.filter(({ isForeign }) => isForeign).length
  }

  /** Something has happened. */
  touch(): void {
    this.#activity++
  }

  /** Logs an event with its time. Its text is made only if there is a log. */
  log(what: () => string): void {
    this.onLog?.(`${this.#now.toFixed(0)} ms: ${what()}`)
  }

  /** An alarm of the harness's own. */
  after(delay: number, callback: () => void): void {
    this.#add(delay, callback, false)
  }

  /** Settles after so many virtual milliseconds. */
  sleep(delay: number): Promise<void> {
    return new Promise((resolve) => {
      this.after(delay, resolve)
    })
  }

  /** Cancels all alarms: the round is over. */
  clear(): void {
    this.#timers = []
  }

  /**
   * Replaces the timers, global and imported, for good: its process does nothing else. To be called before the client
   * is loaded.
   */
  install(): void {
    const set = (callback: (...given: unknown[]) => void, delay = 0, ...given: unknown[]): VirtualTimer =>
      this.#add(Number(delay), given.length === 0 ? callback : () => callback(...given), true)
    const both = { setTimeout: set, clearTimeout: (timer: unknown) => this.#remove(timer) }
    Object.assign(globalThis, both)
    Object.assign(timers, both)
    syncBuiltinESMExports()
    // The client asks the class, whose method is the real one under fakes of others.
    for (const holder of [performance, Object.getPrototypeOf(performance)])
      Object.defineProperty(holder, 'now', { value: () => this.#now, configurable: true })
  }

  /** Lets things happen for so many virtual milliseconds, or until a condition holds. */
  async pass(span: number, condition: () => boolean = () => false): Promise<void> {
    await this.#until(condition, this.#now + span)
  }

  /**
   * Lets things happen, and time pass, until a condition holds. False when it doesn't within `limit` virtual
   * milliseconds.
   */
  async until(condition: () => boolean, limit: number): Promise<boolean> {
    if (await this.#until(condition, this.#now + limit)) return true
    const begun = this.#realNow()
    while (!condition() && this.#realNow() - begun < LAST_PATIENCE) await turn()
    return condition()
  }

  async #until(condition: () => boolean, end: number): Promise<boolean> {
    let seen = -1
    let quiet = 0
    let since = 0
    let turns = 0
    while (!condition()) {
      if (++turns > TURNS_OF_A_MILLISECOND) {
        turns = 0
        if (!this.#passMillisecond(end)) return condition()
      }
      if (this.#activity !== seen) {
        seen = this.#activity
        quiet = 0
        since = this.#realNow()
      } else if (++quiet > this.quietTurns && !(this.isBusy() && this.#realNow() - since < PATIENCE)) {
        if (!this.#pass(end)) return condition()
        turns = 0
      }
      await turn()
    }
    return true
  }

  /** The alarms of one millisecond. False when that would be later than `end`. */
  #passMillisecond(end: number): boolean {
    const next = this.#now + 1
    if (next > end) return false
    while (this.#pass(next)) {}
    this.#now = next
    return true
  }

  /** To the next alarm. False when that is later than `end`, or there is none. */
  #pass(end: number): boolean {
    let next: VirtualTimer | undefined
    for (const timer of this.#timers) if (next === undefined || timer.at < next.at) next = timer
    if (next === undefined || next.at > end) return false
    this.#remove(next)
    this.#now = Math.max(this.#now, next.at)
    this.touch()
    try {
      next.callback()
    } catch (thrown) {
      this.onThrown(thrown)
    }
    return true
  }

  #add(delay: number, callback: () => void, isForeign: boolean): VirtualTimer {
    // As node's: nothing is due at once.
    const timer = new VirtualTimer(this.#now + Math.max(1, delay || 0), callback, isForeign)
    this.#timers.push(timer)
    return timer
  }

  #remove(timer: unknown): void {
    const at = this.#timers.indexOf(timer as VirtualTimer)
    if (at !== -1) this.#timers.splice(at, 1)
  }
}
