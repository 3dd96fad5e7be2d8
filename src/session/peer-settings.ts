/**
 * The peer's SETTINGS, and the limits that follow from them.
 *
 * @module
 */

import { originalSetImmediate } from '../core/original-timers.ts'
import type { OriginMemory } from './origin-memory.ts'

/** How many streams may be open before the peer's SETTINGS have arrived: RFC 9113 §6.5.2 recommends no lower limit. */
const LIMIT_BEFORE_SETTINGS = 100

/**
 * The largest value of a setting. nghttp2 gets it as its own limit, because Dodici holds calls back itself, and
 * nghttp2 must not queue any.
 */
export const UNLIMITED = 2 ** 32 - 1

/** The peer's SETTINGS that matter above an engine. Missing ones have the protocol's default. */
export interface AnnouncedSettings {
  readonly maxConcurrentStreams?: number | undefined
  readonly enableConnectProtocol?: boolean | undefined
  readonly maxHeaderListSize?: number | undefined
}

/** The settings of one session's peer. */
export class PeerSettings {
  readonly #ownLimit: number
  readonly #memory: OriginMemory
  #peerLimit: number | null = null
  #areSettled = false
  #offersExtendedConnect = false
  #maxHeaderListSize = UNLIMITED
  #limit: number

  /**
   * @param ownLimit the most streams that Dodici opens, whatever the peer allows
   * @param mustWait whether only the first request is sent until the peer's limit is known
   */
  constructor(ownLimit: number, memory: OriginMemory, mustWait = false) {
    this.#ownLimit = ownLimit
    this.#memory = memory
    const unknown = mustWait ? 1 : UNLIMITED
    this.#limit = Math.min(LIMIT_BEFORE_SETTINGS, memory.streamLimit ?? unknown, ownLimit)
  }

  /** The peer's SETTINGS_MAX_CONCURRENT_STREAMS; null until its SETTINGS have arrived. */
  get peerLimit(): number | null {
    return this.#peerLimit
  }

  /**
   * Whether the SETTINGS have arrived, and the frames that the peer sent with them were handled: a GOAWAY, for
   * example.
   */
  get areSettled(): boolean {
    return this.#areSettled
  }

  /** SETTINGS_ENABLE_CONNECT_PROTOCOL (RFC 8441 §3); false until the SETTINGS have arrived. */
  get offersExtendedConnect(): boolean {
    return this.#offersExtendedConnect
  }

  /**
   * The largest field section that the peer accepts: SETTINGS_MAX_HEADER_LIST_SIZE, in bytes counted as in RFC 9113
   * §6.5.2. No limit until the SETTINGS have arrived.
   */
  get maxHeaderListSize(): number {
    return this.#maxHeaderListSize
  }

  /** How many streams may be open now. */
  get limit(): number {
    return this.#limit
  }

  settle(): void {
    this.#areSettled = true
  }

  /** Calls `settle()` once the read that brought the SETTINGS has been handled. */
  settleLater(onSettled: () => void): void {
    originalSetImmediate(() => {
      this.settle()
      onSettled()
    })
  }

  /** The SETTINGS have arrived, or changed. Missing settings have the protocol's default. */
  update({
    maxConcurrentStreams = UNLIMITED,
    enableConnectProtocol = false,
    maxHeaderListSize = UNLIMITED,
  }: AnnouncedSettings): void {
    this.#offersExtendedConnect = enableConnectProtocol
    this.#maxHeaderListSize = maxHeaderListSize
    this.#peerLimit = maxConcurrentStreams
    this.#memory.onStreamLimit(maxConcurrentStreams)
    this.#limit = Math.min(maxConcurrentStreams, this.#ownLimit)
  }
}
