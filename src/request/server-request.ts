/**
 * The requests that servers of `node:http` and `node:http2` get, which a proxy passes on.
 *
 * @module
 */

import type { Readable } from 'node:stream'

/** What tells them from other streams. */
interface Traits {
  readonly httpVersion?: unknown
  /** Null for a response that a client of node:http has got. */
  readonly method?: unknown
  readonly pushAllowed?: unknown
  readonly respond?: unknown
}

/**
 * Whether a stream is the request that a server has got: an IncomingMessage, an Http2ServerRequest, or a
 * ServerHttp2Stream. If such a stream is destroyed, the response to it is lost with its connection.
 */
export function isServerRequest(stream: Readable): boolean {
  const { httpVersion, method, pushAllowed, respond }: Traits = stream as object
  if (typeof httpVersion === 'string') return typeof method === 'string'
  return typeof respond === 'function' && typeof pushAllowed === 'boolean'
}
