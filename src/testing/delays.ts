/**
 * Waits that end together with what they belong to.
 *
 * @module
 */

// The process's own, even if a test replaces the global ones with fake timers.
const { setTimeout, clearTimeout } = globalThis

/** The waits of a connection or a socket. */
export class Delays {
  readonly #settles = new Set<(hasPassed: boolean) => void>()
  #hasEnded = false

  /** @returns false if everything ended before */
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

  /** Ends all waits, and those that follow. */
  end(): void {
    this.#hasEnded = true
    for (const settle of [...this.#settles]) settle(false)
  }
}
