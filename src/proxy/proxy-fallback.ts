/**
 * HTTP/1.1 behind a proxy: through a tunnel, or forwarded by the proxy.
 *
 * @module
 */

import type { AnyDispatchHandler, DispatchController, DispatchHandler } from '../../types/handler.ts'
import type { IncomingHttpHeaders } from '../../types/headers.ts'
import type { DispatchOptions } from '../../types/request.ts'
import type { Clock } from '../core/clock.ts'
import { toConnectError } from '../errors/errors.ts'
import { toSecureProxyError } from '../errors/proxy-errors.ts'
import { ForwardingHandler } from '../handler/forwarding-handler.ts'
import { toNativeHandler, toTwoShapedHandler } from '../handler/legacy-handler.ts'
import type { ResolvedClientOptions } from '../options/options.ts'
import { toOrigin } from '../options/options.ts'
import { toRawHeaders } from '../request/headers.ts'
import { BuiltinFallback } from '../scheduler/fallback/builtin-fallback.ts'
import type { FallbackRoute, RouteOptions } from '../scheduler/fallback/own-fallback.ts'
import { OwnFallback } from '../scheduler/fallback/own-fallback.ts'
import type { ResolvedProxyOptions } from './proxy-options.ts'
import { toProxyHeaders } from './proxy-options.ts'
import { Refusal } from './refusal.ts'

/** RFC 9110 §15.5.8: this response comes from the proxy itself. */
const PROXY_AUTHENTICATION_REQUIRED = 407

/** The fallback of a ProxyAgent. */
export class ProxyFallback extends OwnFallback {
  readonly #options: ResolvedProxyOptions
  readonly #tunnelled: BuiltinFallback
  /** Connections to the proxy itself; null if all requests go through tunnels. */
  readonly #forwarded: BuiltinFallback | null

  /** @param client the options of the clients behind the proxy, whose connect function opens tunnels */
  constructor(options: ResolvedProxyOptions, client: ResolvedClientOptions, clock: Clock) {
    super()
    this.#options = options
    this.#tunnelled = new BuiltinFallback(client, clock)
    const isForwarding = !options.proxyTunnel && options.target.protocol !== 'socks5:'
    this.#forwarded = isForwarding
      ? new BuiltinFallback({ ...client, connect: options.proxyTls }, clock)
      : null
  }

  override make(options: RouteOptions): FallbackRoute {
    const tunnelled = this.#tunnelled.make(options)
    // A connection to a forwarding proxy is no connection to the origin, and speaks HTTP/1.1.
    const forwarded = this.#forwarded?.make({ ...options, exchange: null, events: null }) ?? null
    return new ProxyRoute(this.#options, tunnelled, forwarded)
  }
}

/** One origin's connections: its tunnels, and those to the proxy that forwards its requests. */
class ProxyRoute implements FallbackRoute {
  readonly #options: ResolvedProxyOptions
  readonly #tunnelled: FallbackRoute
  /** Null if all requests go through tunnels. */
  readonly #forwarded: FallbackRoute | null

  constructor(options: ResolvedProxyOptions, tunnelled: FallbackRoute, forwarded: FallbackRoute | null) {
    this.#options = options
    this.#tunnelled = tunnelled
    this.#forwarded = forwarded
  }

  dispatch(options: DispatchOptions, handler: AnyDispatchHandler): boolean {
    const { origin, method, upgrade } = options
    const isTunnel = method === 'CONNECT' || (upgrade !== undefined && upgrade !== null && upgrade !== false)
    const { href, scheme, authority } = toOrigin(origin)
    if (this.#forwarded === null || isTunnel || scheme === 'https')
      return this.#tunnelled.dispatch(options, handler)
    const aimed = this.#toForwarded(options, href, authority)
    const refusing = new ForwardedHandler(toNativeHandler(options, handler), this.#options.target.href, href)
    return this.#forwarded.dispatch(aimed, toTwoShapedHandler(aimed, refusing))
  }

  /** RFC 9112 §3.2.2: the absolute form. */
  #toForwarded(options: DispatchOptions, href: string, authority: string): DispatchOptions {
    const { path, headers, ...rest } = options
    const fields = toRawHeaders(headers as Parameters<typeof toRawHeaders>[0])
    const hasHost = fields.some((name, index) => index % 2 === 0 && name.toLowerCase() === 'host')
    const host = hasHost ? [] : ['host', authority]
    return {
      ...rest,
      origin: this.#options.target.href,
      path: path === '*' ? href : path.startsWith('/') ? `${href}${path}` : path,
      headers: [...host, ...fields, ...toProxyHeaders(this.#options)],
      // That of the proxy.
      servername: undefined,
    }
  }

  async destroy(error: Error | null): Promise<void> {
    await Promise.all([this.#tunnelled.destroy(error), this.#forwarded?.destroy(error)])
  }
}

/** Turns a 407 into an error, as for a tunnel: the origin hasn't seen the request. */
class ForwardedHandler extends ForwardingHandler {
  readonly #proxy: string
  readonly #origin: string
  /** Null until its header section has arrived. */
  #refusal: Refusal | null = null
  #isSent = false
  #isOver = false

  constructor(handler: DispatchHandler, proxy: string, origin: string) {
    super(handler)
    this.#proxy = proxy
    this.#origin = origin
  }

  override onRequestStart(controller: DispatchController, context: object): void {
    this.#isSent = true
    super.onRequestStart(controller, context)
  }

  override onResponseStart(
    controller: DispatchController,
    statusCode: number,
    headers: IncomingHttpHeaders,
    statusMessage?: string,
  ): void {
    if (statusCode === PROXY_AUTHENTICATION_REQUIRED) this.#refusal = new Refusal(statusCode, headers)
    else super.onResponseStart(controller, statusCode, headers, statusMessage)
  }

  override onResponseData(controller: DispatchController, chunk: Buffer): void {
    if (this.#refusal === null) {
      super.onResponseData(controller, chunk)
      return
    }
    if (this.#isOver || this.#refusal.add(chunk)) return
    this.#refuse(controller)
    controller.abort(new Error('The rest of the refusal is not read'))
  }

  override onResponseEnd(controller: DispatchController, trailers: IncomingHttpHeaders): void {
    if (this.#refusal === null) super.onResponseEnd(controller, trailers)
    else this.#refuse(controller)
  }

  override onResponseError(controller: DispatchController, error: Error): void {
    if (this.#refusal !== null) this.#refuse(controller)
    else super.onResponseError(controller, this.#isSent ? error : this.#toConnectionError(error))
  }

  /** The connection to the proxy has failed. undici's errors, such as the one after an abort, are passed on. */
  #toConnectionError(error: Error): Error {
    const code: unknown = Reflect.get(error, 'code')
    if (typeof code === 'string' && code.startsWith('UND_ERR_')) return error
    return toSecureProxyError(error, this.#proxy) ?? toConnectError(error, this.#proxy)
  }

  #refuse(controller: DispatchController): void {
    if (this.#isOver || this.#refusal === null) return
    this.#isOver = true
    const what = `The proxy ${this.#proxy} refused a request to ${this.#origin}`
    super.onResponseError(controller, this.#refusal.toError(what))
  }
}
