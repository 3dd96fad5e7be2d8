/**
 * The Agent that the top-level functions use at first.
 *
 * @module
 */

import type { DispatchHandler } from '../../types/handler.ts'
import type { DispatchOptions } from '../../types/request.ts'
import type { AgentStats } from '../../types/stats.ts'
import { markClass } from '../core/class-mark.ts'
import { noop } from '../core/noop.ts'
import { Agent } from '../dispatcher/agent.ts'
import { LivingDispatcher } from '../dispatcher/life-cycle.ts'
import { closeOrAwait, forwardEvents, settleAll } from '../dispatcher/together.ts'
import { EnvHttpProxyAgent } from '../proxy/env-http-proxy-agent.ts'

/** An environment that Node obeys: `process.env`, a part of it, or the object of `http.setGlobalProxyFromEnv()`. */
type ProxyEnv = Readonly<Record<string, string | undefined>>

/** Node's modules, whose `globalAgent` may be replaced at any time. */
interface NodeModules {
  readonly http: { readonly globalAgent?: unknown }
  readonly https: { readonly globalAgent?: unknown }
}

/** No older line obeys an environment. */
const FIRST_OBEDIENT = 22

/**
 * Not imported, but loaded with the first request: node:http loads Node's own undici, which sets its global dispatcher.
 * Null where there is nothing to read.
 */
function loadModules(): NodeModules | null {
  const { versions, getBuiltinModule } = process
  if (typeof getBuiltinModule !== 'function' || Number.parseInt(versions.node, 10) < FIRST_OBEDIENT)
    return null
  return { http: getBuiltinModule('node:http'), https: getBuiltinModule('node:https') }
}

/** The option `proxyEnv` of Node's own agents, since Node 22; undefined if it isn't set. */
function toProxyEnv(module: NodeModules['http'] | undefined): ProxyEnv | undefined {
  const agent = module?.globalAgent as { options?: { proxyEnv?: unknown } } | undefined
  const env = agent?.options?.proxyEnv
  return typeof env === 'object' && env !== null ? (env as ProxyEnv) : undefined
}

/** A dispatcher for what Node has resolved, for as long as that is the same. */
interface Proxied {
  readonly httpEnv: ProxyEnv | undefined
  readonly httpsEnv: ProxyEnv | undefined
  readonly agent: EnvHttpProxyAgent
}

/**
 * An {@link Agent} that goes through the environment's proxy where Node's own fetch does: with `NODE_USE_ENV_PROXY=1`,
 * `--use-env-proxy`, or after `http.setGlobalProxyFromEnv()`. It looks at each request: the switch may come, and be
 * undone, at any time.
 */
export class GlobalAgent extends Agent {
  /** Undefined before the first request. */
  #modules: NodeModules | null | undefined
  /** Null while Node obeys no environment. */
  #proxied: Proxied | null = null
  /** Agents for what Node obeyed before, while their last requests run. */
  readonly #leaving = new Set<EnvHttpProxyAgent>()

  override get stats(): AgentStats {
    return { ...super.stats, ...this.#proxied?.agent.stats }
  }

  protected override dispatchChecked(options: DispatchOptions, handler: DispatchHandler): boolean {
    if (this.#modules === undefined) this.#modules = loadModules()
    const httpEnv = toProxyEnv(this.#modules?.http)
    const httpsEnv = toProxyEnv(this.#modules?.https)
    if (this.#proxied?.httpEnv !== httpEnv || this.#proxied?.httpsEnv !== httpsEnv)
      this.#follow(httpEnv, httpsEnv)
    if (this.#proxied === null) return super.dispatchChecked(options, handler)
    return LivingDispatcher.dispatchBy(this.#proxied.agent, options, handler)
  }

  protected override async finish(): Promise<void> {
    await settleAll([super.finish(), ...this.#agents().map(async (agent) => closeOrAwait(agent))])
  }

  protected override async tearDown(error: Error | null): Promise<void> {
    await settleAll([super.tearDown(error), ...this.#agents().map(async (agent) => agent.destroy(error))])
  }

  #agents(): EnvHttpProxyAgent[] {
    return this.#proxied === null ? [...this.#leaving] : [this.#proxied.agent, ...this.#leaving]
  }

  #follow(httpEnv: ProxyEnv | undefined, httpsEnv: ProxyEnv | undefined): void {
    const before = this.#proxied?.agent
    this.#proxied =
      httpEnv === undefined && httpsEnv === undefined
        ? null
        : { httpEnv, httpsEnv, agent: new EnvHttpProxyAgent(toOptions(httpEnv, httpsEnv)) }
    if (this.#proxied !== null) forwardEvents(this.#proxied.agent, this)
    if (before === undefined) return
    this.#leaving.add(before)
    before.close().then(() => this.#leaving.delete(before), noop)
  }
}

/**
 * The options that Node's own fetch would have. Where `http.setGlobalProxyFromEnv()` got no value, the process
 * environment decides. In that one, an empty `http_proxy` beside `HTTP_PROXY` means no proxy; in an environment that
 * `http.setGlobalProxyFromEnv()` got, an empty value counts as missing.
 */
function toOptions(httpEnv: ProxyEnv | undefined, httpsEnv: ProxyEnv | undefined): EnvHttpProxyAgent.Options {
  const read = (env: ProxyEnv | undefined, name: string): string | undefined =>
    env === undefined || isOfProcess(env) ? undefined : env[name] || env[name.toUpperCase()] || undefined
  return {
    httpProxy: read(httpEnv, 'http_proxy'),
    httpsProxy: read(httpsEnv, 'https_proxy'),
    noProxy: read(httpsEnv ?? httpEnv, 'no_proxy'),
  }
}

const NAMES = ['http_proxy', 'https_proxy', 'no_proxy'].flatMap((name) => [name, name.toUpperCase()])

/** Node 22 has a copy of these names. */
function isOfProcess(env: ProxyEnv): boolean {
  return NAMES.every((name) => env[name] === process.env[name])
}

markClass(GlobalAgent, 'Agent')
