/**
 * Counts our PINGs as a gRPC server does, which ends a connection with too many of them.
 *
 * @module
 */

/**
 * How many strikes a gRPC server tolerates. At the next one, it ends the connection: GOAWAY with ENHANCE_YOUR_CALM and
 * `too_many_pings`. (gRPC's proposal A8; grpc-go's `handlePing()`.)
 */
const MAX_STRIKES = 2

/** The least time between two PINGs that a gRPC server accepts by default while streams are open, in milliseconds. */
export const GRPC_INTERVAL = 300_000
/** The same while no stream is open, in milliseconds. */
const GRPC_IDLE_INTERVAL = 7_200_000

/**
 * Counts one connection's PINGs as the strictest of those servers does. The server resets its count at a PING that
 * arrives after it has sent HEADERS or DATA; other frames don't count. Any other PING that arrives too early is a
 * strike.
 *
 * Where we can't know what the server knows, this counts against us: HEADERS and DATA that arrive while a PING is in
 * flight may have been sent before the PING arrived, and the time between two PINGs runs from the first one's ACK.
 */
export class PingLedger {
  /** Whether HEADERS or DATA has arrived since the last PING's ACK. */
  #hasNews = false
  /** How many PINGs haven't been acknowledged yet. */
  #underWay = 0
  #strikes = 0
  /** When a PING was last sent or acknowledged; -Infinity before the first. */
  #lastAt = Number.NEGATIVE_INFINITY

  /** Whether a PING can be sent now at no cost, because it would not be a strike. */
  get isFree(): boolean {
    return this.#hasNews && this.#underWay === 0
  }

  /** Whether the next strike would end the connection. */
  get isSpent(): boolean {
    return this.#strikes >= MAX_STRIKES && !this.isFree
  }

  /** When a PING was last sent or acknowledged, in the owner's clock's milliseconds; -Infinity before the first. */
  get lastAt(): number {
    return this.#lastAt
  }

  /**
   * Whether the connection survives a PING that is sent now.
   *
   * @param hasStreams whether a stream is open
   */
  canSend(now: number, hasStreams: boolean): boolean {
    return !this.isSpent || !this.#isEarly(now, hasStreams)
  }

  /** HEADERS or DATA has arrived. */
  onNews(): void {
    this.#hasNews = true
  }

  /**
   * A PING is sent.
   *
   * @param hasStreams whether a stream is open
   */
  onSent(now: number, hasStreams: boolean): void {
    if (this.isFree) this.#strikes = 0
    else if (this.#isEarly(now, hasStreams)) this.#strikes++
    this.#hasNews = false
    this.#underWay++
    this.#lastAt = now
  }

  /** A PING's ACK has arrived. */
  onAck(now: number): void {
    this.#hasNews = false
    this.#underWay--
    this.#lastAt = now
  }

  #isEarly(now: number, hasStreams: boolean): boolean {
    return now - this.#lastAt < (hasStreams ? GRPC_INTERVAL : GRPC_IDLE_INTERVAL)
  }
}
