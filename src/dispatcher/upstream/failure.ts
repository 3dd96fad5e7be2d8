/**
 * Pure: what a failed call says about its upstream, and whether another upstream may get the request.
 *
 * @module
 */

import type { Processed } from '../../../types/errors.ts'
import type { DispatchOptions } from '../../../types/request.ts'
import { isUrlSearchParams } from '../../core/realms.ts'
import {
  AlpnError,
  BodyTimeoutError,
  ConnectError,
  ConnectTimeoutError,
  DodiciError,
  HeadersTimeoutError,
  QueueTimeoutError,
  RequestTimeoutError,
  SocketError,
  StreamError,
  TunnelRefusedError,
} from '../../errors/errors.ts'
import {
  ProxyConnectionError,
  SecureProxyConnectionError,
  Socks5ProxyError,
} from '../../errors/proxy-errors.ts'
import { isFormData } from '../../request/body.ts'
import { toBytes } from '../../request/chunk-source.ts'
import { isRepeatedMethod } from '../../request/idempotent-methods.ts'
import { KeptIterable } from '../../request/kept-source.ts'
import { isBlobLike } from '../../request/multipart.ts'

/** No connection, a lost connection, a reset stream, and no response in time. */
const FAILURES = [
  ...[ConnectError, ConnectTimeoutError, AlpnError, SocketError, StreamError],
  ...[HeadersTimeoutError, BodyTimeoutError, QueueTimeoutError, RequestTimeoutError],
  ...[ProxyConnectionError, SecureProxyConnectionError, Socks5ProxyError],
]

/** Node's own errors before there is a connection, as undici's dispatchers report them. */
const CONNECTING: ReadonlySet<unknown> = new Set(['connect', 'getaddrinfo'])
const OF_SOCKETS: ReadonlySet<unknown> = new Set(['ECONNRESET', 'EPIPE', 'ETIMEDOUT'])

/** Whether a call's error is a failure of its upstream, rather than of the caller or the response's content. */
export function isUpstreamFailure(error: Error): boolean {
  // The server has responded to the CONNECT: the status says what that means.
  if (error instanceof TunnelRefusedError) return false
  if (FAILURES.some((errorClass) => error instanceof errorClass)) return true
  return CONNECTING.has(Reflect.get(error, 'syscall')) || OF_SOCKETS.has(Reflect.get(error, 'code'))
}

/** Whether the server may have acted on the request. */
export function toProcessed(error: Error): Processed {
  if (error instanceof DodiciError && isProcessed(error.processed)) return error.processed
  const isUnconnected = CONNECTING.has(Reflect.get(error, 'syscall')) || error instanceof ConnectTimeoutError
  return isUnconnected ? 'no' : 'maybe'
}

/**
 * Whether an attempt has cost no server anything, and its caller hardly any time, because no connection could be
 * opened, and that was known at once.
 */
export function isForFree(error: Error): boolean {
  if (error instanceof ConnectTimeoutError) return false
  if (error instanceof DodiciError && (error.attempts > 0 || error.processed !== 'no')) return false
  return error instanceof ConnectError || CONNECTING.has(Reflect.get(error, 'syscall'))
}

/** undici's errors count as Dodici's because of their marks, but don't have this field. */
function isProcessed(value: unknown): value is Processed {
  return value === 'no' || value === 'maybe' || value === 'yes'
}

/** Whether another upstream may get the request although the first one may have acted on it. */
export function isSafeToRepeat({ method, idempotent, upgrade }: DispatchOptions): boolean {
  if (method === 'CONNECT' || (upgrade !== undefined && upgrade !== null && upgrade !== false)) return false
  return idempotent ?? isRepeatedMethod(method)
}

/** Whether another call can send a body. A stream can't be sent again: the failed call has ended it. */
export function isReplayableBody(body: unknown): boolean {
  if (body === undefined || body === null || typeof body === 'function' || toBytes(body) !== null) return true
  if (body instanceof KeptIterable) return true
  return typeof body === 'object' && (isBlobLike(body) || isFormData(body) || isUrlSearchParams(body))
}

/** Whether another upstream may get the request after this error. No part of a response has arrived. */
export function mayFailOver(options: DispatchOptions, error: Error, replaySafe: boolean): boolean {
  // The time for the whole call is over.
  if (error instanceof RequestTimeoutError || !isUpstreamFailure(error)) return false
  if (!isReplayableBody(options.body)) return false
  return toProcessed(error) === 'no' || (replaySafe && isSafeToRepeat(options))
}
