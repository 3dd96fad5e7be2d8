/**
 * Dodici: an HTTP/2-first client dispatcher for Node.js, with undici's programming model.
 *
 * @module
 */

export type * from '../types/index.ts'
export { toRawHeaders } from './core/headers.ts'
export { Client } from './dispatcher/client.ts'
export { Dispatcher } from './dispatcher/dispatcher.ts'
export * as errors from './errors.ts'
