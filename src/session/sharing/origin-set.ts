/**
 * A connection's Origin Set (RFC 8336 §2.3).
 *
 * @module
 */

/** The most origins that are kept for one connection, and the most bytes of their names. */
const MAX_ORIGINS = 128
const MAX_BYTES = 65_536

/** An origin's ASCII serialization (RFC 6454 §6.2), which has no path and no credentials. */
const ORIGIN = /^https:\/\/[^/?#@\\\s]+$/i

/**
 * The origins that a server claims with ORIGIN frames. The origin that the connection was opened for is always
 * included.
 */
export class OriginSet {
  readonly #origins: Set<string>
  #bytes = 0

  /** @param own as `URL.origin` writes it: the host that TLS has asked for, and the port */
  constructor(own: string) {
    this.#origins = new Set([own])
  }

  /** @param origin as `URL.origin` writes it */
  has(origin: string): boolean {
    return this.#origins.has(origin)
  }

  /**
   * Adds what a frame lists: entries that aren't `https:` origins are ignored, and so are entries beyond the limits.
   */
  add(entries: readonly string[]): void {
    for (const entry of entries) {
      const origin = toOriginOf(entry)
      if (origin === null || this.#origins.has(origin)) continue
      if (this.#origins.size >= MAX_ORIGINS || this.#bytes + origin.length > MAX_BYTES) return
      this.#bytes += origin.length
      this.#origins.add(origin)
    }
  }

  /** RFC 8336 §2.3: a 421 removes the origin. */
  delete(origin: string): void {
    this.#origins.delete(origin)
  }
}

function toOriginOf(entry: string): string | null {
  if (!ORIGIN.test(entry)) return null
  try {
    return new URL(entry).origin
  } catch {
    return null
  }
}
