/**
 * What a dispatcher in front of others has to do for all of them.
 *
 * @module
 */

import type { Dispatcher } from '../../types/dispatcher.ts'

/** Emits the events of a dispatcher as those of the one in front of it, which is the first of the targets. */
export function forwardEvents(from: Dispatcher, to: Dispatcher): void {
  from.on('connect', (url, targets) => to.emit('connect', url, [to, ...targets]))
  from.on('drain', (url, targets) => to.emit('drain', url, [to, ...targets]))
  from.on('disconnect', (url, targets, error) => to.emit('disconnect', url, [to, ...targets], error))
  from.on('connectionError', (url, targets, error) =>
    to.emit('connectionError', url, [to, ...targets], error),
  )
}

/**
 * Closes a dispatcher, or waits until it is gone if it was destroyed without `close()`. One that is closing may have
 * tunnels left: another `destroy()` would end them.
 */
export function closeOrAwait(
  dispatcher: Dispatcher & { readonly destroyed?: boolean; readonly closed?: boolean },
): Promise<void> {
  return dispatcher.destroyed === true && dispatcher.closed !== true
    ? dispatcher.destroy()
    : dispatcher.close()
}

/** Waits until all promises have settled, and fails with the error of the first that has failed. */
export async function settleAll(promises: Promise<void>[]): Promise<void> {
  const outcomes = await Promise.allSettled(promises)
  for (const outcome of outcomes) if (outcome.status === 'rejected') throw outcome.reason
}
