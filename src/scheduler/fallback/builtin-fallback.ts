/**
 * The default fallback: a dispatcher of the kind that is built into the running Node.
 *
 * @module
 */

import type { AnyDispatchHandler } from '../../../types/handler.ts'
import type { DispatchOptions } from '../../../types/request.ts'
import type { Clock } from '../../core/clock.ts'
import { MAX_RESPONSE_HEADER_SIZE } from '../../core/limits.ts'
import type { ResolvedClientOptions } from '../../core/options.ts'
import { toOrigin } from '../../core/options.ts'
import { RUNTIME } from '../../core/runtime.ts'
import { ClientDestroyedError, NotSupportedError } from '../../errors.ts'
import { toHttp1Connector } from '../../session/connect/http1-connector.ts'
import { Http2Takers } from '../../session/connect/http2-takers.ts'
import type { BuiltinAgent, BuiltinAgentClass } from './builtin.ts'
import { findBuiltinClass, peekBuiltinClass } from './builtin.ts'
import { FallbackEvents } from './fallback-events.ts'
import { OwnFallback } from './own-fallback.ts'

/** The Agent is made on first use. Its connections are made by the same code as those of sessions. */
export class BuiltinFallback extends OwnFallback {
  readonly takers = new Http2Takers()
  readonly events = new FallbackEvents()
  readonly #options: ResolvedClientOptions
  readonly #clock: Clock
  /**
   * The class of Node's global dispatcher when this fallback was made: a Dodici dispatcher may replace it later. Null
   * when none was found then.
   */
  readonly #seen: BuiltinAgentClass | null
  #agent: BuiltinAgent | null = null
  #isDestroyed = false

  constructor(options: ResolvedClientOptions, clock: Clock) {
    super()
    this.#options = options
    this.#clock = clock
    this.#seen = peekBuiltinClass()
  }

  /** @throws NotSupportedError when no Agent can be made that connects as the sessions do; ClientDestroyedError */
  dispatch(options: DispatchOptions, handler: AnyDispatchHandler): boolean {
    if (this.#isDestroyed) throw new ClientDestroyedError()
    this.#agent ??= this.#make()
    const { hostname } = toOrigin(options.origin)
    // Always given, also for an address: undici would take the name from a `host` field.
    const servername = options.servername ?? toConnectName(this.#options, hostname)
    return this.#agent.dispatch({ ...options, servername }, handler)
  }

  /** Settles when its connections are gone. */
  async destroy(error: Error | null): Promise<void> {
    if (this.#isDestroyed) return
    this.#isDestroyed = true
    await this.#agent?.destroy(error)
  }

  #make(): BuiltinAgent {
    const agentClass = this.#seen ?? findBuiltinClass()
    if (agentClass === null) {
      throw new NotSupportedError(
        RUNTIME === 'Node.js'
          ? "HTTP/1.1 is needed, and Node's own dispatcher, which would serve it, is not to be found, since another " +
              'one had been put in its place before: set the fallback option'
          : `HTTP/1.1 is needed, and ${RUNTIME} has no undici built in, which would serve it: set the fallback ` +
              'option, for example to an Agent of undici from npm',
      )
    }
    const { connectTimeout, strictContentLength } = this.#options
    // The call has its own clocks and limits.
    const common = {
      allowH2: false,
      headersTimeout: 0,
      bodyTimeout: 0,
      maxHeaderSize: MAX_RESPONSE_HEADER_SIZE,
    }
    const connect = toHttp1Connector(this.#options, this.#clock, this.takers)
    const agent = new agentClass({ ...common, connectTimeout, strictContentLength, connect })
    this.events.listenTo(agent, (error) => this.takers.wasTaken(error))
    return agent
  }
}

/** The server name of connections to a host, where no request names another one. */
export function toConnectName({ connect }: Pick<ResolvedClientOptions, 'connect'>, hostname: string): string {
  return (typeof connect === 'function' ? undefined : connect.servername) ?? hostname
}
