/**
 * Keeps what the sessions of one origin have learned, for the sessions that follow.
 *
 * @module
 */

import type { FallbackReason } from '../../types/channels.ts'
import type { Clock } from '../core/clock.ts'
import { Learned } from './learned.ts'
import { toToleratedBurst } from './stream/reset-tolerance.ts'
import { MAX_TICKET_AGE, TlsTicket } from './tls-ticket.ts'

/** The interval between PINGs grows to at most this many times the configured one. */
const MAX_PING_FACTOR = 64

const GRPC = 'application/grpc'

/**
 * Whether the type is `application/grpc`, `application/grpc+proto` or the like; `application/grpc-web` is not, as it
 * comes from a gateway.
 */
function isGrpc(contentType: unknown): boolean {
  if (typeof contentType !== 'string' || !contentType.startsWith(GRPC)) return false
  return contentType.length === GRPC.length || '+; '.includes(contentType.charAt(GRPC.length))
}

/**
 * - `unknown`: the next connection chooses
 * - `http/1.1`: the origin speaks no HTTP/2, as far as is known, or by the caller's option
 */
export type OriginProtocol = 'unknown' | 'http/1.1'

/**
 * How it was learned that an origin speaks HTTP/1.1:
 *
 * - `alpn`: a connection that was offered both has chosen it. The next connection may choose otherwise
 * - `required`: a server that speaks HTTP/2 has asked for it (HTTP_1_1_REQUIRED)
 */
type Http1Reason = Extract<FallbackReason, 'alpn' | 'required'>

const MINUTE = 60_000
const HOUR = 60 * MINUTE
const DAY = 24 * HOUR

/** How long each thing is believed after it was learned. Milliseconds. docs/connections.md has the same table. */
export const MAX_AGES = {
  /** A roll-out of HTTP/2 is noticed by then, where no new connection of the fallback notices it before. */
  protocol: 5 * MINUTE,
  streamLimit: HOUR,
  tlsTicket: MAX_TICKET_AGE,
  pingFactor: DAY,
  isGrpc: DAY,
  resetBurst: 10 * MINUTE,
} as const

/**
 * What the sessions of one origin have learned. Everything in it is a hint with an age: see {@link MAX_AGES}. It lives
 * as long as the origin's dispatcher. Its size doesn't depend on the number of sessions.
 */
export class OriginMemory {
  /** Whether the caller has chosen HTTP/1.1: that isn't learned, and stays. */
  readonly isHttp1Chosen: boolean
  /** Why the fallback serves requests, as subscribers were told last; null since HTTP/2 was chosen. Written by it. */
  toldFallback: FallbackReason | null = null
  readonly #http1: Learned<Http1Reason>
  readonly #streamLimit: Learned<number>
  readonly #tlsTicket: TlsTicket
  readonly #pingFactor: Learned<number>
  readonly #isGrpc: Learned<boolean>
  readonly #resetBurst: Learned<number>

  constructor(clock: Pick<Clock, 'now'>, protocol: OriginProtocol = 'unknown') {
    this.isHttp1Chosen = protocol === 'http/1.1'
    this.#http1 = new Learned(clock, MAX_AGES.protocol)
    this.#streamLimit = new Learned(clock, MAX_AGES.streamLimit)
    this.#tlsTicket = new TlsTicket(clock)
    this.#pingFactor = new Learned(clock, MAX_AGES.pingFactor)
    this.#isGrpc = new Learned(clock, MAX_AGES.isGrpc)
    this.#resetBurst = new Learned(clock, MAX_AGES.resetBurst)
  }

  get protocol(): OriginProtocol {
    return this.isHttp1Chosen || this.#http1.value !== null ? 'http/1.1' : 'unknown'
  }

  /** Whether the origin's next connection may choose HTTP/2, although the last one has chosen HTTP/1.1. */
  get mayChooseHttp2(): boolean {
    return !this.isHttp1Chosen && this.#http1.value === 'alpn'
  }

  /** How it was learned that the origin speaks HTTP/1.1; null while it isn't known to. */
  get http1Reason(): Http1Reason | null {
    return this.#http1.value
  }

  /** A connection has chosen HTTP/2, or takes no HTTP/1.1. */
  onHttp2(): void {
    if (this.#http1.last === 'alpn') this.#http1.clear()
    this.toldFallback = null
  }

  /** A connection has chosen HTTP/1.1, or a server requires it. */
  onHttp1(reason: Http1Reason): void {
    if (reason === 'required' || this.#http1.value !== 'required') this.#http1.learn(reason)
  }

  /** No connection can be made that speaks HTTP/1.1. */
  onNoHttp1(): void {
    this.#http1.clear()
  }

  /** The peer's last SETTINGS_MAX_CONCURRENT_STREAMS; null before any. */
  get streamLimit(): number | null {
    return this.#streamLimit.value
  }

  /** The peer has sent SETTINGS. */
  onStreamLimit(limit: number): void {
    this.#streamLimit.learn(limit)
  }

  /** The last TLS session ticket of the peer. */
  get tlsTicket(): TlsTicket {
    return this.#tlsTicket
  }

  /**
   * Forgets what is too old of the things that are read for each request. A session calls it when it begins, and
   * whenever it looks after its connection.
   */
  expire(): void {
    this.#pingFactor.expire()
    this.#isGrpc.expire()
  }

  /**
   * The factor by which the interval between PINGs is larger than configured, since the peer has complained; 1 at
   * first.
   */
  get pingFactor(): number {
    return this.#pingFactor.last ?? 1
  }

  /** Whether the peer has complained of our PINGs. */
  get isPingShy(): boolean {
    return this.pingFactor > 1
  }

  /** The peer has complained of our PINGs. */
  onTooManyPings(): void {
    this.#pingFactor.learn(Math.min(this.pingFactor * 2, MAX_PING_FACTOR))
  }

  /** Whether the peer has responded in gRPC, whose servers count PINGs; null before its first response of any kind. */
  get isGrpc(): boolean | null {
    return this.#isGrpc.last
  }

  /** The peer has responded to a call. @param contentType of that response; undefined for none */
  onResponse(contentType: unknown): void {
    const { last } = this.#isGrpc
    if (last === true) return
    const isOfGrpc = isGrpc(contentType)
    if (isOfGrpc !== last) this.#isGrpc.learn(isOfGrpc)
  }

  /** The most resets that a session should send at once; Infinity where nothing is known. */
  get resetBurst(): number {
    return this.#resetBurst.value ?? Number.POSITIVE_INFINITY
  }

  /** A server has ended a session by GOAWAY. @param resets that the session has sent */
  onGoaway(code: number, resets: number): void {
    const burst = toToleratedBurst(code, resets, this.resetBurst)
    if (burst !== null) this.#resetBurst.learn(burst)
  }
}
