/**
 * The events of the connections that one of Dodici's fallbacks opens to one origin.
 *
 * @module
 */

import type { ConnectionEvents } from '../connection-events.ts'
import type { BuiltinAgent } from './builtin.ts'

/** Only the events of connections: `drain` belongs to the scheduler. */
export type FallbackListener = Omit<ConnectionEvents, 'onDrain'>

/** undici's arguments: the origin, and the dispatchers from the outermost to the one that has the connection. */
type Targets = readonly object[]

/**
 * Reports an Agent's HTTP/1.1 connections to a listener.
 *
 * @param isHidden whether to hide a failed connection from the caller: it continues as an HTTP/2 session
 */
export function listenTo(
  agent: BuiltinAgent,
  listener: FallbackListener,
  isHidden: (error: Error) => boolean,
): void {
  /** undici's dispatchers that have a connection: its end is reported, too. */
  const connected = new WeakSet<object>()
  agent.on('connect', (_url: URL, targets: Targets) => {
    const connection = targets.at(-1)
    if (connection === undefined) return
    connected.add(connection)
    listener.onConnect()
  })
  agent.on('disconnect', (_url: URL, targets: Targets, error: Error) => {
    const connection = targets.at(-1)
    if (connection !== undefined && connected.delete(connection)) listener.onDisconnect(error)
  })
  agent.on('connectionError', (_url: URL, _targets: Targets, error: Error) => {
    if (!isHidden(error)) listener.onConnectionError(error)
  })
}
