/**
 * Tunnels through an HTTP proxy, over HTTP/2 or HTTP/1.1.
 *
 * @module
 */

import type { Duplex } from 'node:stream'
import type { Dispatcher as DispatcherType } from '../../types/dispatcher.ts'
import type { DispatchController, DispatchHandler } from '../../types/handler.ts'
import type { IncomingHttpHeaders } from '../../types/headers.ts'
import type { Clock } from '../core/clock.ts'
import { proxyConnected } from '../core/diagnostics.ts'
import { isDispatcher } from '../dispatcher/dispatcher.ts'
import { Pool } from '../dispatcher/pool.ts'
import {
  ConnectError,
  ConnectTimeoutError,
  InvalidArgumentError,
  InvalidReturnValueError,
  SocketError,
  toError,
} from '../errors/errors.ts'
import { ProxyConnectionError, toSecureProxyError } from '../errors/proxy-errors.ts'
import { toTwoShapedHandler } from '../handler/legacy-handler.ts'
import type { ResolvedClientOptions } from '../options/options.ts'
import { Http1Proxy } from './http1-proxy.ts'
import type { ResolvedProxyOptions } from './proxy-options.ts'
import { toProxyHeaders } from './proxy-options.ts'
import { Refusal } from './refusal.ts'
import type { TunnelResult, Tunnels, TunnelTarget } from './tunnels.ts'

/** How many milliseconds the body of a refusal may make no progress at most. */
const BODY_TIMEOUT = 2_000
/** The same as a part of `connectTimeout`, because the refusal must be known before that is over. */
const BODY_PART = 1 / 4

/** Opens tunnels with CONNECT on one dispatcher, whose origin is the proxy. */
export class HttpTunnels implements Tunnels {
  readonly #options: ResolvedProxyOptions
  readonly #client: DispatcherType
  /** How long the body of a refusal may make no progress, in milliseconds. */
  readonly #bodyTimeout: number

  /** @param client the resolved options of the clients behind the proxy: their engine and timeouts apply here, too */
  constructor(options: ResolvedProxyOptions, client: ResolvedClientOptions, clock: Clock) {
    this.#options = options
    const { clientFactory, target, proxyTls } = options
    const { connectTimeout } = client
    this.#bodyTimeout =
      connectTimeout === 0 ? BODY_TIMEOUT : Math.min(BODY_TIMEOUT, connectTimeout * BODY_PART)
    if (clientFactory === null) {
      const { keepAliveTimeout, pingTimeout, maxSessionAge } = client.session
      const fallback = new Http1Proxy(target, { connect: proxyTls, connectTimeout, socketPath: null }, clock)
      // Without an end: a session to an origin runs in a tunnel, and may have calls for as long as its own age lets it.
      const age = { maxSessionAge, sessionGracePeriod: 0 }
      const times = { connectTimeout, keepAliveTimeout, pingTimeout, ...age }
      const engine = client.isEngineGiven ? client.engine : undefined
      const common = { engine, connect: proxyTls, connections: null, h2c: false, fallback }
      this.#client = new Pool(target.href, { ...times, ...common })
      return
    }
    const made: unknown = clientFactory(new URL(target.href), { connect: proxyTls, connectTimeout })
    if (!isDispatcher(made) || typeof made.close !== 'function' || typeof made.destroy !== 'function')
      throw new InvalidReturnValueError(
        'The clientFactory option returned something other than a dispatcher with dispatch(), close() and destroy()',
      )
    this.#client = made
  }

  open(target: TunnelTarget, signal: AbortSignal, onResult: (result: TunnelResult) => void): void {
    const { href } = this.#options.target
    const handler = new TunnelAttempt(target, href, signal, onResult, () => this.#dispatch(target, handler))
    if (!signal.aborted) this.#dispatch(target, handler)
  }

  #dispatch(target: TunnelTarget, handler: TunnelAttempt): void {
    try {
      const options = {
        ...{ origin: this.#options.target.href, method: 'CONNECT', path: target.authority },
        headers: toProxyHeaders(this.#options),
        ...{ headersTimeout: 0, bodyTimeout: this.#bodyTimeout },
      } as const
      this.#client.dispatch(options, toTwoShapedHandler(options, handler))
    } catch (thrown) {
      handler.fail(toError(thrown))
    }
  }

  close(): Promise<void> {
    return this.#client.close()
  }

  destroy(error: Error | null): Promise<void> {
    return this.#client.destroy(error)
  }
}

/** The handler of one CONNECT. */
class TunnelAttempt implements DispatchHandler {
  readonly #target: TunnelTarget
  readonly #proxy: string
  readonly #signal: AbortSignal
  readonly #onResult: (result: TunnelResult) => void
  /** Tries once more; null once it has. */
  #repeat: (() => void) | null
  #controller: DispatchController | null = null
  /** Null until its header section has arrived. */
  #refusal: Refusal | null = null
  #isOver = false
  readonly #onAbort = (): void => this.#abandon()

  constructor(
    target: TunnelTarget,
    proxy: string,
    signal: AbortSignal,
    onResult: (result: TunnelResult) => void,
    repeat: () => void,
  ) {
    this.#repeat = repeat
    this.#target = target
    this.#proxy = proxy
    this.#signal = signal
    this.#onResult = onResult
    signal.addEventListener('abort', this.#onAbort, { once: true })
  }

  onRequestStart(controller: DispatchController): void {
    this.#controller = controller
    if (this.#isOver) controller.abort()
  }

  onRequestUpgrade(
    _controller: DispatchController,
    statusCode: number,
    headers: IncomingHttpHeaders,
    tunnel: Duplex,
  ): void {
    // Others' stand-ins for sockets have no listener for errors.
    tunnel.on('error', () => undefined)
    if (this.#isOver || statusCode < 200 || statusCode > 299) {
      tunnel.destroy()
      this.#refusal ??= new Refusal(statusCode, headers)
      this.#refuse()
      return
    }
    this.#leave()
    if (proxyConnected.hasSubscribers) {
      proxyConnected.publish({ socket: tunnel, connectParams: this.#toConnectParams() })
    }
    this.#onResult({ tunnel })
  }

  /** The same as undici's, without the fields for the proxy, which may contain credentials. */
  #toConnectParams(): object {
    const { authority: path } = this.#target
    const { port, hostname: servername } = new URL(this.#proxy)
    return { origin: this.#proxy, port, path, signal: this.#signal, headers: { host: path }, servername }
  }

  onResponseStart(_controller: DispatchController, statusCode: number, headers: IncomingHttpHeaders): void {
    if (statusCode >= 200) this.#refusal = new Refusal(statusCode, headers)
  }

  onResponseData(controller: DispatchController, chunk: Buffer): void {
    if (this.#isOver || this.#refusal?.add(chunk) !== false) return
    this.#refuse()
    controller.abort()
  }

  onResponseEnd(): void {
    this.#refuse()
  }

  onResponseError(_controller: DispatchController, error: Error): void {
    const repeat = this.#repeat
    if (this.#refusal !== null) this.#refuse()
    // The session is lost, with all that ran on it. No byte has gone through this tunnel: asking again does no harm.
    else if (repeat !== null && error instanceof SocketError && !this.#isOver) {
      this.#repeat = null
      repeat()
    } else this.fail(toOutcome(error, this.#proxy))
  }

  fail(error: Error): void {
    if (this.#isOver) return
    this.#leave()
    this.#onResult({ error })
  }

  #refuse(): void {
    if (this.#refusal === null) return
    this.fail(this.#refusal.toError(`The proxy ${this.#proxy} refused a tunnel to ${this.#target.authority}`))
  }

  #abandon(): void {
    if (this.#isOver) return
    this.#leave()
    this.#controller?.abort()
  }

  #leave(): void {
    this.#isOver = true
    this.#signal.removeEventListener('abort', this.#onAbort)
  }
}

/** The error for a connection that has failed before the proxy's response. */
function toOutcome(error: Error, proxy: string): Error {
  const secure = error instanceof ConnectError ? toSecureProxyError(error, proxy) : null
  if (secure !== null) return secure
  const isClear =
    error instanceof ConnectError ||
    error instanceof ConnectTimeoutError ||
    error instanceof InvalidArgumentError
  if (isClear || error instanceof ProxyConnectionError) {
    // The proxy may have acted on the CONNECT. The origin has got none of the requests that wait for the tunnel.
    error.processed = 'no'
    return error
  }
  const message = `The proxy ${proxy} opened no tunnel: ${error.message}`
  return new ProxyConnectionError(error, message)
}
