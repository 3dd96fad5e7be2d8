/**
 * Any origin, through the proxies that the environment names.
 *
 * @module
 */

import type { AgentOptions } from '../../types/client.ts'
import type { DispatchHandler } from '../../types/handler.ts'
import type { EnvHttpProxyAgentOptions, ProxyAgentOptions } from '../../types/proxy.ts'
import type { DispatchOptions } from '../../types/request.ts'
import type { AgentStats } from '../../types/stats.ts'
import { markClass } from '../core/class-mark.ts'
import { systemClock } from '../core/clock.ts'
import { invalidKind, toBoolean } from '../core/validate.ts'
import { Agent } from '../dispatcher/agent.ts'
import { LivingDispatcher } from '../dispatcher/life-cycle.ts'
import { addStats, closeOrAwait, forwardEvents, settleAll } from '../dispatcher/together.ts'
import { PROXY_OPTIONS } from '../options/known-options.ts'
import { toOrigin } from '../options/options.ts'
import { toReceiveLimits } from '../options/receive-limits.ts'
import { warnOfUnknownOptions } from '../options/unknown-options.ts'
import { NoProxy } from './no-proxy.ts'
import type { Route } from './proxy-agent.ts'
import { ProxyAgent } from './proxy-agent.ts'
import { toProxyTarget } from './proxy-options.ts'

/**
 * A dispatcher for any origin: through the proxy in `HTTP_PROXY` or `HTTPS_PROXY`, or without a proxy for hosts in
 * `NO_PROXY`. It reads the proxies when it is created, and `NO_PROXY` at each request, so redirects are checked as
 * well. Lower-case names take precedence.
 *
 * @example
 * ```ts
 * const agent = new EnvHttpProxyAgent({ noProxy: 'localhost,10.0.0.0/8' })
 * ```
 */
export class EnvHttpProxyAgent extends LivingDispatcher {
  readonly #direct: Agent
  readonly #http: Route
  readonly #https: Route
  /** Null: the environment's, read at each request. */
  readonly #given: string | null
  #text = ''
  #noProxy = new NoProxy('')

  /**
   * Creates a dispatcher that uses the proxies that the environment names.
   *
   * @throws InvalidArgumentError that names the option and what would be accepted; it shows no credentials
   */
  constructor(options: EnvHttpProxyAgentOptions = {}) {
    const { httpProxy, httpsProxy, noProxy, ...rest } = toGiven(options)
    super(systemClock, {
      captureStack: toBoolean('captureStack', rest.captureStack, false),
      receiveLimits: toReceiveLimits(rest),
    })
    const { env } = process
    warnOfUnknownOptions(options, PROXY_OPTIONS, false)
    this.#given = toText('noProxy', noProxy)
    this.#direct = new Agent(toDirectOptions(rest))
    const toRoute = (name: string, uri: string | undefined, otherwise: Route): Route => {
      if (uri === undefined || uri === '') return otherwise
      // The error has the name that the caller has given it.
      toProxyTarget(name, uri)
      return new ProxyAgent({ ...rest, uri })
    }
    this.#http = toRoute('httpProxy', httpProxy ?? env['http_proxy'] ?? env['HTTP_PROXY'], this.#direct)
    this.#https = toRoute('httpsProxy', httpsProxy ?? env['https_proxy'] ?? env['HTTPS_PROXY'], this.#http)
    for (const route of this.#routes()) {
      LivingDispatcher.putBehind(route)
      forwardEvents(route, this)
    }
  }

  override get maxResponseSize(): number {
    return this.#direct.maxResponseSize
  }

  /** How busy each origin is now, through the proxies and without them: see {@link Agent.stats}. */
  get stats(): AgentStats {
    return addStats(this.#routes())
  }

  protected override dispatchChecked(options: DispatchOptions, handler: DispatchHandler): boolean {
    const { hostname, port, scheme } = toOrigin(options.origin)
    const route = this.#readNoProxy().has(hostname, port)
      ? this.#direct
      : scheme === 'https'
        ? this.#https
        : this.#http
    return LivingDispatcher.dispatchBy(route, options, handler)
  }

  protected override finish(): Promise<void> {
    return settleAll(this.#routes().map(async (route) => closeOrAwait(route)))
  }

  protected override tearDown(error: Error | null): Promise<void> {
    return settleAll(this.#routes().map(async (route) => route.destroy(error)))
  }

  #routes(): Route[] {
    return [...new Set([this.#direct, this.#http, this.#https])]
  }

  #readNoProxy(): NoProxy {
    const text = this.#given ?? process.env['no_proxy'] ?? process.env['NO_PROXY'] ?? ''
    if (text !== this.#text) {
      this.#text = text
      this.#noProxy = new NoProxy(text)
    }
    return this.#noProxy
  }
}

function toGiven(options: unknown): EnvHttpProxyAgentOptions {
  if (typeof options !== 'object' || options === null) throw invalidKind('options', options, 'an object')
  return options
}

function toText(name: string, value: unknown): string | null {
  if (value === undefined || value === null) return null
  if (typeof value !== 'string') throw invalidKind(name, value, 'a string')
  return value
}

/** The options that make sense without a proxy. */
function toDirectOptions(options: Omit<ProxyAgentOptions, 'uri'>): AgentOptions {
  const { token, auth, headers, proxyTls, requestTls, proxyTunnel, clientFactory, ...rest } = options
  const { username, password, connect, ...agent } = rest
  return { ...agent, connect: connect ?? undefined }
}

markClass(EnvHttpProxyAgent, 'EnvHttpProxyAgent')

export declare namespace EnvHttpProxyAgent {
  /** The name that undici uses for {@link EnvHttpProxyAgentOptions}. */
  export type Options = EnvHttpProxyAgentOptions
}
