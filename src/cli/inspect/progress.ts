/**
 * A line that shows how far a transfer is, on a terminal.
 *
 * @module
 */

import type { Terminal } from '../terminal.ts'

/** A line that changes faster than this, in milliseconds, can't be read. */
const INTERVAL = 100

/** Goes to the beginning of the line, and clears it. */
const CLEAR = '\r\u001b[K'

/** The progress line for one transfer after the other. Without a terminal, it draws nothing. */
export class Progress {
  readonly #terminal: Terminal
  readonly #isShown: boolean
  #start = 0
  #drawnAt = 0
  #isDrawn = false

  constructor(terminal: Terminal, isShown: boolean) {
    this.#terminal = terminal
    this.#isShown = isShown && terminal.isErrorTerminal
  }

  /** A transfer begins. */
  begin(): void {
    this.#start = performance.now()
    this.#drawnAt = 0
  }

  /**
   * @param verb `sent` or `received`
   * @param bytes how many so far
   * @param total null for unknown
   */
  update(verb: string, bytes: number, total: number | null): void {
    if (!this.#isShown) return
    const now = performance.now()
    if (now - this.#drawnAt < INTERVAL) return
    this.#drawnAt = now
    const seconds = Math.max(now - this.#start, 1) / 1_000
    const of =
      total === null ? '' : ` of ${toSize(total)}, ${Math.floor((100 * bytes) / Math.max(total, 1))} %`
    this.#terminal.draw(`${CLEAR}${verb} ${toSize(bytes)}${of}, ${toSize(bytes / seconds)}/s`)
    this.#isDrawn = true
  }

  /** Makes room for other output. */
  clear(): void {
    if (this.#isDrawn) this.#terminal.draw(CLEAR)
    this.#isDrawn = false
  }
}

const UNITS = ['B', 'kB', 'MB', 'GB', 'TB'] as const

/** `1.5 MB`: powers of 1,000. */
export function toSize(bytes: number): string {
  let size = bytes
  let unit = 0
  while (size >= 999.5 && unit < UNITS.length - 1) {
    size /= 1_000
    unit++
  }
  return `${unit === 0 || size >= 100 ? Math.round(size) : size.toFixed(1)} ${UNITS[unit]}`
}
