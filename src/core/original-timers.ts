/**
 * Node's own functions that run something later, even while a test fakes them.
 *
 * A test fakes time for its own code, not for Dodici's: a session that waits for a faked setImmediate() never ends. So
 * this module keeps each function as it is when it is loaded. If that is already a fake, it keeps the function that the
 * fake replaced.
 *
 * @module
 */

import timers, { clearTimeout, setImmediate, setTimeout } from 'node:timers'

/** The next turn of the event loop. */
export const originalSetImmediate: typeof setImmediate = toReal('setImmediate', setImmediate)

/** Right after the code that is running now, even before promise jobs. */
export const originalNextTick: typeof process.nextTick = toReal('nextTick', process.nextTick)

/** In the promise job queue. */
export const originalQueueMicrotask: typeof queueMicrotask = toReal('queueMicrotask', queueMicrotask)

/** Only for `core/clock.ts`. */
export const originalSetTimeout: typeof setTimeout = toReal('setTimeout', setTimeout)

/** Only for `core/clock.ts`. */
export const originalClearTimeout: typeof clearTimeout = toReal('clearTimeout', clearTimeout)

/**
 * The function that a fake has replaced. sinon, vitest and jest get their fakes from `@sinonjs/fake-timers`: each fake
 * has its clock as a property, and the clock has the original functions.
 */
function toReal<TFunction extends object>(name: string, given: TFunction): TFunction {
  const clock: unknown = Reflect.get(given, 'clock')
  const real: unknown = typeof clock === 'object' && clock !== null ? Reflect.get(clock, `_${name}`) : null
  return typeof real === 'function' ? (real as TFunction & typeof real) : given
}

const TIMERS = {
  setTimeout: originalSetTimeout,
  clearTimeout: originalClearTimeout,
  setInterval: toReal('setInterval', timers.setInterval),
  clearInterval: toReal('clearInterval', timers.clearInterval),
  setImmediate: originalSetImmediate,
  clearImmediate: toReal('clearImmediate', timers.clearImmediate),
}

/** Loads a module of Node that may keep node:timers' functions for ever: it gets the real ones. */
export function loadWithTimers<TModule>(load: () => TModule): TModule {
  if (timers.setImmediate === originalSetImmediate && timers.setTimeout === originalSetTimeout) return load()
  const { setTimeout, clearTimeout, setInterval, clearInterval, setImmediate, clearImmediate } = timers
  const fakes = { setTimeout, clearTimeout, setInterval, clearInterval, setImmediate, clearImmediate }
  Object.assign(timers, TIMERS)
  try {
    return load()
  } finally {
    Object.assign(timers, fakes)
  }
}

/** Turns an error into an uncaught exception: the caller's code has thrown it, and no callback can report it. */
export function throwUncaught(thrown: unknown): void {
  originalNextTick(rethrow, thrown)
}

function rethrow(thrown: unknown): void {
  throw thrown
}
