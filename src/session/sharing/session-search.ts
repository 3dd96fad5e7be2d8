/**
 * An origin's search for an open session, before it opens one itself.
 *
 * @module
 */

import type { LookupAddress } from 'node:dns'
import type { PeerCertificate, SecureContext } from 'node:tls'
import type { ConnectTlsOptions } from '../../../types/client.ts'
import { loadTls } from '../../core/builtin.ts'
import type { Alarm } from '../../core/clock.ts'
import { Hold } from '../../core/clock.ts'
import { originalNextTick } from '../../core/original-timers.ts'
import { ConnectTimeoutError } from '../../errors/errors.ts'
import { toFailedLookup, toFixedLookup } from '../connect/addresses.ts'
import { ConnectAlarm } from '../connect/connect-alarm.ts'
import { toSecureContext } from '../connect/socket.ts'
import type { SessionContext, SessionOwner } from '../session.ts'
import { findAddresses, toOneNotation } from './addresses.ts'
import type { Applicant } from './may-share.ts'
import type { Search, SearchResult } from './session-share.ts'
import type { SharedSession } from './shared-session.ts'

/** Knows the open sessions. */
export interface SearchBroker {
  /** Whether a session may be found without a lookup, which then follows only if none is found. */
  readonly skipsDns: boolean
  isMisdirected(origin: string): boolean
  /** A session that the origin may use, and that its set has no share in yet; null for none. */
  find(applicant: Applicant, owner: SessionOwner): SharedSession | null
  /**
   * A session that is being opened to one of the origin's addresses; null for none.
   *
   * @param patience in milliseconds: a session that was begun longer ago doesn't count
   */
  findPending(applicant: Applicant, owner: SessionOwner, patience: number): SharedSession | null
  /** Makes the broker call {@link SessionSearch.onNews}. */
  await(shared: SharedSession, search: SessionSearch): void
  stopAwaiting(shared: SharedSession, search: SessionSearch): void
}

/**
 * How many of other origins' connections a search waits for: each may turn out to have a certificate for other names,
 * and costs a handshake's time.
 */
const MAX_WAITS = 2

/**
 * The longest that a search waits for another origin's connection, in milliseconds since that one was begun: a server
 * may stall the handshake for one name, but not for others.
 */
const MAX_PATIENCE = 1_000

/** The same, as a fraction of `connectTimeout`: after two waits, there is as much time left for its own connection. */
const PATIENT_PART = 1 / 4

/**
 * Looks up the name, and asks for an open session. While another origin is connecting to one of the same addresses, it
 * waits to see whether that session is suitable: origins that are first used at once share one handshake.
 */
export class SessionSearch implements Search {
  readonly #broker: SearchBroker
  readonly #context: SessionContext
  readonly #connect: ConnectTlsOptions
  readonly #isPlain: boolean
  readonly #onResult: (result: SearchResult) => void
  readonly #startedAt: number
  /** How old another origin's connection may be to be waited for, in milliseconds. */
  readonly #patience: number
  /** Null without a `connectTimeout`. */
  readonly #alarm: ConnectAlarm | null
  /** Null with a `connectTimeout`, whose alarm keeps the process alive instead. */
  readonly #hold: Hold | null
  #secureContext: SecureContext | undefined
  #waits = 0
  /** The session that it waits for; null for none. */
  #awaited: SharedSession | null = null
  /** Fires when that has taken too long; null while it waits for none. */
  #waitAlarm: Alarm | null = null
  /** The lookup's result; null before. */
  #found: readonly LookupAddress[] | null = null
  #isOver = false

  /** @param onResult called once, never during this call, and not after `cancel()` */
  constructor(broker: SearchBroker, context: SessionContext, onResult: (result: SearchResult) => void) {
    this.#broker = broker
    this.#context = context
    this.#onResult = onResult
    const { clock, options } = context
    const { connect, connectTimeout, socketPath } = options
    this.#connect = typeof connect === 'function' ? {} : connect
    this.#isPlain =
      typeof connect !== 'function' && socketPath === null && (connect.servername ?? null) === null
    this.#startedAt = clock.now()
    this.#patience = Math.min(
      MAX_PATIENCE,
      connectTimeout === 0 ? MAX_PATIENCE : connectTimeout * PATIENT_PART,
    )
    this.#alarm =
      connectTimeout === 0
        ? null
        : new ConnectAlarm(clock, this.#startedAt, connectTimeout, () => this.#onLate(connectTimeout))
    this.#hold = connectTimeout === 0 ? new Hold(clock) : null
    originalNextTick(begin, this)
  }

  cancel(): void {
    this.#stop()
  }

  setRef(isNeeded: boolean): void {
    if (this.#isOver) return
    this.#alarm?.setRef(isNeeded)
    this.#hold?.set(isNeeded)
  }

  /** The session that it waits for has settled, or is gone. */
  onNews(isOffered: boolean): void {
    this.#endWait()
    // Origins that wait for a failing connection must not fail one after the other.
    if (!isOffered) this.#waits = MAX_WAITS
    originalNextTick(decide, this)
  }

  static begin(it: SessionSearch): void {
    if (!it.#isOver) it.#begin()
  }

  static decide(it: SessionSearch): void {
    if (!it.#isOver) it.#decide()
  }

  #begin(): void {
    const { options, origin } = this.#context
    if (!this.#isPlain || origin.scheme !== 'https') {
      this.#end({ context: { ...this.#context, startedAt: this.#startedAt }, terms: this.#toTerms() })
      return
    }
    try {
      this.#secureContext = toSecureContext(this.#connect.secureContext)
    } catch (thrown) {
      if (this.#isOver) return
      // The caller's function has thrown, so the connection fails, too.
      const secureContext = (): never => {
        throw thrown
      }
      const connect = { ...this.#connect, secureContext }
      const context = { ...this.#context, startedAt: this.#startedAt, options: { ...options, connect } }
      this.#end({ context, terms: this.#toTerms() })
      return
    }
    // That function may have ended the search.
    if (this.#isOver) return
    if (this.#broker.skipsDns) this.#decide()
    else this.#lookUp()
  }

  #lookUp(): void {
    findAddresses(this.#context.origin.hostname, this.#connect, (error, found) => {
      if (this.#isOver) return
      this.#found = found
      if (error === null) this.#decide()
      else this.#openBy({ lookup: toFailedLookup(error) })
    })
  }

  #decide(): void {
    const { owner } = this.#context
    const applicant = this.#toApplicant()
    const shared = this.#broker.find(applicant, owner)
    // The caller's `checkServerIdentity` may have, too.
    if (this.#isOver) return
    if (shared !== null) {
      this.#end({ shared })
      return
    }
    const pending =
      this.#waits < MAX_WAITS ? this.#broker.findPending(applicant, owner, this.#patience) : null
    if (pending !== null) {
      this.#await(pending)
    } else if (this.#found === null) {
      this.#lookUp()
    } else {
      this.#openBy({ lookup: toFixedLookup(this.#found) })
    }
  }

  #await(pending: SharedSession): void {
    const { clock } = this.#context
    this.#waits++
    this.#awaited = pending
    this.#broker.await(pending, this)
    const rest = pending.openedAt + this.#patience - clock.now()
    this.#waitAlarm = clock.after(Math.max(0, Math.ceil(rest)), () => this.#onLongWait())
  }

  /** That connection may never be ready: another one that was begun later will do, or the origin's own. */
  #onLongWait(): void {
    this.#endWait()
    this.#decide()
  }

  #endWait(): void {
    this.#waitAlarm?.cancel()
    this.#waitAlarm = null
    if (this.#awaited !== null) this.#broker.stopAwaiting(this.#awaited, this)
    this.#awaited = null
  }

  /** @param how with the result of the lookup, if there was one */
  #openBy(how: Pick<ConnectTlsOptions, 'lookup'>): void {
    const { options } = this.#context
    const secureContext = this.#secureContext
    // A function isn't asked a second time for the same connection.
    const identity = secureContext === undefined ? {} : { secureContext }
    const connect = Object.freeze({ ...this.#connect, ...identity, ...how })
    const context = { ...this.#context, startedAt: this.#startedAt, options: { ...options, connect } }
    this.#end({ context, terms: this.#toTerms() })
  }

  #toTerms() {
    const { addresses } = this.#toApplicant()
    return { isPlain: this.#isPlain, secureContext: this.#secureContext, addresses: addresses ?? [] }
  }

  #toApplicant(): Applicant {
    const { origin } = this.#context
    const check = this.#connect.checkServerIdentity ?? loadTls().checkServerIdentity
    return {
      origin,
      addresses: this.#found?.map(({ address }) => toOneNotation(address)) ?? null,
      isPlain: this.#isPlain,
      secureContext: this.#secureContext,
      isMisdirected: this.#broker.isMisdirected(origin.href),
      checkServerIdentity: (hostname: string, certificate: PeerCertificate) => check(hostname, certificate),
    }
  }

  #onLate(connectTimeout: number): void {
    const { href } = this.#context.origin
    const message = `Could not connect to ${href} within connectTimeout (${connectTimeout} ms)`
    this.#end({ error: new ConnectTimeoutError(message) })
  }

  #end(result: SearchResult): void {
    this.#stop()
    this.#onResult(result)
  }

  #stop(): void {
    this.#isOver = true
    this.#alarm?.cancel()
    this.#hold?.set(false)
    this.#endWait()
  }
}

function begin(search: SessionSearch): void {
  SessionSearch.begin(search)
}

function decide(search: SessionSearch): void {
  SessionSearch.decide(search)
}
