/**
 * One attempt to get an open socket.
 *
 * @module
 */

import type { LookupAddress } from 'node:dns'
import type { Socket } from 'node:net'
import { isTlsSocket } from '../../core/builtin.ts'
import type { Alarm, Clock } from '../../core/clock.ts'
import { Hold } from '../../core/clock.ts'
import { originalNextTick } from '../../core/original-timers.ts'
import { invalid } from '../../core/validate.ts'
import { ConnectTimeoutError, SocketError } from '../../errors/errors.ts'
import { FoundAddresses } from './addresses.ts'
import { ConnectAlarm } from './connect-alarm.ts'
import { destroySocket, isSocket, setRef } from './socket.ts'

/** Is told a dial's result, once, but not after {@link Dial.cancel}, and never during `dial()`. */
export interface DialListener {
  /**
   * A socket that the dialer has created starts to connect. Not called for a socket from the caller's connect
   * function.
   */
  onConnecting?(socket: Socket): void
  /**
   * Why an open socket can't carry the protocol; null if it can. With an error, the dial fails, and the socket is
   * destroyed unless {@link keepRefused} keeps it.
   */
  toRefusal(socket: Socket): Error | null
  /** Whether a refused socket serves another protocol: then it belongs to the listener from now on. */
  keepRefused?(socket: Socket): boolean
  /** The socket is open, and belongs to the listener from now on. */
  onConnected(socket: Socket): void
  /** The dial has failed. @param cause any value: a connect function may throw anything */
  onFailed(cause: unknown): void
}

/** The part of `connectTimeout` that a TLS handshake may take before another address is tried, too. */
const HANDSHAKE_PART = 1 / 4

/**
 * Owns the alarm, the connecting sockets and the single result. A socket that arrives after the end of the dial is
 * destroyed. It listens to each socket's errors for as long as the socket lives, so that none is ever an uncaught
 * exception.
 */
export class Dial {
  /** The target's name in error messages. */
  readonly #name: string
  readonly #listener: DialListener
  readonly #clock: Clock
  /** Null without a `connectTimeout`. */
  readonly #alarm: ConnectAlarm | null
  /**
   * Null with a `connectTimeout`. Without one, it keeps the process alive instead of the alarm, because a connect
   * function may hold nothing that does.
   */
  readonly #hold: Hold | null
  /** In milliseconds; 0 for none. */
  readonly #connectTimeout: number
  /** Null until the dialer, or the caller's connect function, has created it. */
  #socket: Socket | null = null
  /** A socket to other addresses of the same name, because the first one's handshake takes long; null for none. */
  #second: Socket | null = null
  /** When to create that one; null for never. */
  #secondAlarm: Alarm | null = null
  #isOver = false
  /**
   * Tells the caller's connect function that its socket is no longer wanted; null for a socket that Dodici has
   * created.
   */
  #cancellation: AbortController | null = null
  /** The last argument of `setRef()`; null before the first call. */
  #isNeeded: boolean | null = null
  /** Whether `setRef(false)` was called: the socket may have to be referenced again. */
  #wasUnreferenced = false

  /**
   * @param connectTimeout in milliseconds; 0 for none
   * @param startedAt when it started to run, in the clock's time
   */
  constructor(
    name: string,
    connectTimeout: number,
    clock: Clock,
    listener: DialListener,
    startedAt: number = clock.now(),
  ) {
    this.#name = name
    this.#connectTimeout = connectTimeout
    this.#listener = listener
    this.#clock = clock
    this.#hold = connectTimeout === 0 ? new Hold(clock) : null
    this.#alarm =
      connectTimeout === 0
        ? null
        : new ConnectAlarm(clock, startedAt, connectTimeout, () => this.#onTimeout(connectTimeout))
  }

  /** Aborted when the dial ends without a socket. */
  get signal(): AbortSignal {
    this.#cancellation ??= new AbortController()
    return this.#cancellation.signal
  }

  /** Ends the dial without a result. Idempotent; does nothing after the result. */
  cancel(): void {
    if (this.#isOver) return
    this.#destroySockets()
  }

  /** Sets whether a call waits for it, so that it keeps the process alive. */
  setRef(isNeeded: boolean): void {
    this.#isNeeded = isNeeded
    this.#alarm?.setRef(isNeeded)
    if (!this.#isOver) this.#hold?.set(isNeeded)
    this.#secondAlarm?.setRef(isNeeded)
    if (this.#socket !== null) setRef(this.#socket, isNeeded)
    if (this.#second !== null) setRef(this.#second, isNeeded)
    if (!isNeeded) this.#wasUnreferenced = true
  }

  /**
   * Connects a socket that Dodici creates. Node tries the addresses of a name in turn until one accepts TCP. If the
   * TLS handshake then takes a quarter of `connectTimeout`, the other addresses are tried, too, and the first socket
   * that is ready is used.
   *
   * @param open creates a socket, which isn't connected yet; if it throws, the dial fails. It gets the addresses to
   *   connect to; null for all of the name's
   */
  connect(open: (addresses: readonly LookupAddress[] | null) => Socket): void {
    try {
      const socket = this.#begin(open(null))
      this.#adopt(socket)
      if (this.#connectTimeout > 0 && isTlsSocket(socket)) this.#watchHandshake(socket, open)
    } catch (thrown) {
      // Node throws at once for a `ca` that is no certificate, and for a `localPort` out of range.
      originalNextTick(() => this.fail(thrown))
    }
  }

  #begin(socket: Socket): Socket {
    socket.once(toConnectEvent(socket), () => this.#onOpen(socket))
    this.#listener.onConnecting?.(socket)
    return socket
  }

  #watchHandshake(socket: Socket, open: (addresses: readonly LookupAddress[]) => Socket): void {
    const found = new FoundAddresses(socket)
    socket.once('connect', () => {
      const others = found.toOthers(socket)
      if (this.#isOver || others.length === 0) return
      this.#secondAlarm = this.#clock.after(this.#connectTimeout * HANDSHAKE_PART, () =>
        this.#connectSecond(() => open(others)),
      )
      if (this.#isNeeded !== null) this.#secondAlarm.setRef(this.#isNeeded)
    })
  }

  /** If this one fails, the first attempt continues. */
  #connectSecond(open: () => Socket): void {
    if (this.#isOver) return
    let second: Socket
    try {
      second = open()
    } catch {
      return // The same options have made the first socket: a `secureContext` function may throw now.
    }
    this.#second = second
    second.on('error', (error) => this.#onSocketError(second, error))
    this.#begin(second)
    if (this.#isNeeded !== null) setRef(second, this.#isNeeded)
  }

  /** If one of two sockets fails, the other one may still connect. */
  #onSocketError(socket: Socket, error: Error): void {
    if (this.#isOver || this.#second === null) {
      this.fail(error)
      return
    }
    if (socket === this.#socket) this.#socket = this.#second
    this.#second = null
  }

  /** Accepts a value from the caller's connect function, which may have any type, and may arrive at any time. */
  accept(socket: unknown): void {
    if (!isSocket(socket)) {
      this.fail(invalid('connect', socket, 'a function that provides a socket'))
      return
    }
    // A connect function may call back twice with the same socket, which must not be destroyed then.
    if (socket === this.#socket) return
    if (this.#isOver) {
      destroySocket(socket)
      return
    }
    this.#adopt(socket)
    if (socket.destroyed)
      // It may have failed since, such as by bytes that aren't TLS in one read with a proxy's response.
      this.fail(
        socket.errored ?? invalid('connect', 'a destroyed socket', 'a function that provides an open socket'),
      )
    else if (socket.connecting || ('secureConnecting' in socket && socket.secureConnecting === true)) {
      socket.once(toConnectEvent(socket), () => this.#onOpen(socket))
      socket.once('close', () => this.fail(new SocketError("The connect function's socket was closed")))
    } else {
      this.#onOpen(socket)
    }
  }

  /** Fails the dial: there will be no socket. Does nothing after the end of the dial. */
  fail(cause: unknown): void {
    if (this.#isOver) return
    this.#destroySockets()
    this.#listener.onFailed(cause)
  }

  #destroySockets(): void {
    this.#stop()
    this.#socket?.destroy()
    this.#second?.destroy()
    this.#cancellation?.abort()
  }

  /** The listener for `error` stays for the socket's life, so that none of its errors is unhandled. */
  #adopt(socket: Socket): void {
    this.#socket = socket
    socket.on('error', (error) => this.#onSocketError(socket, error))
  }

  #onOpen(socket: Socket): void {
    if (this.#isOver) {
      destroySocket(socket)
      return
    }
    if (socket.destroyed) {
      // A listener before ours has destroyed it, such as one that pins a certificate.
      this.fail(socket.errored ?? new SocketError('The socket was destroyed as soon as it was connected'))
      return
    }
    if (this.#wasUnreferenced) {
      // A socket without a handle runs unref() in a listener that comes after this one.
      this.#wasUnreferenced = false
      originalNextTick(() => {
        setRef(socket, true)
        this.#onOpen(socket)
      })
      return
    }
    const refusal = this.#listener.toRefusal(socket)
    if (refusal !== null && this.#listener.keepRefused?.(socket) !== true) {
      destroySocket(socket)
      this.fail(refusal)
      return
    }
    this.#stop()
    for (const each of [this.#socket, this.#second]) if (each !== socket) each?.destroy()
    if (refusal === null) this.#listener.onConnected(socket)
    else this.#listener.onFailed(refusal)
  }

  #onTimeout(connectTimeout: number): void {
    const message = `Could not connect to ${this.#name} within connectTimeout (${connectTimeout} ms)`
    this.fail(new ConnectTimeoutError(message))
  }

  #stop(): void {
    this.#isOver = true
    this.#alarm?.cancel()
    this.#secondAlarm?.cancel()
    this.#hold?.set(false)
  }
}

function toConnectEvent(socket: Socket): 'secureConnect' | 'connect' {
  return isTlsSocket(socket) ? 'secureConnect' : 'connect'
}
