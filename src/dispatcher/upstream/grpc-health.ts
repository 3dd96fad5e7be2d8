/**
 * gRPC's health service.
 *
 * @see https://github.com/grpc/grpc/blob/master/doc/health-checking.md
 * @module
 */

import type { DispatchOptions } from '../../../types/request.ts'
import type { CheckedResponse } from './health-check.ts'

/** The status codes that matter here. */
const OK = '0'
const UNIMPLEMENTED = '12'
/** What precedes each message: whether it is compressed, and its length. In bytes. */
const PREFIX = 5
/** A HealthCheckRequest's `service`, a string: field 1, wire type 2. */
const SERVICE = 0x0a
/** A HealthCheckResponse's `status`, a number: field 1, wire type 0; and its value for a server that serves. */
const STATUS = 0x08
const SERVING = 1

/** Longer names, in bytes, would need a longer length before them. */
export const MAX_SERVICE_LENGTH = 127

/**
 * The request for a service's health.
 *
 * @param service its full name, at most {@link MAX_SERVICE_LENGTH} bytes; '': the whole server
 */
export function toGrpcCheck(service: string): DispatchOptions {
  const name = Buffer.from(service)
  const message = name.length === 0 ? Buffer.alloc(0) : Buffer.from([SERVICE, name.length, ...name])
  const prefix = Buffer.alloc(PREFIX)
  prefix.writeUInt32BE(message.length, 1)
  return {
    method: 'POST',
    path: '/grpc.health.v1.Health/Check',
    headers: { 'content-type': 'application/grpc', te: 'trailers' },
    body: Buffer.concat([prefix, message]),
  }
}

/** Whether a server says that it serves. A server without a health service counts as serving, as in gRPC clients. */
export function isServing({ statusCode, headers, trailers, body }: CheckedResponse): boolean {
  const status = trailers['grpc-status'] ?? headers['grpc-status']
  if (statusCode !== 200) return false
  if (status === UNIMPLEMENTED) return true
  return status === OK && body.length >= PREFIX + 2 && body[PREFIX] === STATUS && body[PREFIX + 1] === SERVING
}
