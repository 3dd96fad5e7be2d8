/**
 * The one empty function.
 *
 * @module
 */

/**
 * Does nothing. For what has to be listened to or caught, and tells the caller nothing new: the `error` event of a
 * stream that is given up (without a listener it would end the process), or the rejection of a promise whose
 * failure was reported elsewhere.
 */
export function noop(): void {}
