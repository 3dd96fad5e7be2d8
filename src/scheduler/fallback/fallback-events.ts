/**
 * The connections that one of Dodici's fallbacks opens to one origin: their events, and their end.
 *
 * @module
 */

import { noop } from '../../core/noop.ts'
import { throwUncaught } from '../../core/original-timers.ts'
import type { ConnectionEvents } from '../connection-events.ts'
import type { BuiltinAgent, BuiltinTarget } from './builtin.ts'

/** Only the events of connections: `drain` belongs to the scheduler. */
export type FallbackListener = Omit<ConnectionEvents, 'onDrain'>

/** undici's arguments: the origin, and the dispatchers from the outermost to the one that has the connection. */
type Targets = readonly BuiltinTarget[]

/** An Agent's HTTP/1.1 connections. */
export class AgentConnections {
  readonly #agent: BuiltinAgent
  /** undici's dispatchers that have a connection: its end is reported, too. */
  readonly #connected = new Set<BuiltinTarget>()
  #isDestroyed = false

  /**
   * @param listener learns about the connections; null for none
   * @param isHidden whether to hide a failed connection from the caller: it continues as an HTTP/2 session
   */
  constructor(agent: BuiltinAgent, listener: FallbackListener | null, isHidden: (error: Error) => boolean) {
    this.#agent = agent
    agent.on('connect', (_url: URL, targets: Targets) => {
      const connection = targets.at(-1)
      if (connection === undefined) return
      this.#connected.add(connection)
      if (this.#isDestroyed) connection.destroy(null).catch(noop)
      tell(() => listener?.onConnect())
    })
    agent.on('disconnect', (_url: URL, targets: Targets, error: Error) => {
      const connection = targets.at(-1)
      if (connection !== undefined && this.#connected.delete(connection))
        tell(() => listener?.onDisconnect(error))
    })
    agent.on('connectionError', (_url: URL, _targets: Targets, error: Error) => {
      if (!isHidden(error)) tell(() => listener?.onConnectionError(error))
    })
  }

  /**
   * Destroys the Agent. Settles when its connections are gone.
   *
   * undici's Pool forgets a Client whose connection has failed, but gives it a request from its queue right after that.
   * The Client connects for the request, and the Agent's own `destroy()` doesn't know it.
   */
  async destroy(error: Error | null): Promise<void> {
    this.#isDestroyed = true
    await this.#agent.destroy(error)
    await Promise.all([...this.#connected].map((connection) => connection.destroy(error)))
  }
}

/**
 * If the caller's listener throws, that is an uncaught exception, as over HTTP/2. undici emits before it sends the
 * requests that wait for the connection: it must continue.
 */
function tell(emit: () => void): void {
  try {
    emit()
  } catch (thrown) {
    throwUncaught(thrown)
  }
}
