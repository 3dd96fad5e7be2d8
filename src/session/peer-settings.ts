/**
 * The peer's SETTINGS, and the limits that follow from them.
 *
 * @module
 */

import { originalSetImmediate } from '../core/original-timers.ts'
import type { OriginMemory } from './origin-memory.ts'

/**
 * The streams that may be open before the peer's SETTINGS have come: RFC 9113 §6.5.2 recommends no limit below this.
 */
const LIMIT_BEFORE_SETTINGS = 100

/**
 * The largest value of a setting. nghttp2 gets it as its own limit, since we hold calls back ourselves and it must not
 * queue any.
 */
export const UNLIMITED = 2 ** 32 - 1

/** What a peer's SETTINGS say that matters above an engine. What isn't in them has the protocol's default. */
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
   * @param ownLimit the most streams that we open, whatever the peer allows
   * @param mustWait whether nothing but the first request is sent before a limit of the peer is known
   */
  constructor(ownLimit: number, memory: OriginMemory, mustWait = false) {
    this.#ownLimit = ownLimit
    this.#memory = memory
    const unknown = mustWait ? 1 : UNLIMITED
    this.#limit = Math.min(LIMIT_BEFORE_SETTINGS, memory.streamLimit ?? unknown, ownLimit)
  }

  /** The peer's SETTINGS_MAX_CONCURRENT_STREAMS; null until its SETTINGS have come. */
  get peerLimit(): number | null {
    return this.#peerLimit
  }

  /**
   * Whether the SETTINGS have come, and the frames that the peer sent together with them were handled, too: a GOAWAY,
   * for example.
   */
  get areSettled(): boolean {
    return this.#areSettled
  }

  /** SETTINGS_ENABLE_CONNECT_PROTOCOL (RFC 8441 §3); false until the SETTINGS have come. */
  get offersExtendedConnect(): boolean {
    return this.#offersExtendedConnect
  }

  /**
   * The largest section of fields that the peer accepts: SETTINGS_MAX_HEADER_LIST_SIZE. Bytes, as RFC 9113 §6.5.2
   * counts them. No limit until the SETTINGS have come.
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

  /** The SETTINGS have come, or changed. A setting that they don't contain has the protocol's default. */
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
