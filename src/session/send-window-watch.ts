/**
 * Detects a session that can send no more request bodies, because streams that have ended use up the connection's
 * send window.
 *
 * @module
 */

import type { Deadlines, Timed } from '../core/clock.ts'
import type { EngineConnection } from './engine.ts'

/** The session, as the watch sees it. */
export interface SendWindowOwner {
  /** Whether a call without a response waits to send some of its body. */
  readonly hasStuckUploads: boolean
  /** Whether the peer has complained about PINGs: it gets none. */
  readonly isPingShy: boolean
  /** The peer has returned credit: calls with bodies may be opened again. */
  onSendWindowOpen(): void
  /** The peer has returned none for a second: calls have to use another session. */
  onSendWindowShut(): void
  /** The calls that wait to send some of their bodies can't wait any longer. */
  onUploadsStuck(): void
}

/** The connection, as the watch sees it. */
type WatchedConnection = Pick<EngineConnection, 'isShut' | 'pings' | 'ping'>

/**
 * How many milliseconds the peer may take to return the credit. A server returns it when it reads or drops what a
 * stream has sent, possibly after its response: usually one round trip.
 */
const PATIENCE = 1_000

/** How often, in milliseconds, to check whether the window has opened: node:http2 doesn't report WINDOW_UPDATE. */
const LOOK_INTERVAL = 50

/**
 * The same for a session that takes no more calls, and on which none is stuck: it may live as long as a stream does.
 */
const IDLE_INTERVAL = 1_000

/**
 * How many milliseconds stuck calls may still wait after the ACK of a PING has shown that the peer reads: it knows by
 * then that the streams have ended.
 */
const STUCK_LIMIT = 4_000

/**
 * - `open`: bodies can be sent, or open streams have sent what the peer may still read
 * - `doubted`: shut since then, and the credit may be on its way
 * - `shut`: the session takes no more calls
 * - `probed`: calls are stuck on it, and a PING is in flight
 * - `proven`: the peer has acknowledged the PING at that time
 */
type WindowState =
  | { readonly name: 'open' }
  | { readonly name: 'doubted'; readonly since: number }
  | { readonly name: 'shut' }
  | { readonly name: 'probed' }
  | { readonly name: 'proven'; readonly since: number }

const OPEN: WindowState = { name: 'open' }
const SHUT: WindowState = { name: 'shut' }
const PROBED: WindowState = { name: 'probed' }

/**
 * When a stream ends, some servers never return the credit for the part of a request body that they haven't read:
 * they respond early, or get RST_STREAM. After some such streams, the connection's send window is used up for good,
 * while everything else works. No RFC says how long the credit may take, so the peer gets some time first.
 *
 * It has no timer unless the window is shut.
 */
export class SendWindowWatch implements Timed {
  deadline = Number.POSITIVE_INFINITY
  listIndex = -1
  readonly #owner: SendWindowOwner
  readonly #connection: WatchedConnection
  readonly #deadlines: Deadlines
  #state: WindowState = OPEN

  constructor(owner: SendWindowOwner, connection: WatchedConnection, deadlines: Deadlines) {
    this.#owner = owner
    this.#connection = connection
    this.#deadlines = deadlines
  }

  /**
   * A stream with a body has ended, or a call with a body needs the session.
   *
   * @returns whether the window is shut now
   */
  look(): boolean {
    const { isShut } = this.#connection
    if (isShut && this.#state === OPEN) {
      const now = this.#deadlines.now()
      this.#state = { name: 'doubted', since: now }
      this.#deadlines.set(this, now + LOOK_INTERVAL, now)
    }
    return isShut
  }

  /** WINDOW_UPDATE for the connection has arrived. Not every engine reports that. */
  onCredit(): void {
    if (this.#state !== OPEN && !this.#connection.isShut) this.#open()
  }

  /** The session is closed. */
  stop(): void {
    this.#deadlines.delete(this)
  }

  onDeadline(): void {
    if (!this.#connection.isShut) {
      this.#open()
      return
    }
    const now = this.#deadlines.now()
    const state = this.#state
    const isIdle = (state.name === 'shut' || state.name === 'proven') && !this.#owner.hasStuckUploads
    this.#deadlines.set(this, now + (isIdle ? IDLE_INTERVAL : LOOK_INTERVAL), now)
    switch (state.name) {
      case 'doubted':
        if (now - state.since < PATIENCE) break
        this.#state = SHUT
        this.#owner.onSendWindowShut()
        break
      case 'shut':
        if (!isIdle) this.#probe(now)
        break
      case 'proven':
        if (!isIdle && now - state.since >= STUCK_LIMIT) this.#owner.onUploadsStuck()
    }
  }

  #open(): void {
    this.#state = OPEN
    this.#deadlines.delete(this)
    this.#owner.onSendWindowOpen()
  }

  /** If a PING might end the connection, only the time counts. */
  #probe(now: number): void {
    const { pings } = this.#connection
    const maySend = !this.#owner.isPingShy && pings.canSend(now, true)
    if (maySend && this.#connection.ping(() => this.#onAck())) {
      pings.onSent(now, true)
      this.#state = PROBED
    } else {
      this.#state = { name: 'proven', since: now }
    }
  }

  #onAck(): void {
    const now = this.#deadlines.now()
    this.#connection.pings.onAck(now)
    if (this.#state === PROBED) this.#state = { name: 'proven', since: now }
  }
}
