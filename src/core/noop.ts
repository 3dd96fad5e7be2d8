/**
 * The one empty function.
 *
 * @module
 */

/**
 * Does nothing. Used as a listener for the `error` event of an abandoned stream, because without a listener the event
 * would end the process, and as a handler for a rejected promise whose failure was reported elsewhere.
 */
export function noop(): void {}
