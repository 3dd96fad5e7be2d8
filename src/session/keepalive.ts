/**
 * Idle time, PING with a deadline, verify-before-reuse.
 *
 * @module
 */

import type { Deadlines, Timed } from '../core/clock.ts'
import { originalSetImmediate } from '../core/original-timers.ts'
import type { SessionOptions } from '../core/session-options.ts'
import { SocketError } from '../errors.ts'
import type { PingLedger } from '../protocol/ping-ledger.ts'
import { GRPC_INTERVAL } from '../protocol/ping-ledger.ts'
import type { EngineConnection } from './engine.ts'
import type { OriginMemory } from './origin-memory.ts'

/** A session, as its keepalive sees it. */
export interface KeepaliveTarget {
  /** Somebody waits for its streams, or for one. */
  readonly isNeeded: boolean
  /** Streams that somebody still waits for. */
  readonly liveStreams: number
  /** Closes the session, in a later turn, if its connection is gone without a word. @returns whether it does */
  closeIfLost(): boolean
  /** The round trip of a PING, in milliseconds. */
  onPong(rtt: number): void
  /** It takes calls again. */
  onRoom(): void
  /** Nobody needed it for `keepAliveTimeout`. */
  onIdleTimeout(): void
  /** The peer hasn't answered: it is lost. */
  onError(error: Error): void
}

/** The connection, as its keepalive sees it. */
export type PingedConnection = Pick<EngineConnection, 'bytesRead' | 'ping' | 'pings'>

/**
 * - `trusted`: the peer was heard of lately, or is about to be asked because it wasn't
 * - `stale`: idle for so long, or so near to one that was lost, that it has to prove itself before it takes a call
 * - `verifying`: it was asked to
 */
type Trust = 'trusted' | 'stale' | 'verifying'

/** An idle connection that lives responses sooner; one that doesn't is replaced at no cost but this. Milliseconds. */
const VERIFY_TIMEOUT = 2_000

/** A PING that nobody waits for comes no sooner than this after the one before. Milliseconds. */
const MIN_PING_GAP = 1_000

/** How often, for each interval, it looks whether anything was read: reading itself costs nothing that way. */
const LOOKS = 4

const NEVER = Number.POSITIVE_INFINITY

/** Watches one session from the moment it is ready until it is closed. */
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
  /** Since when nobody needs it; NEVER while somebody does. */
  #idleAt: number
  /**
   * When something was read, as far as anybody has looked; of what comes while there is no stream only a PING's
   * response counts.
   */
  #readAt: number
  #bytesRead: number | null = null
  /** When it was looked last. */
  #lookedAt: number
  /** When the PING that is under way went out; NEVER without one. */
  #pingAt = NEVER
  /** How long the PING that is under way may take. */
  #patience = NEVER
  /** The PING's time is over, and whether the peer is lost is found out in the next turn of the event loop. */
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
    this.#idleTimeout = options.keepAliveTimeout === 0 ? NEVER : options.keepAliveTimeout
    this.#pingTimeout = options.pingTimeout === 0 ? NEVER : options.pingTimeout
    this.#configuredInterval = options.pingInterval === 0 ? NEVER : options.pingInterval
    this.#isIntervalGiven = options.isPingIntervalGiven
    const now = deadlines.now()
    this.#idleAt = kept.isNeeded ? NEVER : now
    this.#readAt = now
    this.#lookedAt = now
    this.#bytesRead = connection.bytesRead
    this.#arm(now)
  }

  /** Whether it may take a call without being asked first. */
  get isTrusted(): boolean {
    return this.#trust === 'trusted'
  }

  get isVerifying(): boolean {
    return this.#trust === 'verifying'
  }

  /** It is needed from now on. */
  onBusy(): void {
    const now = this.#deadlines.now()
    this.#idleAt = NEVER
    // Neither silence nor news from before there was anything to wait for counts; but for a PING that is under way.
    this.#refresh(now)
    this.#arm(now)
  }

  /** It isn't needed any more. */
  onIdle(): void {
    const now = this.#deadlines.now()
    this.#idleAt = now
    this.#refresh(now)
    this.#arm(now)
  }

  /**
   * The peer has sent GOAWAY: a PING follows, for the streams that are left in the next turn of the event loop. A
   * session that takes no further calls gets no other sign of life.
   */
  onGoaway(): void {
    originalSetImmediate(probeLeft, this, this.#kept)
  }

  /**
   * A stream was reset: a PING goes with it, since a dead path would show in nothing else. A peer that has complained
   * of PINGs gets none.
   */
  onReset(): void {
    if (!this.#memory.isPingShy) this.probe()
  }

  /** Sends a PING that nobody waits for, where the peer won't mind. */
  probe(): void {
    if (this.#pingAt !== NEVER || this.#isOver || this.#configuredInterval === NEVER) return
    const now = this.#deadlines.now()
    const gap = now - this.#pings.lastAt
    if (gap < MIN_PING_GAP * this.#memory.pingFactor) return
    // Without news from the peer one is enough for a while.
    if (!this.#pings.isFree && (gap < this.#interval || !this.#canSpare(now))) return
    this.#ping(now, this.#pingTimeout)
  }

  /** Somebody wants to use it, and it isn't trusted. */
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

  /** Another session of the same origin was lost: this one may be about to be. */
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
    const now = this.#deadlines.now()
    if (this.#kept.isNeeded || this.#pingAt !== NEVER) this.#look(now)
    if (this.#pingAt !== NEVER && now >= this.#toPingEnd()) {
      this.#lookOnce(this.#pingAt)
    } else if (now - this.#idleAt >= this.#idleTimeout) {
      this.#kept.onIdleTimeout()
      return
    } else if (this.#pingAt === NEVER && now - this.#readAt >= this.#interval) {
      if (this.#kept.isNeeded) {
        this.#ping(now, this.#pingTimeout)
      } else if (this.#mayVerify && this.#canSpare(now)) {
        this.#trust = 'stale'
      } else if (this.#mayVerify) {
        // It couldn't be asked whether it lives, and nobody needs it.
        this.#kept.onIdleTimeout()
        return
      }
    }
    this.#arm(now)
  }

  /**
   * A process that was busy comes late to its timers, and has what the peer has said meanwhile still before it: it
   * reads that before it judges.
   */
  #lookOnce(pingAt: number): void {
    this.#isJudging = true
    originalSetImmediate(() => {
      this.#isJudging = false
      if (this.#isOver || this.#pingAt !== pingAt) return
      const now = this.#deadlines.now()
      this.#look(now)
      if (now >= this.#toPingEnd()) this.#die(now - pingAt)
      else this.#arm(now)
    })
  }

  /** By when the peer has to be heard of. A response may be on its way behind much else. */
  #toPingEnd(): number {
    return Math.max(this.#pingAt, this.#readAt) + this.#patience
  }

  /** Without either of the two a call would wait for a PING that isn't sent, or for ever. */
  get #mayVerify(): boolean {
    return this.#configuredInterval !== NEVER && this.#pingTimeout !== NEVER
  }

  /**
   * Whether a PING doesn't cost the connection. Of a peer that has answered, and not in gRPC, we know that it counts
   * none.
   */
  #canSpare(now: number): boolean {
    return this.#memory.isGrpc === false || this.#pings.canSend(now, this.#kept.liveStreams > 0)
  }

  get #interval(): number {
    const { isGrpc, pingFactor } = this.#memory
    // Who has answered nothing so far may be a server of gRPC: its first strikes are borne.
    const isCounted = isGrpc ?? this.#pings.isSpent
    const least = isCounted && !this.#isIntervalGiven ? GRPC_INTERVAL : 0
    return Math.max(this.#configuredInterval, least) * pingFactor
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
   * What has come did so since the last look. Until a PING goes out that counts as early as it may have been, so that
   * no silence is longer than an interval; while a PING is under way, as late, so that no peer that lives is given up.
   */
  #look(now: number): void {
    const before = this.#lookedAt
    this.#lookedAt = now
    const { bytesRead } = this.#connection
    if (bytesRead === this.#bytesRead) return
    this.#bytesRead = bytesRead
    this.#readAt = this.#pingAt === NEVER ? Math.max(before, this.#readAt) : now
  }

  #ping(now: number, patience: number): void {
    // What came before doesn't respond to it.
    this.#look(now)
    if (!this.#connection.ping(() => this.#onAck(now))) {
      if (this.#kept.closeIfLost()) return
      // Too many PINGs are under way: this one is due again after an interval.
      this.#readAt = now
      if (this.#trust === 'verifying') this.#trust = 'stale'
      return
    }
    this.#pings.onSent(now, this.#kept.liveStreams > 0)
    this.#pingAt = now
    this.#patience = patience
    this.#arm(now)
  }

  #onAck(sentAt: number): void {
    if (this.#isOver) return
    const now = this.#deadlines.now()
    this.#pingAt = NEVER
    this.#readAt = now
    this.#bytesRead = this.#connection.bytesRead
    this.#pings.onResponded(now)
    const wasTrusted = this.isTrusted
    this.#trust = 'trusted'
    this.#arm(now)
    this.#kept.onPong(now - sentAt)
    if (!wasTrusted) this.#kept.onRoom()
  }

  #die(waited: number): void {
    const message = `The peer has not answered a PING within ${Math.round(waited)} ms`
    this.#kept.onError(new SocketError(message, { processed: 'maybe' }))
  }

  #arm(now: number): void {
    if (!this.#isOver) this.#deadlines.set(this, this.#toDeadline(now), now)
  }

  #toDeadline(now: number): number {
    const idleEnd = this.#idleAt + this.#idleTimeout
    if (this.#pingAt !== NEVER) {
      const end = this.#toPingEnd()
      // Overdue: the alarm may have been set anew before it rang, by a call that came or went.
      const overdue = this.#isJudging ? NEVER : now
      return Math.min(idleEnd, end > now ? end : overdue)
    }
    const interval = this.#interval
    if (this.#kept.isNeeded) return Math.min(this.#readAt + interval, now + interval / LOOKS)
    return this.#trust === 'trusted' && this.#mayVerify ? Math.min(idleEnd, this.#readAt + interval) : idleEnd
  }
}

function probeLeft(keepalive: Keepalive, { liveStreams }: KeepaliveTarget): void {
  if (liveStreams > 0) keepalive.probe()
}
