/**
 * What our PINGs cost us with a server that counts them.
 *
 * @module
 */

/**
 * Servers of gRPC end a connection by GOAWAY with ENHANCE_YOUR_CALM and `too_many_pings` at the third strike: so many
 * are borne. (gRPC's proposal A8; `handlePing()` of grpc-go.)
 */
const MAX_STRIKES = 2

/** What such a server wants between two PINGs while streams are open, unless it was told otherwise. Milliseconds. */
export const GRPC_INTERVAL = 300_000
/** The same while there is none. Milliseconds. */
const GRPC_IDLE_INTERVAL = 7_200_000

/**
 * Counts the PINGs of one connection as the strictest of those servers does. It forgets all strikes at a PING that
 * comes after it has sent HEADERS or DATA; other frames don't count. Any other PING that comes too early is a strike.
 *
 * Where we can't know what the server knows, this counts against us: HEADERS and DATA that come while a PING is under
 * way may have been sent before that one arrived, and the time between two PINGs runs from the ACK of the first.
 */
export class PingLedger {
  /** HEADERS or DATA has come since the last PING was answered. */
  #hasNews = false
  /** PINGs without a response so far. */
  #underWay = 0
  #strikes = 0
  /** When a PING last went out, or was answered; -Infinity before the first. */
  #lastAt = Number.NEGATIVE_INFINITY

  /** Whether the next PING is no strike whenever it goes out. */
  get isFree(): boolean {
    return this.#hasNews && this.#underWay === 0
  }

  /** Whether the server bears no further strike. */
  get isSpent(): boolean {
    return this.#strikes >= MAX_STRIKES && !this.isFree
  }

  /** When a PING last went out, or was answered, in milliseconds of the owner's clock; -Infinity before the first. */
  get lastAt(): number {
    return this.#lastAt
  }

  /** Whether a PING now doesn't end the connection. @param hasStreams whether one is open */
  canSend(now: number, hasStreams: boolean): boolean {
    return !this.isSpent || !this.#isEarly(now, hasStreams)
  }

  /** HEADERS or DATA has come. */
  onNews(): void {
    this.#hasNews = true
  }

  /** A PING goes out. @param hasStreams whether one is open */
  onSent(now: number, hasStreams: boolean): void {
    if (this.isFree) this.#strikes = 0
    else if (this.#isEarly(now, hasStreams)) this.#strikes++
    this.#hasNews = false
    this.#underWay++
    this.#lastAt = now
  }

  /** Its ACK has come. */
  onResponded(now: number): void {
    this.#hasNews = false
    this.#underWay--
    this.#lastAt = now
  }

  #isEarly(now: number, hasStreams: boolean): boolean {
    return now - this.#lastAt < (hasStreams ? GRPC_INTERVAL : GRPC_IDLE_INTERVAL)
  }
}
