/**
 * What a dispatcher does for all dispatchers that it wraps.
 *
 * @module
 */

import type { Dispatcher } from '../../types/dispatcher.ts'

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
