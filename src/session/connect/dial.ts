/**
 * One attempt to get an open socket.
 *
 * @module
 */

import type { Socket } from 'node:net'
import { TLSSocket } from 'node:tls'
import type { Alarm, Clock } from '../../core/clock.ts'
import { Hold } from '../../core/clock.ts'
import { originalNextTick } from '../../core/original-timers.ts'
import { invalid } from '../../core/validate.ts'
import { ConnectTimeoutError, SocketError } from '../../errors.ts'
import { discardSocket, isSocket, setRef } from './socket.ts'

/**
 * What a dial is made for. It hears of one result, and of none after {@link Dial.cancel}; never from within `dial()`.
 */
export interface DialListener {
  /** A socket that the dialer has made begins to connect: not called for one of the caller's connect function. */
  onConnecting?(socket: Socket): void
  /**
   * Why the protocol can't be spoken on an open socket; null where it can. The socket is destroyed then, and the dial
   * fails.
   */
  toRefusal(socket: Socket): Error | null
  /** The socket is open, and the listener's own from now on. */
  onConnected(socket: Socket): void
  /** There is no socket. @param cause any value: a connect function may throw what it likes */
  onFailed(cause: unknown): void
}

/**
 * The alarm, the sockets on their way, and the one result. A socket that comes once the dial is over is destroyed, and
 * the errors of each socket are listened to for as long as it lives: none is ever an uncaught exception.
 */
export class Dial {
  /** Whom it is to, as error texts say it. */
  readonly #name: string
  readonly #listener: DialListener
  /** Null without a `connectTimeout`. */
  readonly #alarm: Alarm | null
  /** In the alarm's place then: a connect function may hold nothing that would keep the process alive. */
  readonly #hold: Hold | null
  /** Null until it is made: by the dialer, or by the caller's connect function. */
  #socket: Socket | null = null
  #isOver = false
  /** For a while no call waited for it. */
  #wasUnreferenced = false

  /** @param connectTimeout milliseconds; 0 for none */
  constructor(name: string, connectTimeout: number, clock: Clock, listener: DialListener) {
    this.#name = name
    this.#listener = listener
    this.#hold = connectTimeout === 0 ? new Hold(clock) : null
    this.#alarm =
      connectTimeout === 0 ? null : clock.after(connectTimeout, () => this.#onTimeout(connectTimeout))
  }

  /** No result is wanted any more. Idempotent; a no-op once there was one. */
  cancel(): void {
    if (this.#isOver) return
    this.#end()
    this.#socket?.destroy()
  }

  /** Whether a call waits for it, so that it keeps the process alive. */
  setRef(isNeeded: boolean): void {
    this.#alarm?.setRef(isNeeded)
    if (!this.#isOver) this.#hold?.set(isNeeded)
    if (this.#socket !== null) setRef(this.#socket, isNeeded)
    if (!isNeeded) this.#wasUnreferenced = true
  }

  /**
   * Connects a socket of the dialer's own.
   *
   * @param open makes one that isn't connected yet; what it throws fails the dial
   */
  connect(open: () => Socket): void {
    let socket: Socket
    try {
      socket = open()
      socket.once(toConnectEvent(socket), () => this.#onOpen(socket))
      this.#listener.onConnecting?.(socket)
    } catch (thrown) {
      // A `ca` that is no certificate, a `localPort` out of range: Node throws at once.
      originalNextTick(() => this.fail(thrown))
      return
    }
    this.#adopt(socket)
  }

  /** Takes what the caller's connect function has yielded, which may be any value, and come at any time. */
  accept(socket: unknown): void {
    if (!isSocket(socket)) {
      this.fail(invalid('connect', socket, 'a function that yields a socket'))
      return
    }
    // A connect function that calls back twice with one socket must not lose it.
    if (socket === this.#socket) return
    if (this.#isOver) {
      discardSocket(socket)
      return
    }
    this.#adopt(socket)
    if (socket.destroyed)
      this.fail(invalid('connect', 'a destroyed socket', 'a function that yields an open socket'))
    else if (socket.connecting || ('secureConnecting' in socket && socket.secureConnecting === true)) {
      socket.once(toConnectEvent(socket), () => this.#onOpen(socket))
      socket.once('close', () => this.fail(new SocketError('The socket of the connector was closed')))
    } else {
      this.#onOpen(socket)
    }
  }

  /** There will be no socket. A no-op once the dial is over. */
  fail(cause: unknown): void {
    if (this.#isOver) return
    this.#end()
    this.#socket?.destroy()
    this.#listener.onFailed(cause)
  }

  /** The listener for errors stays: whatever happens to the socket, its error must never be an unhandled one. */
  #adopt(socket: Socket): void {
    this.#socket = socket
    socket.on('error', (error) => this.fail(error))
  }

  #onOpen(socket: Socket): void {
    if (this.#isOver) {
      discardSocket(socket)
      return
    }
    if (socket.destroyed) {
      // By a listener before ours, such as one that pins a certificate.
      this.fail(socket.errored ?? new SocketError('The socket was destroyed as soon as it was connected'))
      return
    }
    const refusal = this.#listener.toRefusal(socket)
    if (refusal !== null) {
      discardSocket(socket)
      this.fail(refusal)
    } else if (this.#wasUnreferenced) {
      // A socket without a handle carries unref() out by a listener that comes after this one.
      this.#wasUnreferenced = false
      originalNextTick(() => {
        setRef(socket, true)
        this.#onOpen(socket)
      })
    } else {
      this.#end()
      this.#listener.onConnected(socket)
    }
  }

  #onTimeout(connectTimeout: number): void {
    const message = `Could not connect to ${this.#name} within connectTimeout (${connectTimeout} ms)`
    this.fail(new ConnectTimeoutError(message))
  }

  #end(): void {
    this.#isOver = true
    this.#alarm?.cancel()
    this.#hold?.set(false)
  }
}

function toConnectEvent(socket: Socket): 'secureConnect' | 'connect' {
  return socket instanceof TLSSocket ? 'secureConnect' : 'connect'
}
