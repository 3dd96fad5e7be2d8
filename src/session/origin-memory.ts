/**
 * What the sessions of one origin have learned, for those that follow.
 *
 * @module
 */

/** No PING is sent more rarely than this many times the configured interval. */
const MAX_PING_FACTOR = 64

/** It lives as long as the origin's dispatcher, and is as large for one session as for a million. */
export class OriginMemory {
  /** The peer's last SETTINGS_MAX_CONCURRENT_STREAMS; null before any. */
  streamLimit: number | null = null
  /** The last TLS session that the peer gave us a ticket for (RFC 8446 §2.2); null for none, and over cleartext. */
  tlsSession: Buffer | null = null
  #pingFactor = 1

  /** By how much more rarely than configured the peer wants to be asked whether it lives. */
  get pingFactor(): number {
    return this.#pingFactor
  }

  /** The peer has complained of our PINGs. */
  onTooManyPings(): void {
    this.#pingFactor = Math.min(this.#pingFactor * 2, MAX_PING_FACTOR)
  }
}
