/**
 * Node's own functions to run something later, also while a test fakes them.
 *
 * A test fakes time for its own code, not for Dodici's: a session that waits for a faked setImmediate() never ends. So
 * each function is kept as it is when this module is loaded. If it is a fake by then, the function that the fake
 * replaced is kept.
 *
 * @module
 */

import timers, { clearTimeout, setImmediate, setTimeout } from 'node:timers'

/** The next turn of the event loop. */
export const originalSetImmediate: typeof setImmediate = toReal('setImmediate', setImmediate)

/** Right after the code that runs now: before promise jobs, too. */
export const originalNextTick: typeof process.nextTick = toReal('nextTick', process.nextTick)

/** In the queue of promise jobs. */
export const originalQueueMicrotask: typeof queueMicrotask = toReal('queueMicrotask', queueMicrotask)

/** For `core/clock.ts` alone. */
export const originalSetTimeout: typeof setTimeout = toReal('setTimeout', setTimeout)

/** For `core/clock.ts` alone. */
export const originalClearTimeout: typeof clearTimeout = toReal('clearTimeout', clearTimeout)

/**
 * The function that a fake has replaced. The fakes of sinon, vitest and jest are made by `@sinonjs/fake-timers`: each
 * fake has its clock as a property, and the clock has the functions that were there before.
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

/** Loads a module of Node that may keep node:timers' functions for its life: it gets the real ones. */
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

/** Makes an uncaught exception of an error that the caller's code has thrown and that no callback can report. */
export function throwUncaught(thrown: unknown): void {
  originalNextTick(rethrow, thrown)
}

function rethrow(thrown: unknown): void {
  throw thrown
}
