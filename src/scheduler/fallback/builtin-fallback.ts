/**
 * The default fallback: a dispatcher of the kind that is built into the running Node.
 *
 * @module
 */

import type { AnyDispatchHandler } from '../../../types/handler.ts'
import type { DispatchOptions } from '../../../types/request.ts'
import type { Clock } from '../../core/clock.ts'
import { RUNTIME } from '../../core/runtime.ts'
import { ClientDestroyedError, NotSupportedError } from '../../errors/errors.ts'
import { DISPATCHER_OPTIONS } from '../../options/known-options.ts'
import { MAX_RESPONSE_HEADER_SIZE } from '../../options/limits.ts'
import type { ResolvedClientOptions } from '../../options/options.ts'
import { toOrigin } from '../../options/options.ts'
import { warnOnce } from '../../options/unknown-options.ts'
import { toHttp1Connector } from '../../session/connect/http1-connector.ts'
import type { BuiltinAgent, BuiltinAgentClass } from './builtin.ts'
import { findBuiltinClass, peekBuiltinClass } from './builtin.ts'
import { AgentConnections } from './fallback-events.ts'
import type { FallbackRoute, RouteOptions } from './own-fallback.ts'
import { OwnFallback } from './own-fallback.ts'

/** Each route has an Agent. Its connections come from the same code as the sessions' connections. */
export class BuiltinFallback extends OwnFallback {
  readonly #options: ResolvedClientOptions
  readonly #clock: Clock
  /**
   * The class of Node's global dispatcher when this fallback was created: a Dodici dispatcher may replace it later.
   * Null if none was found then.
   */
  readonly #seen: BuiltinAgentClass | null

  constructor(options: ResolvedClientOptions, clock: Clock) {
    super()
    this.#options = options
    this.#clock = clock
    this.#seen = peekBuiltinClass()
  }

  override make(options: RouteOptions): FallbackRoute {
    return new BuiltinRoute(options, this.#options, this.#clock, this.#seen)
  }
}

/** One Agent, created when it is first used. */
class BuiltinRoute implements FallbackRoute {
  readonly #route: RouteOptions
  readonly #options: ResolvedClientOptions
  readonly #clock: Clock
  readonly #seen: BuiltinAgentClass | null
  #agent: BuiltinAgent | null = null
  /** Null together with `#agent`. */
  #connections: AgentConnections | null = null
  #isDestroyed = false

  constructor(
    route: RouteOptions,
    options: ResolvedClientOptions,
    clock: Clock,
    seen: BuiltinAgentClass | null,
  ) {
    this.#route = route
    this.#options = options
    this.#clock = clock
    this.#seen = seen
  }

  /** @throws NotSupportedError when no Agent can be created that connects as the sessions do; ClientDestroyedError */
  dispatch(options: DispatchOptions, handler: AnyDispatchHandler): boolean {
    if (this.#isDestroyed) throw new ClientDestroyedError()
    this.#agent ??= this.#make()
    const { hostname, scheme } = toOrigin(options.origin)
    // Always set for TLS, even for an address: undici would take the name from a `host` field.
    const servername =
      scheme === 'https' ? (options.servername ?? toConnectName(this.#options, hostname)) : undefined
    return this.#agent.dispatch({ ...options, servername }, handler)
  }

  /** Settles when the Agent's connections are gone. */
  async destroy(error: Error | null): Promise<void> {
    if (this.#isDestroyed) return
    this.#isDestroyed = true
    await this.#connections?.destroy(error)
  }

  #make(): BuiltinAgent {
    const agentClass = this.#seen ?? findBuiltinClass()
    if (agentClass === null) {
      throw new NotSupportedError(
        RUNTIME === 'Node.js'
          ? "This request needs HTTP/1.1, but Node's own dispatcher can't be found, because another one " +
              'replaced it: set the fallback option'
          : `This request needs HTTP/1.1, but ${RUNTIME} has no built-in undici to serve it: set the fallback ` +
              "option, for example to an Agent from npm's undici",
      )
    }
    const { connectTimeout, strictContentLength, http1, ageOption } = this.#options
    // The call has its own clocks and limits.
    const common = {
      allowH2: false,
      headersTimeout: 0,
      bodyTimeout: 0,
      maxHeaderSize: MAX_RESPONSE_HEADER_SIZE,
    }
    const { connections, exchange, events } = this.#route
    const agent = new agentClass({
      ...http1,
      ...common,
      connections: toBuiltinConnections(connections, http1.clientTtl),
      ...{ connectTimeout, strictContentLength },
      connect: toHttp1Connector(this.#options, this.#clock, exchange),
    })
    this.#connections = new AgentConnections(agent, events, (error) => exchange?.wasTaken(error) === true)
    if (http1.clientTtl > 0) agent.on('connect', (_origin, targets) => checkTtl(targets, ageOption))
    return agent
  }
}

/**
 * The limit for undici's Agent. Undefined: any number.
 *
 * Also undefined with `clientTtl`: with a limit of 1, the Agent would create a Client, which doesn't know that option,
 * and in undici 7's Pool, a request waits for ever if the last connection that the limit allows is too old. The
 * scheduler applies the limit anyway.
 */
function toBuiltinConnections(connections: number, clientTtl: number): number | undefined {
  return connections === Number.POSITIVE_INFINITY || clientTtl > 0 ? undefined : connections
}

/** An undici Pool that supports `clientTtl` notes on each target when it was connected. */
function checkTtl(targets: readonly object[], name: ResolvedClientOptions['ageOption']): void {
  if (targets.some((target) => 'ttl' in target)) return
  const why = 'the built-in undici, which serves HTTP/1.1, is too old for it'
  const where = `The dispatcher option ${name} has no effect over HTTP/1.1`
  warnOnce(name, DISPATCHER_OPTIONS, `${where}: ${why}`)
}

/** The server name for connections to a host, for requests that don't name another one. */
function toConnectName({ connect }: Pick<ResolvedClientOptions, 'connect'>, hostname: string): string {
  return (typeof connect === 'function' ? undefined : connect.servername) ?? hostname
}
