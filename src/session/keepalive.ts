/**
 * A session's idle timeout, its PINGs with a deadline, and its verification before it is used again.
 *
 * @module
 */

import type { Deadlines, Timed } from '../core/clock.ts'
import { originalSetImmediate } from '../core/original-timers.ts'
import { SocketError } from '../errors/errors.ts'
import type { SessionOptions } from '../options/session-options.ts'
import type { PingLedger } from '../protocol/ping-ledger.ts'
import { GRPC_INTERVAL } from '../protocol/ping-ledger.ts'
import type { EngineConnection } from './engine.ts'
import type { OriginMemory } from './origin-memory.ts'
import type { ResetPing } from './stream/reset-confirmation.ts'

/** The session, as its keepalive sees it. */
export interface KeepaliveTarget {
  /** Whether calls have streams on the session, or wait for one. */
  readonly isNeeded: boolean
  /** The number of streams whose callers still wait. */
  readonly liveStreams: number
  /** Closes the session, in a later turn, if its connection is gone without notice. @returns whether it is */
  destroyIfLost(): boolean
  /** The ACK of a PING has arrived. @param rtt the round trip, in milliseconds */
  onPong(rtt: number): void
  /** The session accepts calls again, or accepts none until the ACK of a PING has arrived. */
  onTrustChange(): void
  /** No caller has needed the session for `keepAliveTimeout`. */
  onIdleTimeout(): void
  /** The session is lost: its peer hasn't acknowledged a PING in time, or the system has dropped the connection. */
  onError(error: Error): void
}

/** The connection, as its keepalive sees it. */
export type PingedConnection = Pick<
  EngineConnection,
  'bytesRead' | 'isDisconnected' | 'look' | 'ping' | 'pings'
>

/**
 * - `trusted`: bytes have arrived from the peer lately, or a PING is about to be sent because none have
 * - `stale`: the session was idle for a long time, or another session of its origin was lost: the ACK of a PING has
 *   to arrive before it takes a call
 * - `verifying`: that PING is in flight, or another one's ACK takes long
 */
type Trust = 'trusted' | 'stale' | 'verifying'

/**
 * How many milliseconds an idle session's PING may take before a call. A live peer sends its ACK sooner; closing the
 * session by mistake costs a new connection.
 */
const VERIFY_TIMEOUT = 2_000

/** The minimum time between a PING that no call waits for and the PING before it, in milliseconds. */
const MIN_PING_GAP = 1_000

/** How often per interval the counter of received bytes is checked, so that reading itself does no extra work. */
const LOOKS = 4

/**
 * The maximum time between two checks of the connection while calls need it, in milliseconds: nothing else may report
 * a server's end.
 */
const LOOK_INTERVAL = 500

/**
 * After this many milliseconds of silence during a call, an early PING is sent, to notice a silent path before the
 * interval is over. Each further PING in the same silence is sent after twice the time.
 */
const EARLY_SILENCE = 2_000

/** If early PINGs may be sent, a PING that takes more milliseconds than this keeps new calls off the session. */
const EARLY_PATIENCE = 1_000

const DISCONNECTED = 'The peer closed or reset it'

const NEVER = Number.POSITIVE_INFINITY

/** Watches one session from when it is ready until it is closed. */
export class Keepalive implements Timed {
  deadline = NEVER
  listIndex = -1
  readonly #kept: KeepaliveTarget
  readonly #connection: PingedConnection
  readonly #pings: PingLedger
  readonly #deadlines: Deadlines
  readonly #memory: OriginMemory
  readonly #idleTimeout: number
  readonly #pingTimeout: number
  readonly #configuredInterval: number
  readonly #isIntervalGiven: boolean
  #trust: Trust = 'trusted'
  /** When the session stopped being needed, in the clock's milliseconds; NEVER while it is needed. */
  #idleAt: number
  /**
   * The time of the last sign of life that was noticed, in the clock's milliseconds. While there is no stream, only
   * the ACK of a PING counts.
   */
  #readAt: number
  #bytesRead: number | null = null
  /** When the counter of received bytes was last checked. */
  #lookedAt: number
  /** When the PING in flight was sent; NEVER if there is none. */
  #pingAt = NEVER
  /** How many milliseconds the PING in flight may take; NEVER: no limit. */
  #patience = NEVER
  /** When the connection was last asked to check for what no event reports. */
  #examinedAt: number
  /** How many milliseconds of silence there have to be before the next early PING. */
  #earlySilence = EARLY_SILENCE
  /** Whether the next turn of the event loop will decide if the peer is lost. */
  #isJudging = false
  #isOver = false

  constructor(
    kept: KeepaliveTarget,
    connection: PingedConnection,
    options: SessionOptions,
    deadlines: Deadlines,
    memory: OriginMemory,
  ) {
    this.#kept = kept
    this.#connection = connection
    this.#pings = connection.pings
    this.#deadlines = deadlines
    this.#memory = memory
    memory.expire()
    this.#idleTimeout = options.keepAliveTimeout === 0 ? NEVER : options.keepAliveTimeout
    this.#pingTimeout = options.pingTimeout === 0 ? NEVER : options.pingTimeout
    this.#configuredInterval = options.pingInterval === 0 ? NEVER : options.pingInterval
    this.#isIntervalGiven = options.isPingIntervalGiven
    const now = deadlines.now()
    this.#idleAt = kept.isNeeded ? NEVER : now
    this.#readAt = now
    this.#lookedAt = now
    this.#examinedAt = now
    this.#bytesRead = connection.bytesRead
    this.#arm(now)
  }

  /** Whether the session may take a call without a PING first. */
  get isTrusted(): boolean {
    return this.#trust === 'trusted'
  }

  get isVerifying(): boolean {
    return this.#trust === 'verifying'
  }

  /** When the session stopped being needed, in the clock's milliseconds; Infinity while it is needed. */
  get idleAt(): number {
    return this.#idleAt
  }

  /** The session is needed from now on. */
  onBusy(): void {
    const now = this.#deadlines.now()
    this.#idleAt = NEVER
    // Neither silence nor bytes from the time before count, except while a PING is in flight.
    this.#refresh(now)
    this.#arm(now)
  }

  /** The session is no longer needed. */
  onIdle(): void {
    const now = this.#deadlines.now()
    this.#idleAt = now
    this.#refresh(now)
    this.#arm(now)
    // Calls that are shorter than the time between two looks put each look off.
    if (now - this.#examinedAt >= LOOK_INTERVAL) this.#examine(now)
  }

  #examine(now: number): void {
    this.#examinedAt = now
    this.#connection.look()
  }

  /**
   * The peer has sent GOAWAY. In the next turn of the event loop, a PING is sent if streams are left: a session that
   * takes no more calls would get no other sign of life.
   */
  onGoaway(): void {
    originalSetImmediate(probeLeft, this, this.#kept)
  }

  /**
   * A stream was reset. A PING is sent, too, because nothing else would show that the connection is dead. A peer that
   * has complained about PINGs gets none.
   *
   * @param isUrgent whether calls wait for its ACK, which shows that the peer has read the resets
   */
  onReset(isUrgent: boolean): ResetPing {
    if (this.#isOver || this.#configuredInterval === NEVER || this.#memory.isPingShy) return 'refused'
    if (this.#pingAt !== NEVER) return 'busy'
    if (!isUrgent) return this.probe() ? 'sent' : 'spared'
    const now = this.#deadlines.now()
    // A strike is for the PINGs that find a dead connection.
    const isAllowed = this.#pings.isFree || (this.#memory.isGrpc !== true && this.#canSpare(now))
    if (!isAllowed) return 'refused'
    return this.#ping(now, this.#pingTimeout) ? 'sent' : 'busy'
  }

  /** Sends a PING that no call waits for, unless the peer may object to it. @returns whether it was sent */
  probe(): boolean {
    if (this.#pingAt !== NEVER || this.#isOver || this.#configuredInterval === NEVER) return false
    const now = this.#deadlines.now()
    const gap = now - this.#pings.lastAt
    if (gap < MIN_PING_GAP * this.#memory.pingFactor) return false
    // Without HEADERS or DATA in between, one PING per interval is enough.
    if (!this.#pings.isFree && (gap < this.#interval || !this.#canSpare(now))) return false
    return this.#ping(now, this.#pingTimeout)
  }

  /** A call wants to use the session, which isn't trusted: sends the PING, unless one is in flight. */
  verify(): void {
    if (this.#trust !== 'stale') return
    this.#trust = 'verifying'
    const now = this.#deadlines.now()
    const patience =
      this.#kept.liveStreams === 0 ? Math.min(VERIFY_TIMEOUT, this.#pingTimeout) : this.#pingTimeout
    if (this.#pingAt === NEVER) {
      this.#ping(now, patience)
    } else {
      this.#patience = Math.min(this.#patience, now - this.#pingAt + patience)
      this.#arm(now)
    }
  }

  /**
   * Another session of the same origin was lost, and this one may be, too: the next call waits for a PING. No effect
   * if pingInterval or pingTimeout is 0.
   */
  requireVerification(): void {
    if (this.#trust !== 'trusted' || !this.#mayVerify) return
    if (this.#canSpare(this.#deadlines.now())) this.#trust = 'stale'
  }

  /** The session is closed. */
  stop(): void {
    this.#isOver = true
    this.#deadlines.delete(this)
  }

  onDeadline(): void {
    this.#memory.expire()
    const now = this.#deadlines.now()
    if (this.#kept.isNeeded || this.#pingAt !== NEVER) {
      // Node may have destroyed the session without an event.
      if (this.#kept.destroyIfLost()) return
      const hasRead = this.#look(now)
      this.#examine(now)
      if (!hasRead && !this.#isJudging && this.#connection.isDisconnected) this.#confirmDisconnected()
    }
    if (this.#pingAt !== NEVER && now >= this.#toPingEnd()) {
      this.#lookOnce(this.#pingAt)
    } else if (this.#isOverdue(now)) {
      this.#trust = 'verifying'
      this.#kept.onTrustChange()
    } else if (now - this.#idleAt >= this.#idleTimeout) {
      this.#kept.onIdleTimeout()
      return
    } else if (this.#pingAt === NEVER && now - this.#readAt >= this.#longestSilence) {
      if (this.#kept.isNeeded) {
        this.#ping(now, this.#pingTimeout)
      } else if (this.#mayVerify && this.#canSpare(now)) {
        this.#trust = 'stale'
      } else if (this.#mayVerify) {
        // The session can't be verified before its next call, and no caller needs it.
        this.#kept.onIdleTimeout()
        return
      }
    }
    this.#arm(now)
  }

  /**
   * Timers in a busy process run late, when the peer's bytes are waiting to be read. So the bytes are read first, and
   * then it is decided whether the peer is lost.
   */
  #lookOnce(pingAt: number): void {
    this.#isJudging = true
    originalSetImmediate(() => {
      this.#isJudging = false
      if (this.#isOver || this.#pingAt !== pingAt) return
      const now = this.#deadlines.now()
      this.#look(now)
      if (now >= this.#toPingEnd()) this.#fail(now - pingAt)
      else this.#arm(now)
    })
  }

  /**
   * The system has dropped the connection, and Node may emit no event: it swallows the error of a write over TLS.
   * What the peer has sent before is read first.
   */
  #confirmDisconnected(): void {
    this.#isJudging = true
    const { bytesRead } = this.#connection
    originalSetImmediate(() => {
      this.#isJudging = false
      const { isDisconnected, bytesRead: bytesNow } = this.#connection
      if (this.#isOver) return
      const isEnded = isDisconnected && bytesNow === bytesRead
      if (isEnded) this.#kept.onError(new SocketError(DISCONNECTED, { processed: 'maybe' }))
      else this.#arm(this.#deadlines.now())
    })
  }

  /** Whether new calls have to wait for the PING in flight, or use another session. */
  #isOverdue(now: number): boolean {
    if (this.#pingAt === NEVER || this.#trust !== 'trusted' || !this.#maySendEarly) return false
    return this.#kept.isNeeded && now - Math.max(this.#pingAt, this.#readAt) >= EARLY_PATIENCE
  }

  /** The time by which the peer has to send a byte. Other bytes extend it: the ACK may follow them. */
  #toPingEnd(): number {
    return Math.max(this.#pingAt, this.#readAt) + this.#patience
  }

  /** Whether a PING can be sent and can fail. Otherwise a call would wait for a PING that isn't sent, or forever. */
  get #mayVerify(): boolean {
    return this.#configuredInterval !== NEVER && this.#pingTimeout !== NEVER
  }

  /**
   * Whether a PING can't end the connection. A peer that has responded with something other than gRPC is known not to
   * count PINGs.
   */
  #canSpare(now: number): boolean {
    return this.#memory.isGrpc === false || this.#pings.canSend(now, this.#kept.liveStreams > 0)
  }

  get #interval(): number {
    const { isGrpc, pingFactor } = this.#memory
    // A peer that has not responded yet may be a gRPC server. It is treated as one only when no strike is left.
    const isCounted = isGrpc ?? this.#pings.isSpent
    const least = isCounted && !this.#isIntervalGiven ? GRPC_INTERVAL : 0
    return Math.max(this.#configuredInterval, least) * pingFactor
  }

  /** How many milliseconds a needed session may be silent before a PING is sent. */
  get #longestSilence(): number {
    if (!this.#kept.isNeeded || !this.#maySendEarly) return this.#interval
    // A server that counts PINGs would count one that it has sent nothing before.
    const isFree = this.#memory.isGrpc === false || this.#pings.isFree
    return isFree ? Math.min(this.#earlySilence, this.#interval) : this.#interval
  }

  /** Whether PINGs may be sent before the interval is over: the caller hasn't set one, and a PING can fail. */
  get #maySendEarly(): boolean {
    return !this.#isIntervalGiven && this.#mayVerify && !this.#memory.isPingShy
  }

  #refresh(now: number): void {
    if (this.#pingAt !== NEVER) {
      this.#look(now)
      return
    }
    this.#readAt = now
    this.#lookedAt = now
    this.#bytesRead = this.#connection.bytesRead
  }

  /**
   * Notes bytes that have arrived since the last check; the exact time is unknown. While no PING is in flight, it
   * assumes the earliest possible time, so that no silence is longer than an interval. While a PING is in flight, it
   * assumes the latest, so that a live peer isn't given up.
   *
   * @returns whether any bytes have arrived
   */
  #look(now: number): boolean {
    const before = this.#lookedAt
    this.#lookedAt = now
    const { bytesRead } = this.#connection
    if (bytesRead === this.#bytesRead) return false
    this.#bytesRead = bytesRead
    this.#earlySilence = EARLY_SILENCE
    this.#readAt = this.#pingAt === NEVER ? Math.max(before, this.#readAt) : now
    return true
  }

  /** @returns whether it was sent */
  #ping(now: number, patience: number): boolean {
    // Bytes that came before the PING are no response to it.
    this.#look(now)
    if (!this.#connection.ping(() => this.#onAck(now))) {
      if (this.#kept.destroyIfLost()) return false
      // Too many PINGs are in flight: the next attempt follows after an interval.
      this.#readAt = now
      if (this.#trust === 'verifying') this.#trust = 'stale'
      return false
    }
    this.#pings.onSent(now, this.#kept.liveStreams > 0)
    this.#pingAt = now
    this.#patience = patience
    this.#arm(now)
    return true
  }

  #onAck(sentAt: number): void {
    if (this.#isOver) return
    const now = this.#deadlines.now()
    this.#pingAt = NEVER
    this.#readAt = now
    this.#bytesRead = this.#connection.bytesRead
    this.#pings.onAck(now)
    this.#earlySilence *= 2
    const wasTrusted = this.isTrusted
    this.#trust = 'trusted'
    this.#arm(now)
    this.#kept.onPong(now - sentAt)
    if (!wasTrusted) this.#kept.onTrustChange()
  }

  #fail(waited: number): void {
    const message = `The peer did not answer a PING within ${Math.round(waited)} ms`
    this.#kept.onError(new SocketError(message, { processed: 'maybe' }))
  }

  #arm(now: number): void {
    if (!this.#isOver) this.#deadlines.set(this, this.#toDeadline(now), now)
  }

  #toDeadline(now: number): number {
    const idleEnd = this.#idleAt + this.#idleTimeout
    if (this.#pingAt !== NEVER) {
      const end = this.#toPingEnd()
      // Overdue: a call that came or went may have set the alarm anew before it rang.
      const overdue = this.#isJudging ? NEVER : now
      const nextLook = this.#kept.isNeeded ? now + LOOK_INTERVAL : NEVER
      return Math.min(idleEnd, end > now ? Math.min(end, nextLook) : overdue)
    }
    const interval = this.#interval
    if (this.#kept.isNeeded) {
      const nextLook = now + Math.min(interval / LOOKS, LOOK_INTERVAL)
      return Math.min(this.#readAt + this.#longestSilence, nextLook)
    }
    return this.#trust === 'trusted' && this.#mayVerify ? Math.min(idleEnd, this.#readAt + interval) : idleEnd
  }
}

function probeLeft(keepalive: Keepalive, { liveStreams }: KeepaliveTarget): void {
  if (liveStreams > 0) keepalive.probe()
}
