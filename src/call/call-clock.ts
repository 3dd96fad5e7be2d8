/**
 * The time limits of one call.
 *
 * @module
 */

import type { Deadlines, Timed } from '../core/clock.ts'
import type { Limits } from '../options/limits.ts'
import { toQueueLimit } from '../options/limits.ts'

/**
 * The timeout that a call has exceeded. At most one of the first three runs at a time; the other four run in
 * parallel:
 *
 * - `queue`: no stream yet, or no HTTP/1.1 connection
 * - `headers`: the request was sent, no final response yet
 * - `body`: the response body has begun
 * - `continue`: the request body waits for a 100 response (RFC 9110 §10.1.1), whether the final response has arrived
 *   or not: the server may wait for that body before it ends the response
 * - `connect`: no connection yet; only for a request that sets `connectTimeout` itself
 * - `upload`: the request body isn't sent yet
 * - `request`: the whole call
 */
export type Lateness = 'queue' | 'headers' | 'body' | 'continue' | 'connect' | 'upload' | 'request'

/** How long a request with its own `connectTimeout` may wait for a connection. */
interface ConnectWait {
  /** When there must be one; null once that has passed. */
  at: number | null
  /** Whether the call was waiting for something else when that time came last. */
  wasConnected: boolean
}

/** Times that only matter while a call has no stream, or an attempt no connection. */
interface Wait {
  /** When the queue's own timeout ends; null for never. */
  readonly queueEnd: number | null
  /** Null: the connection attempt's own timeout applies. */
  readonly connect: ConnectWait | null
  /** What the attempt does first once it has a connection; null if it has begun without one, or doesn't exist yet. */
  firstUpload: 'none' | 'sending' | 'waiting' | null
}

type Phase = 'idle' | 'queue' | 'headers' | 'body'

/** Has the timeouts, and is told when one is exceeded. */
export interface LateListener {
  readonly limits: Limits
  onLate(lateness: Lateness): void
}

/** RFC 9110 §10.1.1: a client must not wait for a 100 forever. In milliseconds. */
const CONTINUE_TIMEOUT = 1_000

const NEVER = Number.POSITIVE_INFINITY

/**
 * Keeps all timeouts of a call in one entry in the list of deadlines, set to the earliest. A call with a
 * `requestTimeout` below one second uses the list with the finer resolution.
 */
export class CallClock implements Timed {
  deadline = NEVER
  listIndex = -1
  readonly #deadlines: Deadlines
  readonly #listener: LateListener
  #phase: Phase = 'idle'
  // Null, not Infinity: V8 allocates a separate box for each field that has only ever held a fraction or Infinity.
  #phaseAt: number | null = null
  #continueAt: number | null = null
  #uploadAt: number | null = null
  #requestAt: number | null = null
  /** Null if the call's attempt has a connection. */
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

  /** The call waits for a stream. The `connect` timeout covers all connection attempts that it waits for. */
  queue(): void {
    this.#queue(null)
  }

  /** Another attempt follows. If the last one had no connection, the `connect` timeout continues. */
  queueAgain(): void {
    this.#queue(this.#wait?.connect ?? null)
  }

  /** @param connect null: the `connect` timeout begins */
  #queue(connect: ConnectWait | null): void {
    const { queueTimeout } = this.#listener.limits
    const now = this.#deadlines.now()
    const queueEnd = queueTimeout === 0 ? null : now + queueTimeout
    this.#wait = { queueEnd, connect: connect ?? this.#toConnectWait(now), firstUpload: null }
    this.#uploadAt = null
    this.#continueAt = null
    this.#enter('queue', toQueueLimit(this.#listener.limits), now)
  }

  /**
   * The call still waits for a connection, which has its own timeout: a `headersTimeout` that limits the queue starts
   * again, up to `queueTimeout` in total.
   *
   * @returns false if that has passed, too
   */
  queueOn(): boolean {
    const now = this.#deadlines.now()
    const rest = (this.#wait?.queueEnd ?? NEVER) - now
    if (rest <= 0) return false
    this.#enter('queue', Math.min(toQueueLimit(this.#listener.limits), rest), now)
    return true
  }

  /**
   * The `connect` timeout has passed. It doesn't limit the wait for anything else, such as room on a connection: then
   * it begins again. When that connection is lost, the wait for the next one gets the whole time.
   *
   * @param isConnecting whether the call waits for a connection now
   * @returns false if it has done so all that time
   */
  connectOn(isConnecting: boolean): boolean {
    const connect = this.#wait?.connect ?? null
    if (connect === null || (isConnecting && !connect.wasConnected)) return false
    const now = this.#deadlines.now()
    this.#beginConnect(connect, now)
    connect.wasConnected = !isConnecting
    this.#arm(now)
    return true
  }

  /**
   * An attempt has begun. Without a connection, it continues to wait: nothing is sent, and no response is due.
   *
   * @param body `none`: the request was sent already; `sending`: its body is being sent; `waiting`: its body waits
   *   for a 100 response
   * @param isConnected whether the attempt has a connection, or has to find one
   */
  open(body: 'none' | 'sending' | 'waiting', isConnected = true): void {
    const now = this.#deadlines.now()
    if (!isConnected) {
      if (this.#wait === null || this.#phase !== 'queue') this.queue()
      else this.#lookForConnection(this.#wait.connect, now)
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

  /** The attempt has found its connection. Over HTTP/2, the body may have been sent before: SETTINGS arrive later. */
  connected(): void {
    if (this.#wait === null) return
    const { firstUpload, connect } = this.#wait
    this.#wait = null
    if (firstUpload !== null) this.open(firstUpload)
    else if (connect !== null) this.#arm(this.#deadlines.now())
  }

  /** A part of the request body was sent, or may be sent from now on. */
  upload(): void {
    this.#begin()
    this.#continueAt = null
    this.#progressUpload(this.#deadlines.now())
  }

  /** The whole request body was sent: the server has to respond, unless it already has. */
  uploaded(): void {
    this.#begin()
    this.#uploadAt = null
    this.#continueAt = null
    const now = this.#deadlines.now()
    if (this.#phase === 'body') this.#arm(now)
    else this.#enter('headers', this.#listener.limits.headersTimeout, now)
  }

  /** A part of the response body has arrived, or the reader reads again. */
  body(): void {
    this.#enter('body', this.#listener.limits.bodyTimeout, this.#deadlines.now())
  }

  /** The reader holds the response body back. */
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
    // The other limits continue: the call may outlive this one, as it does if a server never sends 100.
    this.#arm(now)
    if (lateness !== null) this.#listener.onLate(lateness)
  }

  /** The timeout that has just been exceeded; null for none. */
  #toLateness(now: number): Lateness | null {
    if (this.#requestAt !== null && this.#requestAt <= now) {
      this.#requestAt = null
      return 'request'
    }
    if (this.#uploadAt !== null && this.#uploadAt <= now) {
      this.#uploadAt = null
      return 'upload'
    }
    const connect = this.#wait?.connect ?? null
    if (connect !== null && connect.at !== null && connect.at <= now) {
      connect.at = null
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

  /** The body is being sent before the peer's SETTINGS have arrived: the call no longer waits. */
  #begin(): void {
    if (this.#wait === null || this.#wait.firstUpload === null) return
    this.#wait.firstUpload = null
    this.#phase = 'idle'
    this.#phaseAt = null
  }

  #toConnectWait(now: number): ConnectWait | null {
    const connectTimeout = this.#listener.limits.connectTimeout ?? 0
    return connectTimeout === 0 ? null : { at: now + connectTimeout, wasConnected: false }
  }

  #beginConnect(connect: ConnectWait, now: number): void {
    connect.at = now + (this.#listener.limits.connectTimeout ?? 0)
    connect.wasConnected = false
  }

  /** A call that has waited for something else begins to wait for a connection. */
  #lookForConnection(connect: ConnectWait | null, now: number): void {
    if (connect !== null && (connect.at === null || connect.wasConnected)) this.#beginConnect(connect, now)
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
    const connectAt = this.#wait?.connect?.at ?? NEVER
    if (connectAt < at) at = connectAt
    if (this.#continueAt !== null && this.#continueAt < at) at = this.#continueAt
    this.#deadlines.set(this, at, now)
  }
}
