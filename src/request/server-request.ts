/**
 * Requests received by `node:http` and `node:http2` servers, which a proxy passes on.
 *
 * @module
 */

import type { Readable } from 'node:stream'

/** What distinguishes them from other streams. */
interface Traits {
  readonly httpVersion?: unknown
  /** Null for a response that a node:http client has received. */
  readonly method?: unknown
  readonly pushAllowed?: unknown
  readonly respond?: unknown
}

/**
 * Whether a stream is a request that a server has received: an IncomingMessage, an Http2ServerRequest, or a
 * ServerHttp2Stream. If such a stream is destroyed, its response is lost with its connection.
 */
export function isServerRequest(stream: Readable): boolean {
  const { httpVersion, method, pushAllowed, respond }: Traits = stream as object
  if (typeof httpVersion === 'string') return typeof method === 'string'
  return typeof respond === 'function' && typeof pushAllowed === 'boolean'
}
