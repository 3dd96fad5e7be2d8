/**
 * One session that serves several origins (RFC 9113 §9.1.1).
 *
 * @module
 */

import type { SecureContext } from 'node:tls'
import type { EndReason, OpenReason } from '../../../types/stats.ts'
import type { Call } from '../../call/call.ts'
import { isTlsSocket } from '../../core/builtin.ts'
import type { Alarm } from '../../core/clock.ts'
import { Deadlines } from '../../core/clock.ts'
import { SocketError } from '../../errors/errors.ts'
import type { Origin } from '../../options/options.ts'
import type { EngineStream, StreamOwner } from '../engine.ts'
import { Http2Session } from '../http2-session.ts'
import type { Capacity, SessionContext, SessionNeed, SessionOwner } from '../session.ts'
import { toOneNotation } from './addresses.ts'
import type { Offer } from './may-share.ts'
import { MisdirectedOrigins } from './misdirected-origins.ts'
import { OriginSet } from './origin-set.ts'

/** One origin's share in the session, as the session sees it. */
export interface Share {
  readonly origin: Origin
  /** The set of sessions that it is in. */
  readonly owner: SessionOwner
  /** Is told about its streams. */
  readonly streamOwner: StreamOwner
  /** Whether it gets no more calls, while its streams finish. */
  readonly isLeaving: boolean
  /** Whether its streams were failed, so that it is gone in the next tick. */
  readonly isDestroyed: boolean
  /** How many calls it may open in this round; Infinity outside a round. Written by the session. */
  left: number
  onReady(): void
  onRoom(): void
  /** One of its calls is being opened. */
  onLoad(stream: EngineStream): void
  onDraining(): void
  onClosed(cause: Error | null): void
  /** The session is about to be closed for all its origins. */
  onRetired(reason: EndReason): void
  /** The server has said that it doesn't serve the origin here. */
  leave(reason: EndReason): void
  /**
   * The first part of `leave()`: takes no more calls from now on.
   *
   * @returns false if it took none before
   */
  stop(reason: EndReason): boolean
  /** The second part: the set is told. */
  onStopped(): void
}

/** Is told when more origins may use a session. */
export interface SharedSessionListener {
  /** The peer's SETTINGS have arrived, and whatever came with them, such as ORIGIN. */
  onSettled(shared: SharedSession): void
  /** It takes no more calls. */
  onGone(shared: SharedSession): void
}

/** How a session's connection is opened. */
export interface ConnectionTerms {
  /** See {@link Offer.isPlain}. */
  readonly isPlain: boolean
  readonly secureContext: SecureContext | undefined
  /** The addresses that it may connect to, in one notation; empty if they aren't known. */
  readonly addresses: readonly string[]
}

/** What a handshake has shown. */
type HandshakeFacts = Pick<Offer, 'isVerified' | 'certificate' | 'address'>

const NO_HANDSHAKE: HandshakeFacts = { isVerified: false, certificate: null, address: '' }

/**
 * A session, and the origins that use it. It stands between the session and their sets of sessions, each of which has a
 * `SessionShare` that represents the session. The origin that it was opened for is one of them, and may leave like any
 * other.
 *
 * Room is offered to one origin after another, one call each while several of them wait, so that no origin's queue
 * makes another's wait.
 */
export class SharedSession implements SessionOwner {
  readonly session: Http2Session
  /** The origin that it was opened for. */
  readonly origin: Origin
  readonly terms: ConnectionTerms
  /** When its connection was begun, in the clock's time. */
  readonly openedAt: number
  readonly #context: SessionContext
  readonly #listener: SharedSessionListener
  #shares: readonly Share[] = []
  #originSet: OriginSet | null = null
  /** Null before the first. */
  #dismissed: MisdirectedOrigins | null = null
  /** Null until it is first asked for. */
  #handshake: HandshakeFacts | null = null
  /** The share that gets the first call of the next round. */
  #turn = 0
  /** The share whose call is being opened; null for none. */
  #opening: Share | null = null
  /** Whether a round is in progress. */
  #isOffering = false
  /** Whether room has appeared during a round. */
  #isRoundDue = false
  #isRetiring = false
  #isSettled = false
  /** Fires when the streams of a session that was closed because of its age have had their time; null for none. */
  #graceAlarm: Alarm | null = null

  constructor(
    context: SessionContext,
    id: number,
    openedFor: OpenReason,
    terms: ConnectionTerms,
    listener: SharedSessionListener,
  ) {
    this.origin = context.origin
    this.terms = terms
    this.openedAt = context.clock.now()
    this.#listener = listener
    // It has its own deadlines, because the origin that it was opened for may be closed before it.
    const deadlines = new Deadlines(context.clock)
    this.#context = { ...context, deadlines, owner: this }
    context.memory.tlsTicket.keepCertificates()
    this.session = new Http2Session(this.#context, id, openedFor)
  }

  /** Whether the peer's SETTINGS have arrived, and it takes calls. */
  get isOffered(): boolean {
    return this.#isSettled && this.session.state.name === 'ready'
  }

  /** What an origin has to know about it, once it is connected. */
  get offer(): Offer {
    this.#handshake ??= this.#toHandshakeFacts()
    const { isPlain, secureContext } = this.terms
    return { origin: this.origin, isPlain, secureContext, originSet: this.#originSet, ...this.#handshake }
  }

  /** The origins that it serves, the oldest first. */
  get origins(): string[] {
    return this.#shares.map(({ origin }) => origin.href)
  }

  /** Whether an ORIGIN frame has arrived that lists an origin. */
  lists(origin: string): boolean {
    return this.#originSet?.has(origin) === true
  }

  /** Whether a set of sessions already has a share. */
  serves(owner: SessionOwner): boolean {
    return this.#shares.some((share) => share.owner === owner)
  }

  /** Whether other origins may open calls on it. */
  hasOthers(share: Share): boolean {
    return this.#shares.some((other) => other !== share && !other.isLeaving && !other.isDestroyed)
  }

  /** Whether no other share has streams on it, or will have: shares that are leaving may have some. */
  isAlone(share: Share): boolean {
    return this.#shares.every((other) => other === share || other.isDestroyed)
  }

  add(share: Share): void {
    this.#shares = [...this.#shares, share]
  }

  /** The share has no streams left, or its streams were failed. */
  remove(share: Share): void {
    this.#shares = this.#shares.filter((other) => other !== share)
    if (this.#shares.every(({ isLeaving }) => isLeaving)) this.session.close('closed')
    else this.session.updateRef()
  }

  /** An origin's shares that take calls. */
  sharesOf(origin: string): Share[] {
    return this.#shares.filter((share) => share.origin.href === origin && !share.isLeaving)
  }

  /** A 421 for this origin has arrived: RFC 8336 §2.3 removes it from the set. */
  onMisdirected(targetOrigin: string): void {
    this.#originSet?.delete(targetOrigin)
  }

  /**
   * A 421 to one of its requests has arrived, but not for the origin itself: the origin doesn't return for some time.
   */
  dismiss(origin: string): void {
    this.#dismissed ??= new MisdirectedOrigins(this.#context.clock)
    this.#dismissed.add(origin)
  }

  /** See {@link dismiss}. */
  hasDismissed(origin: string): boolean {
    return this.#dismissed?.has(origin) === true
  }

  /** Whether a share can open a call now. */
  canTake(share: Share, need: SessionNeed): Capacity {
    const capacity = this.session.canTake(need)
    return capacity === 'yes' && share.left <= 0 ? 'soon' : capacity
  }

  open(share: Share, call: Call): void {
    const before = this.#opening
    this.#opening = share
    share.left--
    try {
      this.session.open(call, share.streamOwner)
    } finally {
      this.#opening = before
    }
  }

  /**
   * Closes the session for all its origins, for example because of its age. Their sets don't count that as a setback.
   *
   * @param by the share whose set has decided; null for none
   */
  close(by: Share | null, reason: EndReason, isAwaited = false): void {
    if (this.#isRetiring) return
    this.#isRetiring = true
    for (const share of this.#shares) if (share !== by) share.onRetired(reason)
    this.#isRetiring = false
    this.session.close(reason, isAwaited)
    const { sessionGracePeriod } = this.#context.options.session
    const isRotated = reason === 'age' || reason === 'requests'
    if (!isRotated || sessionGracePeriod === 0 || this.session.streams === 0) return
    // The set that has decided limits only its own streams.
    this.#graceAlarm ??= this.#context.clock.after(sessionGracePeriod, () =>
      this.session.fail(new SocketError(`sessionGracePeriod (${sessionGracePeriod} ms) has passed`)),
    )
  }

  waiting(): number {
    let waiting = 0
    for (const share of this.#shares) if (!share.isLeaving) waiting += share.owner.waiting()
    return waiting
  }

  onSessionReady(): void {
    this.#tell((share) => share.onReady())
  }

  onSessionRoom(): void {
    if (!this.#isSettled && this.session.isSettled) {
      this.#isSettled = true
      this.#listener.onSettled(this)
    }
    this.offerRoom()
  }

  onSessionLoad(_session: unknown, stream: EngineStream): void {
    const share = this.#opening
    if (share === null) return
    this.#turn = this.#shares.indexOf(share) + 1
    share.onLoad(stream)
  }

  onSessionIdle(): void {
    this.close(null, 'idle')
  }

  onSessionShut(): void {
    this.close(null, 'shut')
  }

  onSessionDraining(): void {
    this.#listener.onGone(this)
    this.#tell((share) => share.onDraining())
  }

  onSessionClosed(_session: unknown, cause: Error | null): void {
    this.#listener.onGone(this)
    this.#graceAlarm?.cancel()
    this.#context.deadlines.stop()
    const shares = this.#shares
    this.#shares = []
    tellEach(shares, (share) => share.onClosed(cause))
  }

  /** RFC 8336 §2.4: from now on, it serves no origin that isn't listed. */
  onSessionOrigins(_session: unknown, origins: readonly string[]): void {
    // RFC 8336 §2.2: not over cleartext.
    if (this.origin.scheme !== 'https') return
    const own = this.origin.href
    this.#originSet ??= new OriginSet(own)
    this.#originSet.add(origins)
    for (const share of this.#shares) {
      const { href } = share.origin
      if (href !== own && !this.#originSet.has(href)) share.leave('misdirected')
    }
  }

  /** The session may have room: all shares are told, in turn. */
  offerRoom(): void {
    this.#isRoundDue = true
    if (this.#isOffering) return
    this.#isOffering = true
    try {
      while (this.#isRoundDue) this.#playRound()
    } finally {
      this.#isOffering = false
      for (const share of this.#shares) share.left = Number.POSITIVE_INFINITY
    }
  }

  /** If several origins have waiting calls, each may open one; another round follows while there is room. */
  #playRound(): void {
    this.#isRoundDue = false
    const shares = this.#shares
    const first = this.#turn
    const isContested = shares.filter(({ owner }) => owner.waiting() > 0).length > 1
    const before = this.session.requests
    for (let at = 0; at < shares.length; at++) {
      const share = shares[(first + at) % shares.length] as Share
      share.left = isContested ? 1 : Number.POSITIVE_INFINITY
      share.onRoom()
    }
    if (isContested && this.session.requests > before && this.session.canTake('any') === 'yes')
      this.#isRoundDue = true
  }

  #toHandshakeFacts(): HandshakeFacts {
    const { socket } = this.session
    if (socket === null || !isTlsSocket(socket)) return NO_HANDSHAKE
    return {
      isVerified: socket.authorized,
      address: toOneNotation(socket.remoteAddress ?? ''),
      certificate: this.#context.memory.tlsTicket.certificateOf(socket),
    }
  }

  #tell(what: (share: Share) => void): void {
    tellEach(this.#shares, what)
  }
}

/** A listener that throws for one origin must not keep the others from being told: its exception follows afterwards. */
function tellEach(shares: readonly Share[], what: (share: Share) => void): void {
  let failure: { readonly thrown: unknown } | null = null
  for (const share of shares) {
    try {
      what(share)
    } catch (thrown) {
      failure ??= { thrown }
    }
  }
  if (failure !== null) throw failure.thrown
}
