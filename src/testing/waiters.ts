/**
 * Waits until something happens at a server.
 *
 * @module
 */

// The process's own, even if a test replaces the global ones with fake timers.
const { setTimeout, clearTimeout, setInterval, clearInterval } = globalThis

/** In milliseconds. A condition may depend on something that the server doesn't notice. */
const LOOK = 10

interface Waiter {
  /** @returns whether the wait has ended */
  tell(): boolean
  /** Nothing more will come. */
  fail(error: Error): void
}

/** All waits, and their conditions. */
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
    // A wait that isn't awaited must not end the process when the server closes.
    waiting.catch(() => {})
    return waiting
  }

  /** Nothing more will come: all waits fail, and so do later ones whose condition doesn't hold. */
  end(error: Error): void {
    this.#end = error
    for (const waiter of [...this.#list]) waiter.fail(error)
  }

  /** Something has happened. */
  tell(): void {
    if (this.#list.length === 0) return
    const list = this.#list
    this.#list = []
    const left = list.filter((waiter) => !waiter.tell())
    // Meanwhile, a condition may have started a wait itself.
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

/** What a condition returns if it doesn't hold. */
export type Falsy = false | 0 | '' | null | undefined

function isTruthy<Value>(value: Value): value is Exclude<Value, Falsy> {
  return Boolean(value)
}
