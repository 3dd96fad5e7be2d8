/**
 * The events of the connections that a fallback of Dodici makes, by origin.
 *
 * @module
 */

import type { ConnectionEvents } from '../connection-events.ts'
import type { BuiltinAgent } from './builtin.ts'

/** The events of connections alone: `drain` is the scheduler's own. */
export type FallbackListener = Omit<ConnectionEvents, 'onDrain'>

/** undici's arguments: the origin, and the dispatchers from the outermost to the one that has the connection. */
type Targets = readonly object[]

/** Tells each origin's dispatcher of the HTTP/1.1 connections that serve it. */
export class FallbackEvents {
  readonly #listeners = new Map<string, FallbackListener>()
  /** Who was told of a connection, by undici's dispatcher that has it: the same hears of its end. */
  readonly #told = new WeakMap<object, FallbackListener>()

  /** @param origin as `URL.origin` writes it. The listener that was added last for an origin counts */
  add(origin: string, listener: FallbackListener): void {
    this.#listeners.set(origin, listener)
  }

  /** The listener hears of no further connection. It still hears of the end of those that it knows. */
  delete(origin: string, listener: FallbackListener): void {
    if (this.#listeners.get(origin) === listener) this.#listeners.delete(origin)
  }

  /**
   * Passes on the events of an Agent.
   *
   * @param isHidden whether a failed connection is none for the caller: it goes on as an HTTP/2 session
   */
  listenTo(agent: BuiltinAgent, isHidden: (error: Error) => boolean): void {
    agent.on('connect', (url: URL, targets: Targets) => {
      const connection = targets.at(-1)
      const listener = this.#listeners.get(url.origin)
      if (connection === undefined || listener === undefined) return
      this.#told.set(connection, listener)
      listener.onConnect()
    })
    agent.on('disconnect', (_url: URL, targets: Targets, error: Error) => {
      const connection = targets.at(-1)
      const listener = connection && this.#told.get(connection)
      if (connection === undefined || listener === undefined) return
      this.#told.delete(connection)
      listener.onDisconnect(error)
    })
    agent.on('connectionError', (url: URL, _targets: Targets, error: Error) => {
      if (!isHidden(error)) this.#listeners.get(url.origin)?.onConnectionError(error)
    })
  }
}
