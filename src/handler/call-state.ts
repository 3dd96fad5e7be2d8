/**
 * The states of a call.
 *
 * @module
 */

/**
 * Where a call is. It only moves forward, but for `running → queued` when it is replayed.
 *
 * ```
 * created → queued ⇄ running → receiving → settled      (and from each of them to settled)
 * ```
 *
 * - `created`: the handler is hearing of its controller
 * - `queued`: no stream
 * - `running`: a stream is open, no final response yet
 * - `receiving`: the response's header was handed over
 * - `settled`: the handler has heard the end; nothing happens any more
 */
export type CallState = 'created' | 'queued' | 'running' | 'receiving' | 'settled'
