/**
 * The states of a call.
 *
 * @module
 */

/**
 * The state of a call. It only moves forward, except for `running → queued` when the call is replayed.
 *
 * ```
 * created → queued ⇄ running → receiving → settled      (and from each of them to settled)
 * ```
 *
 * - `created`: the handler is getting its controller
 * - `queued`: no stream
 * - `running`: a stream is open, no final response yet
 * - `receiving`: the header section of the response was passed to the handler
 * - `settled`: the handler has heard of the end; it hears nothing more
 */
export type CallState = 'created' | 'queued' | 'running' | 'receiving' | 'settled'
