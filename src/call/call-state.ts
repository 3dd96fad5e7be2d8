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
 * - `receiving`: the response's header section was passed to the handler
 * - `settled`: the handler has been told the end, and is told nothing more
 */
export type CallState = 'created' | 'queued' | 'running' | 'receiving' | 'settled'
