/**
 * The next turn of the event loop.
 *
 * @module
 */

/** Node's `setImmediate()` as it is when this module is loaded: whoever fakes timers later doesn't mean ours. */
export const later: typeof setImmediate = setImmediate
