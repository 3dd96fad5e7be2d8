/**
 * The one empty function.
 *
 * @module
 */

/**
 * Does nothing. A listener for the `error` event of a stream that is given up: without a listener the event would end
 * the process. Also a handler for the rejection of a promise whose failure was reported elsewhere.
 */
export function noop(): void {}
