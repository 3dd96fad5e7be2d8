/**
 * Sends CONNECT to an HTTP/1.1 proxy.
 *
 * @module
 */

import type { Socket } from 'node:net'
import type { FallbackDispatcher } from '../../types/client.ts'
import type { AnyDispatchHandler, DispatchController, DispatchHandler } from '../../types/handler.ts'
import type { DispatchOptions } from '../../types/request.ts'
import type { Clock } from '../core/clock.ts'
import { originalNextTick } from '../core/original-timers.ts'
import { NotSupportedError, RequestAbortedError, toConnectError } from '../errors/errors.ts'
import { toNativeHandler } from '../handler/legacy-handler.ts'
import { toHeaderObject } from '../request/header-object.ts'
import { toRawHeaders } from '../request/headers.ts'
import type { Dial, DialListener } from '../session/connect/dial.ts'
import type { DialerOptions } from '../session/connect/dialer.ts'
import { Dialer } from '../session/connect/dialer.ts'
import { tuneSocket } from '../session/connect/socket.ts'
import type { Http1ConnectListener, Http1Response } from './http1-connect.ts'
import { Http1Connect } from './http1-connect.ts'
import type { ProxyTarget } from './proxy-options.ts'

/** The fallback of the pool that leads to the proxy: each tunnel is a separate connection. It accepts only CONNECT. */
export class Http1Proxy implements FallbackDispatcher {
  readonly #proxy: ProxyTarget
  readonly #options: DialerOptions
  readonly #dialer: Dialer

  constructor(proxy: ProxyTarget, options: DialerOptions, clock: Clock) {
    this.#proxy = proxy
    this.#options = options
    this.#dialer = new Dialer(options, clock)
  }

  /** @throws NotSupportedError for another method */
  dispatch(options: DispatchOptions, handler: AnyDispatchHandler): boolean {
    const { method, path, headers } = options
    if (method !== 'CONNECT') throw new NotSupportedError('A proxy connection takes only CONNECT')
    const { hostname, port, protocol, href } = this.#proxy
    const native = toNativeHandler(options, handler)
    const fields = toRawHeaders(headers as Parameters<typeof toRawHeaders>[0])
    const exchange = new ProxyExchange(native, path, fields, this.#options.connect, href)
    const { host } = new URL(href)
    const asked = { hostname, host, protocol, port: new URL(href).port }
    const servername =
      typeof this.#options.connect === 'function' ? undefined : this.#options.connect.servername
    const tls = { servername: servername ?? hostname }
    exchange.start(this.#dialer.dial({ name: href, asked, port, alpnProtocols: ['http/1.1'], tls }, exchange))
    return true
  }
}

/** One CONNECT: the connection, the exchange, and the controller of its handler. */
class ProxyExchange implements DialListener, Http1ConnectListener, DispatchController {
  aborted = false
  readonly paused = false
  reason: Error | null = null
  rawHeaders: string[] | null = null
  rawTrailers: string[] | null = null
  readonly #handler: DispatchHandler
  readonly #authority: string
  readonly #fields: readonly string[]
  readonly #connect: DialerOptions['connect']
  readonly #href: string
  #dial: Dial | null = null
  #exchange: Http1Connect | null = null
  #isOver = false

  constructor(
    handler: DispatchHandler,
    authority: string,
    fields: readonly string[],
    connect: DialerOptions['connect'],
    href: string,
  ) {
    this.#handler = handler
    this.#authority = authority
    this.#fields = fields
    this.#connect = connect
    this.#href = href
  }

  /** From here on, its handler can abort it. */
  start(dial: Dial): void {
    this.#dial = dial
    this.#handler.onRequestStart?.(this, {})
  }

  abort(reason?: Error | null): void {
    if (this.#isOver) return
    this.aborted = true
    this.reason = reason ?? new RequestAbortedError()
    this.#dial?.cancel()
    this.#exchange?.cancel()
    this.#isOver = true
    const { reason: error } = this
    originalNextTick(() => this.#handler.onResponseError?.(this, error))
  }

  pause(): void {}

  resume(): void {}

  toRefusal(): Error | null {
    return null
  }

  onConnected(socket: Socket): void {
    tuneSocket(socket, this.#connect)
    this.#exchange = new Http1Connect(socket, this)
    this.#exchange.send(this.#authority, this.#fields)
  }

  onFailed(cause: unknown): void {
    this.onError(toConnectError(cause, this.#href))
  }

  onTunnel({ statusCode, raw }: Http1Response, socket: Socket): void {
    if (this.#isOver) {
      socket.destroy()
      return
    }
    this.#isOver = true
    this.rawHeaders = raw
    this.#handler.onRequestUpgrade?.(this, statusCode, toHeaderObject(raw), socket)
  }

  onResponse({ statusCode, raw }: Http1Response): void {
    this.rawHeaders = raw
    this.#handler.onResponseStart?.(this, statusCode, toHeaderObject(raw))
  }

  onData(chunk: Buffer): void {
    if (!this.#isOver) this.#handler.onResponseData?.(this, chunk)
  }

  onEnd(): void {
    if (this.#isOver) return
    this.#isOver = true
    this.#handler.onResponseEnd?.(this, {})
  }

  onError(error: Error): void {
    if (this.#isOver) return
    this.#isOver = true
    this.#handler.onResponseError?.(this, error)
  }
}
