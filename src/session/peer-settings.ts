/**
 * What the peer's SETTINGS have said, and what follows for us.
 *
 * @module
 */

import type { Settings } from 'node:http2'
import { originalSetImmediate } from '../core/original-timers.ts'
import type { OriginMemory } from './origin-memory.ts'

/** Streams that may be open before the peer has told its limit: RFC 9113 §6.5.2 recommends no limit below this. */
const LIMIT_BEFORE_SETTINGS = 100

/**
 * The largest value of a setting. nghttp2 must not queue above a limit of its own, since we hold calls back ourselves.
 */
export const UNLIMITED = 2 ** 32 - 1

/** The settings of one session's peer. */
export class PeerSettings {
  readonly #ownLimit: number
  readonly #memory: OriginMemory
  #peerLimit: number | null = null
  #areSettled = false
  #offersExtendedConnect = false
  #limit: number

  /** @param ownLimit how many streams we would have at most, whatever the peer allows */
  constructor(ownLimit: number, memory: OriginMemory) {
    this.#ownLimit = ownLimit
    this.#memory = memory
    this.#limit = Math.min(LIMIT_BEFORE_SETTINGS, memory.streamLimit ?? UNLIMITED, ownLimit)
  }

  /** SETTINGS_MAX_CONCURRENT_STREAMS; null until they have come. */
  get peerLimit(): number | null {
    return this.#peerLimit
  }

  /** They have come, and so has what the peer sent along with them: a GOAWAY, say. */
  get areSettled(): boolean {
    return this.#areSettled
  }

  /** SETTINGS_ENABLE_CONNECT_PROTOCOL (RFC 8441 §3); false until they have come. */
  get offersExtendedConnect(): boolean {
    return this.#offersExtendedConnect
  }

  /** How many streams may be open now. */
  get limit(): number {
    return this.#limit
  }

  settle(): void {
    this.#areSettled = true
  }

  /** `settle()` once the read that they came in has been handled. */
  settleLater(onSettled: () => void): void {
    originalSetImmediate(() => {
      this.settle()
      onSettled()
    })
  }

  /** They have come, or changed. What they don't say has the protocol's own default. */
  update({ maxConcurrentStreams = UNLIMITED, enableConnectProtocol = false }: Settings): void {
    this.#offersExtendedConnect = enableConnectProtocol
    this.#peerLimit = maxConcurrentStreams
    this.#memory.streamLimit = maxConcurrentStreams
    this.#limit = Math.min(maxConcurrentStreams, this.#ownLimit)
  }
}
