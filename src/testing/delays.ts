/**
 * Waits that end with what they belong to.
 *
 * @module
 */

// Those of the process, also where a test replaces the global ones by fake timers.
const { setTimeout, clearTimeout } = globalThis

/** The waits of a connection, or of a socket. */
export class Delays {
  readonly #settles = new Set<(hasPassed: boolean) => void>()
  #hasEnded = false

  /** @returns false where all has ended before */
  wait(milliseconds: number): Promise<boolean> {
    if (this.#hasEnded) return Promise.resolve(false)
    return new Promise((resolve) => {
      const settle = (hasPassed: boolean): void => {
        clearTimeout(timer)
        this.#settles.delete(settle)
        resolve(hasPassed)
      }
      const timer = setTimeout(settle, milliseconds, true)
      this.#settles.add(settle)
    })
  }

  /** Ends all waits, and those to come. */
  end(): void {
    this.#hasEnded = true
    for (const settle of [...this.#settles]) settle(false)
  }
}
