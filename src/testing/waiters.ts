/**
 * Those who wait for something of a server to come.
 *
 * @module
 */

// Those of the process, also where a test replaces the global ones by fake timers.
const { setTimeout, clearTimeout, setInterval, clearInterval } = globalThis

/** Milliseconds. A condition may be about something that no server hears of. */
const LOOK = 10

interface Waiter {
  /** @returns whether it has been told */
  tell(): boolean
  /** Nothing more will come. */
  fail(error: Error): void
}

/** Who waits, and for what. */
export class Waiters {
  #list: Waiter[] = []
  #end: Error | null = null
  #looks: NodeJS.Timeout | null = null

  /**
   * Settles as soon as the condition holds.
   *
   * @param onTimeout the error, if that takes longer
   */
  wait<Value>(
    condition: () => Value,
    timeout: number,
    onTimeout: () => Error,
  ): Promise<Exclude<Value, Falsy>> {
    const waiting = new Promise<Exclude<Value, Falsy>>((resolve, reject) => {
      const impatience = setTimeout(() => waiter.fail(onTimeout()), timeout)
      const tell = (): boolean => {
        try {
          const value = condition()
          if (!isTruthy(value)) return false
          resolve(value)
        } catch (error) {
          reject(error)
        }
        clearTimeout(impatience)
        return true
      }
      const fail = (error: Error): void => {
        clearTimeout(impatience)
        this.#keep(this.#list.filter((one) => one !== waiter))
        reject(error)
      }
      const waiter: Waiter = { tell, fail }
      if (tell()) return
      if (this.#end === null) this.#keep([...this.#list, waiter])
      else fail(this.#end)
    })
    // A wait that nobody looks at must not end the process when the server closes.
    waiting.catch(() => {})
    return waiting
  }

  /** Nothing more will come: all waits fail, and those to come whose condition doesn't hold. */
  end(error: Error): void {
    this.#end = error
    for (const waiter of [...this.#list]) waiter.fail(error)
  }

  /** Something has come. */
  tell(): void {
    if (this.#list.length === 0) return
    const list = this.#list
    this.#list = []
    const left = list.filter((waiter) => !waiter.tell())
    // A condition may have waited for something itself.
    this.#keep([...left, ...this.#list])
  }

  #keep(list: Waiter[]): void {
    this.#list = list
    if (list.length > 0) this.#looks ??= setInterval(() => this.tell(), LOOK)
    else if (this.#looks !== null) {
      clearInterval(this.#looks)
      this.#looks = null
    }
  }
}

/** What a condition returns that doesn't hold. */
export type Falsy = false | 0 | '' | null | undefined

function isTruthy<Value>(value: Value): value is Exclude<Value, Falsy> {
  return Boolean(value)
}
