/**
 * Node's own ways to run something later, whoever fakes them.
 *
 * A test that fakes time means its own, not ours: a session that waits for a faked setImmediate() never ends. So each
 * is taken as it is when this module is loaded; and where it is a fake by then already, what the fake stands for.
 *
 * @module
 */

import { clearTimeout, setImmediate, setTimeout } from 'node:timers'

/** The next turn of the event loop. */
export const originalSetImmediate: typeof setImmediate = toReal('setImmediate', setImmediate)

/** Behind what runs now, before anything else: before promises, too. */
export const originalNextTick: typeof process.nextTick = toReal('nextTick', process.nextTick)

/** Among the promises. */
export const originalQueueMicrotask: typeof queueMicrotask = toReal('queueMicrotask', queueMicrotask)

/** For `core/clock.ts` alone. */
export const originalSetTimeout: typeof setTimeout = toReal('setTimeout', setTimeout)

/** For `core/clock.ts` alone. */
export const originalClearTimeout: typeof clearTimeout = toReal('clearTimeout', clearTimeout)

/**
 * What a fake stands for. Those of sinon, vitest and jest are made by `@sinonjs/fake-timers`, which notes the clock on
 * each fake, and on the clock what was there before.
 */
function toReal<TFunction extends object>(name: string, given: TFunction): TFunction {
  const clock: unknown = Reflect.get(given, 'clock')
  const real: unknown = typeof clock === 'object' && clock !== null ? Reflect.get(clock, `_${name}`) : null
  return typeof real === 'function' ? (real as TFunction & typeof real) : given
}

/** Makes an uncaught exception of what a caller's own code has thrown where nobody is left to be told. */
export function throwUncaught(thrown: unknown): void {
  originalNextTick(rethrow, thrown)
}

function rethrow(thrown: unknown): void {
  throw thrown
}
