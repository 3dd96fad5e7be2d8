/**
 * Any origin, through one proxy.
 *
 * @module
 */

import type { AgentOptions } from '../../types/client.ts'
import type { DispatchHandler } from '../../types/handler.ts'
import type { ProxyAgentOptions } from '../../types/proxy.ts'
import type { DispatchOptions } from '../../types/request.ts'
import type { AgentStats } from '../../types/stats.ts'
import { markClass } from '../core/class-mark.ts'
import { systemClock } from '../core/clock.ts'
import { isUrl } from '../core/realms.ts'
import { invalidKind } from '../core/validate.ts'
import { Agent } from '../dispatcher/agent.ts'
import { LivingDispatcher } from '../dispatcher/life-cycle.ts'
import { forwardEvents, settleAll } from '../dispatcher/together.ts'
import type { ResolvedClientOptions } from '../options/options.ts'
import { toClientOptions } from '../options/options.ts'
import { HttpTunnels } from './http-tunnels.ts'
import { ProxyFallback } from './proxy-fallback.ts'
import type { ResolvedProxyOptions } from './proxy-options.ts'
import { toProxyOptions, withoutCredentials } from './proxy-options.ts'
import { Socks5Tunnels } from './socks5-tunnels.ts'
import { toTunnelConnector } from './tunnel-connector.ts'

/**
 * A dispatcher for any origin through one proxy, which speaks HTTP/1.1, HTTP/2 (via ALPN, if its URL is `https:`) or
 * SOCKS5.
 *
 * Requests to `https:` origins go through a tunnel, with TLS and HTTP/2 inside; so do upgrades, CONNECT, and origins
 * with `h2c`. The agent sends other requests to `http:` origins to an HTTP proxy in absolute form, unless `proxyTunnel`
 * is true. The proxy resolves the origins' names. Requests that need HTTP/1.1 use the same proxy, unless you set the
 * `fallback` option: that dispatcher makes its own connections.
 *
 * @example
 * ```ts
 * const agent = new ProxyAgent({ uri: 'http://user:password@localhost:3128' })
 * const { statusCode } = await agent.request({ origin: 'https://localhost:12443', path: '/', method: 'GET' })
 * await agent.close()
 * ```
 */
export class ProxyAgent extends LivingDispatcher {
  readonly #proxy: string
  readonly #agent: Agent
  /** Null for SOCKS5, whose tunnels need no dispatcher. */
  readonly #tunnels: HttpTunnels | null
  /** Null if it is the caller's, or if there is none. */
  readonly #fallback: ProxyFallback | null

  /**
   * Creates a dispatcher that reaches any origin through one proxy.
   *
   * @param options the proxy's URL, or all options
   * @throws InvalidArgumentError that names the option and what would be accepted; it shows no credentials
   */
  constructor(options: ProxyAgentOptions | string | URL) {
    const given = toGiven(options)
    const resolved = toProxyOptions(given)
    const client = toClientOptions({ ...resolved.agent, connect: resolved.requestTls })
    super(systemClock, client)
    this.#proxy = resolved.target.href
    this.#tunnels =
      resolved.target.protocol === 'socks5:' ? null : new HttpTunnels(resolved, client, systemClock)
    const tunnels = this.#tunnels ?? toSocksTunnels(resolved, client)
    const connect = toTunnelConnector(tunnels, resolved.requestTls, systemClock)
    const inner = { ...client, connect }
    this.#fallback = client.fallback === undefined ? new ProxyFallback(resolved, inner, systemClock) : null
    const agentOptions: AgentOptions = {
      ...resolved.agent,
      connect,
      fallback: client.fallback ?? this.#fallback,
    }
    this.#agent = new Agent(agentOptions)
    LivingDispatcher.putBehind(this.#agent)
    forwardEvents(this.#agent, this)
  }

  override get maxResponseSize(): number {
    return this.#agent.maxResponseSize
  }

  /** How busy each origin is now: see {@link Agent.stats}. */
  get stats(): AgentStats {
    return this.#agent.stats
  }

  protected override toShown(): object {
    return { ...super.toShown(), proxy: this.#proxy, agent: this.#agent }
  }

  protected override dispatchChecked(options: DispatchOptions, handler: DispatchHandler): boolean {
    const headers = withoutCredentials(options.headers)
    const checked = headers === options.headers ? options : { ...options, headers }
    return LivingDispatcher.dispatchBy(this.#agent, checked, handler)
  }

  protected override async finish(): Promise<void> {
    await this.#agent.close()
    // Its idle connections are tunnels, too.
    await this.#fallback?.destroy(null)
    await this.#tunnels?.close()
  }

  protected override async tearDown(error: Error | null): Promise<void> {
    const agent = this.#agent.destroy(error)
    try {
      await settleAll([agent, this.#fallback?.destroy(error) ?? Promise.resolve()])
    } finally {
      await this.#tunnels?.destroy(error)
    }
  }
}

function toGiven(options: unknown): ProxyAgentOptions {
  if (typeof options === 'string' || isUrl(options)) return { uri: options }
  if (typeof options !== 'object' || options === null)
    throw invalidKind('options', options, "the URL of a proxy, or an object with the option 'uri'")
  return options as ProxyAgentOptions
}

function toSocksTunnels(
  options: ResolvedProxyOptions,
  { connectTimeout }: ResolvedClientOptions,
): Socks5Tunnels {
  const { target, credentials, proxyTls } = options
  const dialer = { connect: proxyTls, connectTimeout, socketPath: null }
  return new Socks5Tunnels(target, credentials, dialer, systemClock)
}

markClass(ProxyAgent, 'ProxyAgent')

export declare namespace ProxyAgent {
  /** The name that undici uses for {@link ProxyAgentOptions}. */
  export type Options = ProxyAgentOptions
}

/** What an `EnvHttpProxyAgent` chooses from. */
export type Route = Agent | ProxyAgent
