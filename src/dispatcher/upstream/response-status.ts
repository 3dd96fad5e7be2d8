/**
 * Pure: what a response's status says about its upstream.
 *
 * @module
 */

import type { IncomingHttpHeaders } from '../../../types/headers.ts'

/** RFC 6585 §4. */
export const TOO_MANY_REQUESTS = 429
/** RFC 9110 §15.6.4. */
const UNAVAILABLE = 503

/**
 * The HTTP statuses that correspond to gRPC's, by number, as in Envoy. Those that are missing say something about the
 * request, and nothing about the upstream.
 *
 * @see https://github.com/grpc/grpc/blob/master/doc/statuscodes.md
 */
const OF_GRPC: ReadonlyMap<string, number> = new Map([
  ['2', 500], // UNKNOWN
  ['4', 504], // DEADLINE_EXCEEDED
  ['8', TOO_MANY_REQUESTS], // RESOURCE_EXHAUSTED
  ['12', 501], // UNIMPLEMENTED
  ['13', 500], // INTERNAL
  ['14', UNAVAILABLE], // UNAVAILABLE
  ['15', 500], // DATA_LOSS
])

/**
 * The HTTP status that corresponds to a gRPC status in header or trailer fields; null if none says something about an
 * upstream.
 */
export function toGrpcStatus(fields: IncomingHttpHeaders): number | null {
  const status = fields['grpc-status']
  return typeof status === 'string' ? (OF_GRPC.get(status) ?? null) : null
}

/**
 * How long an upstream asks for no calls: the `retry-after` in a 429 or 503 (RFC 9110 §10.2.3).
 *
 * @returns in milliseconds; null if it doesn't ask for that
 */
export function toOverload(status: number, fields: IncomingHttpHeaders): number | null {
  if (status !== TOO_MANY_REQUESTS && status !== UNAVAILABLE) return null
  const value = fields['retry-after']
  if (typeof value !== 'string') return null
  if (/^\d+$/.test(value)) return Number(value) * 1_000
  // Relative to the server's own clock, if it shows it: ours may differ.
  const delay = Date.parse(value) - (typeof fields.date === 'string' ? Date.parse(fields.date) : Date.now())
  return delay > 0 ? delay : null
}
