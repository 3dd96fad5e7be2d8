/**
 * Passes connections between an origin's sessions and its fallback, depending on the protocol that they have chosen.
 *
 * @module
 */

import type { Socket } from 'node:net'
import type { Alarm, Clock } from '../../core/clock.ts'
import { destroySocket, setRef } from './socket.ts'

/** The sessions of one origin, as the fallback's connections see them. */
export interface Http2Taker {
  /** Whether a connection opened for HTTP/1.1 may choose HTTP/2: then both are offered. */
  readonly mayChooseHttp2: boolean
  /** A connection that was offered both has chosen HTTP/1.1. */
  onHttp1Chosen(): void
  /** A connection that was offered both has chosen HTTP/2. It belongs to the taker from now on. */
  takeHttp2(socket: Socket): void
}

/**
 * How many milliseconds a connection waits for the fallback. The calls that it was opened for go there at once, and
 * no server closes an idle connection that soon.
 */
const SPARE_AGE = 1_000

/**
 * A protocol is a property of a connection: behind one address there may be servers for HTTP/2 and for HTTP/1.1, and
 * one that spoke HTTP/1.1 may speak HTTP/2 after a roll-out. In either case no handshake is wasted.
 */
export class SocketExchange {
  readonly #clock: Clock
  readonly #taken = new WeakSet<Error>()
  /** Null until there are sessions, and once the exchange is closed. */
  #taker: Http2Taker | null = null
  /** A connection from a session's attempt that has chosen HTTP/1.1; null for none. */
  #spare: Socket | null = null
  /** Fires when the spare connection is too old. Null without one. */
  #alarm: Alarm | null = null

  constructor(clock: Clock) {
    this.#clock = clock
  }

  /** The fallback's connections may choose HTTP/2: `taker` takes those. */
  open(taker: Http2Taker): void {
    this.#taker = taker
  }

  /** No more connections are passed on. */
  close(): void {
    this.#taker = null
    this.destroyHttp1()
  }

  /** The sessions that take one of the fallback's connections if it chooses HTTP/2; null: it must not choose that. */
  find(): Http2Taker | null {
    return this.#taker?.mayChooseHttp2 === true ? this.#taker : null
  }

  /** @param error what the fallback gets instead of a connection */
  noteTaken(error: Error): void {
    this.#taken.add(error)
  }

  /** Whether a connection has failed for the fallback because it speaks HTTP/2, and a session has taken it. */
  wasTaken(error: Error): boolean {
    return this.#taken.has(error)
  }

  /**
   * A connection from a session's attempt has chosen HTTP/1.1: the fallback may take it.
   *
   * @returns false if the exchange doesn't keep it
   */
  keepHttp1(socket: Socket): boolean {
    if (this.#taker === null || this.#spare !== null) return false
    this.#spare = socket
    this.#alarm = this.#clock.after(SPARE_AGE, () => this.destroyHttp1())
    setRef(socket, false)
    return true
  }

  /** The connection that was kept, if it is still open; null for none. */
  takeHttp1(): Socket | null {
    const socket = this.#spare
    if (socket === null) return null
    this.#clearSpare()
    if (socket.readable && socket.writable) {
      setRef(socket, true)
      return socket
    }
    destroySocket(socket)
    return null
  }

  /** The fallback won't take the connection that was kept. */
  destroyHttp1(): void {
    if (this.#spare !== null) destroySocket(this.#spare)
    this.#clearSpare()
  }

  #clearSpare(): void {
    this.#spare = null
    this.#alarm?.cancel()
    this.#alarm = null
  }
}
