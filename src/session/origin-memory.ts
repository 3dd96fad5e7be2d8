/**
 * Keeps what one origin's sessions have learned, for the sessions that follow.
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
 * Whether the type is `application/grpc`, `application/grpc+proto` or similar; `application/grpc-web` isn't, because
 * it comes from a gateway.
 */
function isGrpc(contentType: unknown): boolean {
  if (typeof contentType !== 'string' || !contentType.startsWith(GRPC)) return false
  return contentType.length === GRPC.length || '+; '.includes(contentType.charAt(GRPC.length))
}

/**
 * - `unknown`: the next connection chooses
 * - `http/1.1`: as far as is known, the origin doesn't speak HTTP/2, or the caller has chosen HTTP/1.1
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

/** How many milliseconds each fact is believed after it was learned. docs/connections.md has the same table. */
export const MAX_AGES = {
  /** Long enough to notice a roll-out of HTTP/2, unless a new fallback connection notices it before. */
  protocol: 5 * MINUTE,
  streamLimit: HOUR,
  tlsTicket: MAX_TICKET_AGE,
  pingFactor: DAY,
  isGrpc: DAY,
  resetBurst: 10 * MINUTE,
} as const

/**
 * What one origin's sessions have learned. Everything in it is a hint with an age: see {@link MAX_AGES}. It lives as
 * long as the origin's dispatcher. Its size doesn't depend on the number of sessions.
 */
export class OriginMemory {
  /** Whether the caller has chosen HTTP/1.1: that isn't learned, and doesn't expire. */
  readonly isHttp1Chosen: boolean
  /**
   * The reason for the fallback that subscribers were last told; null since HTTP/2 was chosen. Written by the
   * fallback.
   */
  toldFallback: FallbackReason | null = null
  readonly #http1: Learned<Http1Reason>
  /** The same, but it doesn't expire: it decides only who serves the calls when a connection fails. */
  #formerHttp1: Http1Reason | null = null
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

  /** How it was learned that the origin speaks HTTP/1.1; null if that isn't known. */
  get http1Reason(): Http1Reason | null {
    return this.#http1.value
  }

  /** A connection has chosen HTTP/2, or doesn't accept HTTP/1.1. */
  onHttp2(): void {
    if (this.#http1.last === 'alpn') this.#http1.clear()
    this.#formerHttp1 = null
    this.toldFallback = null
  }

  /** A connection has chosen HTTP/1.1, or a server requires it. */
  onHttp1(reason: Http1Reason): void {
    if (reason === 'required' || this.#http1.value !== 'required') this.#http1.learn(reason)
    this.#formerHttp1 = this.#http1.last
  }

  /** No connection that speaks HTTP/1.1 can be made. */
  onNoHttp1(): void {
    this.#http1.clear()
    this.#formerHttp1 = null
  }

  /**
   * The connection that was to find out whether the origin still speaks HTTP/1.1 has failed.
   *
   * @returns whether that is believed again; false if the origin didn't speak it
   */
  onProbeFailed(): boolean {
    if (this.#formerHttp1 === null) return false
    this.#http1.learn(this.#formerHttp1)
    return true
  }

  /** The peer's last SETTINGS_MAX_CONCURRENT_STREAMS; null if none has arrived. */
  get streamLimit(): number | null {
    return this.#streamLimit.value
  }

  /** The peer has sent SETTINGS. */
  onStreamLimit(limit: number): void {
    this.#streamLimit.learn(limit)
  }

  /** The last TLS session ticket from the peer. */
  get tlsTicket(): TlsTicket {
    return this.#tlsTicket
  }

  /**
   * Forgets outdated facts that are read for each request. A session calls it when it begins, and whenever it checks
   * its connection.
   */
  expire(): void {
    this.#pingFactor.expire()
    this.#isGrpc.expire()
  }

  /** How much longer than configured the interval between PINGs is, because the peer has complained; 1 at first. */
  get pingFactor(): number {
    return this.#pingFactor.last ?? 1
  }

  /** Whether the peer has complained about Dodici's PINGs. */
  get isPingShy(): boolean {
    return this.pingFactor > 1
  }

  /** The peer has complained about Dodici's PINGs. */
  onTooManyPings(): void {
    this.#pingFactor.learn(Math.min(this.pingFactor * 2, MAX_PING_FACTOR))
  }

  /**
   * Whether the peer has responded with gRPC, whose servers count PINGs; null before its first response of any kind.
   */
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

  /** The most resets that a session should send in one burst; Infinity if nothing is known. */
  get resetBurst(): number {
    return this.#resetBurst.value ?? Number.POSITIVE_INFINITY
  }

  /** A server has ended a session with GOAWAY. @param resets how many the session has sent */
  onGoaway(code: number, resets: number): void {
    const burst = toToleratedBurst(code, resets, this.resetBurst)
    if (burst !== null) this.#resetBurst.learn(burst)
  }
}
