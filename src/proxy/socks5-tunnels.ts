/**
 * Tunnels through a SOCKS5 proxy.
 *
 * @module
 */

import type { Socket } from 'node:net'
import type { Clock } from '../core/clock.ts'
import { toConnectError, toError } from '../errors/errors.ts'
import { ProxyConnectionError } from '../errors/proxy-errors.ts'
import type { Dial, DialListener } from '../session/connect/dial.ts'
import type { DialerOptions } from '../session/connect/dialer.ts'
import { Dialer } from '../session/connect/dialer.ts'
import { readFrom, tuneSocket } from '../session/connect/socket.ts'
import type { Credentials, ProxyTarget } from './proxy-options.ts'
import { SocksHandshake, toGreeting } from './socks5.ts'
import type { TunnelResult, Tunnels, TunnelTarget } from './tunnels.ts'

/** Each tunnel is a separate connection to the proxy. */
export class Socks5Tunnels implements Tunnels {
  readonly #proxy: ProxyTarget
  readonly #credentials: Credentials | null
  readonly #options: DialerOptions
  readonly #dialer: Dialer

  constructor(proxy: ProxyTarget, credentials: Credentials | null, options: DialerOptions, clock: Clock) {
    this.#proxy = proxy
    this.#credentials = credentials
    this.#options = options
    this.#dialer = new Dialer(options, clock)
  }

  open(target: TunnelTarget, signal: AbortSignal, onResult: (result: TunnelResult) => void): void {
    const { hostname, port, href } = this.#proxy
    const opening = new SocksTunnel(target, this.#credentials, this.#options.connect, href, onResult)
    const asked = { hostname, host: `${hostname}:${port}`, protocol: 'http:', port: String(port) }
    opening.start(this.#dialer.dial({ name: href, asked, port, alpnProtocols: [], tls: {} }, opening), signal)
  }
}

/** A tunnel that is being opened. */
class SocksTunnel implements DialListener {
  readonly #handshake: SocksHandshake
  readonly #credentials: Credentials | null
  readonly #connect: DialerOptions['connect']
  readonly #href: string
  readonly #onResult: (result: TunnelResult) => void
  #socket: Socket | null = null
  #isOver = false
  #unlisten: (() => void) | null = null
  readonly #onReadable = (): void => this.#read()
  readonly #onLost = (): void =>
    this.#fail(new ProxyConnectionError(undefined, 'The SOCKS5 proxy closed the connection'))

  constructor(
    target: TunnelTarget,
    credentials: Credentials | null,
    connect: DialerOptions['connect'],
    href: string,
    onResult: (result: TunnelResult) => void,
  ) {
    this.#handshake = new SocksHandshake(target, credentials)
    this.#credentials = credentials
    this.#connect = connect
    this.#href = href
    this.#onResult = onResult
  }

  start(dial: Dial, signal: AbortSignal): void {
    const cancel = (): void => {
      dial.cancel()
      this.#leave()
      this.#socket?.destroy()
    }
    if (signal.aborted) {
      cancel()
      return
    }
    signal.addEventListener('abort', cancel, { once: true })
    this.#unlisten = () => signal.removeEventListener('abort', cancel)
  }

  toRefusal(): Error | null {
    return null
  }

  onConnected(socket: Socket): void {
    this.#socket = socket
    tuneSocket(socket, this.#connect)
    socket.on('readable', this.#onReadable).on('end', this.#onLost).on('close', this.#onLost)
    socket.on('error', (cause) => this.#fail(toConnectError(cause, this.#href)))
    socket.write(toGreeting(this.#credentials))
  }

  onFailed(cause: unknown): void {
    this.#fail(toConnectError(cause, this.#href))
  }

  /** With `readable`, not `data`: the socket must neither flow nor be paused when it is passed on. */
  #read(): void {
    const socket = this.#socket
    if (socket === null) return
    for (let chunk = readFrom(socket); chunk !== null; chunk = this.#isOver ? null : readFrom(socket)) {
      try {
        this.#receive(socket, chunk)
      } catch (thrown) {
        this.#fail(toError(thrown))
      }
    }
  }

  #receive(socket: Socket, chunk: Buffer): void {
    const message = this.#handshake.receive(chunk)
    if (message !== null) socket.write(message)
    if (!this.#handshake.isConnected) return
    this.#leave()
    const { rest } = this.#handshake
    // The server may speak first: its bytes may come in one read with the proxy's reply.
    if (rest.length > 0) socket.unshift(rest)
    this.#onResult({ tunnel: socket })
  }

  #fail(error: Error): void {
    if (this.#isOver) return
    this.#leave()
    this.#socket?.destroy()
    this.#onResult({ error })
  }

  /** The listener for errors stays, because none may be unhandled. */
  #leave(): void {
    this.#isOver = true
    this.#unlisten?.()
    this.#socket?.off('readable', this.#onReadable).off('end', this.#onLost).off('close', this.#onLost)
  }
}
