/**
 * What a dispatcher does for all dispatchers that it wraps.
 *
 * @module
 */

import type { Dispatcher } from '../../types/dispatcher.ts'
import type { AgentStats, EndReason } from '../../types/stats.ts'

/** Emits a dispatcher's events on its wrapper, too, which becomes the first of the targets. */
export function forwardEvents(from: Dispatcher, to: Dispatcher): void {
  from.on('connect', (url, targets) => to.emit('connect', url, [to, ...targets]))
  from.on('drain', (url, targets) => to.emit('drain', url, [to, ...targets]))
  from.on('disconnect', (url, targets, error) => to.emit('disconnect', url, [to, ...targets], error))
  from.on('connectionError', (url, targets, error) =>
    to.emit('connectionError', url, [to, ...targets], error),
  )
}

/**
 * Closes a dispatcher, or waits until it is gone if it was destroyed without `close()`. A closing one may have open
 * tunnels, which another `destroy()` would end.
 */
export function closeOrAwait(
  dispatcher: Dispatcher & { readonly destroyed?: boolean; readonly closed?: boolean },
): Promise<void> {
  return dispatcher.destroyed === true && dispatcher.closed !== true
    ? dispatcher.destroy()
    : dispatcher.close()
}

/** Waits until all promises have settled, and fails with the first one's error that failed. */
export async function settleAll(promises: Promise<void>[]): Promise<void> {
  const outcomes = await Promise.allSettled(promises)
  for (const outcome of outcomes) if (outcome.status === 'rejected') throw outcome.reason
}

type OriginStats = AgentStats[string]

/** The stats of agents that a request chooses from. An origin that several of them serve has the sum. */
export function addStats(agents: readonly { readonly stats: AgentStats }[]): AgentStats {
  const all: AgentStats = {}
  for (const { stats } of agents) {
    for (const [origin, own] of Object.entries(stats)) {
      const other = all[origin]
      all[origin] = other === undefined ? own : add(other, own)
    }
  }
  return all
}

function add(one: OriginStats, other: OriginStats): OriginStats {
  // A dispatcher that the caller's `factory` has created may report stats of another shape.
  if (!('ended' in one && 'ended' in other)) return other
  const ended = { ...one.ended }
  for (const reason of Object.keys(other.ended) as EndReason[]) ended[reason] += other.ended[reason]
  const sum = {
    pending: one.pending + other.pending,
    running: one.running + other.running,
    size: one.size + other.size,
    sessions: [...one.sessions, ...other.sessions],
    http1: {
      connections: one.http1.connections + other.http1.connections,
      running: one.http1.running + other.http1.running,
    },
    ended,
  }
  if (!('free' in one && 'free' in other))
    return { ...sum, connected: Boolean(one.connected) || Boolean(other.connected) }
  const [free, queued] = [one.free + other.free, one.queued + other.queued]
  return { ...sum, connected: one.connected + other.connected, free, queued }
}
