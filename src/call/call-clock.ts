/**
 * The time limits of one call.
 *
 * @module
 */

import type { Deadlines, Timed } from '../core/clock.ts'
import type { Limits } from '../options/limits.ts'
import { toQueueLimit } from '../options/limits.ts'

/**
 * The limit that a call has exceeded. Of the first three at most one runs at a time; the other four run beside it:
 *
 * - `queue`: no stream yet, or no connection of HTTP/1.1
 * - `headers`: the request was sent, no final response yet
 * - `body`: the response's body has begun
 * - `continue`: the request's body waits for a 100 response (RFC 9110 §10.1.1), whether the final response has come or
 *   not: the server may wait for that body before it ends its own
 * - `connect`: no connection yet; only for a request with a limit of its own
 * - `upload`: the request's body isn't sent yet
 * - `request`: the whole call
 */
export type Lateness = 'queue' | 'headers' | 'body' | 'continue' | 'connect' | 'upload' | 'request'

/** What only counts while a call has no stream, or an attempt no connection. */
interface Wait {
  /** When the queue's own limit is over; null for never. */
  readonly queueEnd: number | null
  /** When a connection must be there; null for the connection attempt's own limit. */
  connectAt: number | null
  /** What the attempt does first once it has a connection; null when it has begun without it, or isn't there yet. */
  firstUpload: 'none' | 'sending' | 'waiting' | null
}

type Phase = 'idle' | 'queue' | 'headers' | 'body'

/** Has the limits, and hears of those that are exceeded. */
export interface LateListener {
  readonly limits: Limits
  onLate(lateness: Lateness): void
}

/** RFC 9110 §10.1.1: a client must not wait for a 100 for ever. Milliseconds. */
const CONTINUE_TIMEOUT = 1_000

const NEVER = Number.POSITIVE_INFINITY

/**
 * Keeps all limits of a call in one entry of the list of deadlines: that of the soonest limit. A call with a
 * `requestTimeout` of less than a second is in the finer list.
 */
export class CallClock implements Timed {
  deadline = NEVER
  listIndex = -1
  readonly #deadlines: Deadlines
  readonly #listener: LateListener
  #phase: Phase = 'idle'
  // Null, not Infinity: V8 allocates a box of its own for each field that has only ever held a fraction or Infinity.
  #phaseAt: number | null = null
  #continueAt: number | null = null
  #uploadAt: number | null = null
  #requestAt: number | null = null
  /** Null for a call whose attempt has a connection. */
  #wait: Wait | null = null

  constructor(deadlines: Deadlines, listener: LateListener) {
    this.#deadlines = deadlines.listFor(listener.limits.requestTimeout)
    this.#listener = listener
  }

  /** The call was dispatched. */
  start(): void {
    const { requestTimeout } = this.#listener.limits
    if (requestTimeout === 0) return
    const now = this.#deadlines.now()
    this.#requestAt = now + requestTimeout
    this.#arm(now)
  }

  /** The call waits for a stream. The limit `connect` covers all the connection attempts that it waits for. */
  queue(): void {
    const { queueTimeout } = this.#listener.limits
    const now = this.#deadlines.now()
    const queueEnd = queueTimeout === 0 ? null : now + queueTimeout
    this.#wait = { queueEnd, connectAt: this.#toConnectAt(now), firstUpload: null }
    this.#uploadAt = null
    this.#continueAt = null
    this.#enter('queue', toQueueLimit(this.#listener.limits), now)
  }

  /**
   * The call still waits for a connection, which has a limit of its own: a `headersTimeout` that bounds the queue
   * begins anew, up to `queueTimeout` in all.
   *
   * @returns false when that is over, too
   */
  queueOn(): boolean {
    const now = this.#deadlines.now()
    const rest = (this.#wait?.queueEnd ?? NEVER) - now
    if (rest <= 0) return false
    this.#enter('queue', Math.min(toQueueLimit(this.#listener.limits), rest), now)
    return true
  }

  /**
   * An attempt has begun. Without a connection it waits on: nothing is sent, and no response is due.
   *
   * @param body `none`: the request is sent already; `sending`: its body is being sent; `waiting`: its body waits for a
   *   100 response
   * @param isConnected whether the attempt has a connection, or has to find one
   */
  open(body: 'none' | 'sending' | 'waiting', isConnected = true): void {
    const now = this.#deadlines.now()
    if (!isConnected) {
      if (this.#wait === null || this.#phase !== 'queue') this.queue()
      else this.#wait.connectAt ??= this.#toConnectAt(now)
      if (this.#wait !== null) this.#wait.firstUpload = body
      this.#arm(now)
      return
    }
    this.#wait = null
    if (body === 'none') {
      this.#enter('headers', this.#listener.limits.headersTimeout, now)
      return
    }
    this.#phase = 'idle'
    this.#phaseAt = null
    if (body === 'sending') {
      this.#progressUpload(now)
    } else {
      this.#continueAt = now + CONTINUE_TIMEOUT
      this.#arm(now)
    }
  }

  /** The attempt has found its connection. Over HTTP/2 the body may have been sent before: SETTINGS come later. */
  connected(): void {
    if (this.#wait === null) return
    const { firstUpload, connectAt } = this.#wait
    this.#wait = null
    if (firstUpload !== null) this.open(firstUpload)
    else if (connectAt !== null) this.#arm(this.#deadlines.now())
  }

  /** A part of the request's body was sent, or may be sent from now on. */
  upload(): void {
    this.#begin()
    this.#continueAt = null
    this.#progressUpload(this.#deadlines.now())
  }

  /** All of the request's body was sent: the server has to respond, unless it has already. */
  uploaded(): void {
    this.#begin()
    this.#uploadAt = null
    this.#continueAt = null
    const now = this.#deadlines.now()
    if (this.#phase === 'body') this.#arm(now)
    else this.#enter('headers', this.#listener.limits.headersTimeout, now)
  }

  /** A part of the response's body has come, or the reader takes it again. */
  body(): void {
    this.#enter('body', this.#listener.limits.bodyTimeout, this.#deadlines.now())
  }

  /** The reader holds the response's body back. */
  holdBody(): void {
    this.#enter('body', 0, this.#deadlines.now())
  }

  /** The call has settled. */
  stop(): void {
    this.#deadlines.delete(this)
  }

  onDeadline(): void {
    const now = this.#deadlines.now()
    const lateness = this.#toLateness(now)
    // The other limits go on: the call may outlive this one, as it does when a server never sends 100.
    this.#arm(now)
    if (lateness !== null) this.#listener.onLate(lateness)
  }

  /** The limit that is exceeded, which ends with this; null for none. */
  #toLateness(now: number): Lateness | null {
    if (this.#requestAt !== null && this.#requestAt <= now) {
      this.#requestAt = null
      return 'request'
    }
    if (this.#uploadAt !== null && this.#uploadAt <= now) {
      this.#uploadAt = null
      return 'upload'
    }
    if (this.#wait !== null && this.#wait.connectAt !== null && this.#wait.connectAt <= now) {
      this.#wait.connectAt = null
      return 'connect'
    }
    if (this.#continueAt !== null && this.#continueAt <= now) {
      this.#continueAt = null
      return 'continue'
    }
    if (this.#phaseAt === null || this.#phaseAt > now || this.#phase === 'idle') return null
    this.#phaseAt = null
    return this.#phase
  }

  /** The body is being sent, although the peer's SETTINGS haven't come: the call waits no longer. */
  #begin(): void {
    if (this.#wait === null || this.#wait.firstUpload === null) return
    this.#wait.firstUpload = null
    this.#phase = 'idle'
    this.#phaseAt = null
  }

  #toConnectAt(now: number): number | null {
    const { connectTimeout } = this.#listener.limits
    return connectTimeout === null || connectTimeout === 0 ? null : now + connectTimeout
  }

  #progressUpload(now: number): void {
    const { uploadTimeout } = this.#listener.limits
    this.#uploadAt = uploadTimeout === 0 ? null : now + uploadTimeout
    this.#arm(now)
  }

  #enter(phase: Phase, delay: number, now: number): void {
    this.#phase = phase
    this.#phaseAt = delay === 0 ? null : now + delay
    this.#arm(now)
  }

  #arm(now: number): void {
    let at = this.#phaseAt ?? NEVER
    if (this.#uploadAt !== null && this.#uploadAt < at) at = this.#uploadAt
    if (this.#requestAt !== null && this.#requestAt < at) at = this.#requestAt
    const connectAt = this.#wait?.connectAt ?? NEVER
    if (connectAt < at) at = connectAt
    if (this.#continueAt !== null && this.#continueAt < at) at = this.#continueAt
    this.#deadlines.set(this, at, now)
  }
}
