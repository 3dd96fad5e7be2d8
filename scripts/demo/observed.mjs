/**
 * Node's own diagnostics of its connections and streams: whose header objects reach the caller, and which protocol was
 * negotiated.
 */
import { subscribe } from 'node:diagnostics_channel'
import { TLSSocket } from 'node:tls'

/** @typedef {import('./case.mjs').Outcome} Outcome */

/** @type {WeakSet<object>} header objects, as node:http2 handed them out */
const sessionHeaders = new WeakSet()
subscribe('http2.client.stream.finish', (message) => {
  if (typeof message === 'object' && message !== null && 'headers' in message) {
    const { headers } = message
    if (typeof headers === 'object' && headers !== null) sessionHeaders.add(headers)
  }
})

/** @type {TLSSocket[]} the TLS sockets that were opened in this process; Node 20 publishes none of them */
const tlsSockets = []
subscribe('net.client.socket', (message) => {
  if (typeof message !== 'object' || message === null || !('socket' in message)) return
  if (message.socket instanceof TLSSocket) tlsSockets.push(message.socket)
})

/**
 * @param {Outcome['headers']} headers
 * @returns {string}
 */
export function describeHeaders(headers) {
  if (Array.isArray(headers)) return 'raw array'
  // Node 20 doesn't publish the session's objects; that it has no prototype, as node made it, still can be
  // seen.
  if (sessionHeaders.has(headers)) return "object (same as the session's)"
  return Object.getPrototypeOf(headers) === null ? 'object (no prototype)' : 'object (a copy)'
}

/** @returns {string | undefined} the protocol of the last TLS connection; undefined if Node doesn't publish it */
export function lastProtocol() {
  return tlsSockets.at(-1)?.alpnProtocol || undefined
}
