/**
 * The limits of a call.
 *
 * @module
 */

import type { CallLimits } from '../../types/limits.ts'
import { toDelay, toInteger } from './validate.ts'

/** {@link CallLimits}, with every limit present. Durations in milliseconds, 0 for never; sizes in bytes. */
export interface Limits {
  readonly queueTimeout: number
  /** Null where the request has none of its own: then the connection attempt's limit is the call's. */
  readonly connectTimeout: number | null
  readonly headersTimeout: number
  readonly bodyTimeout: number
  readonly uploadTimeout: number
  readonly requestTimeout: number
  /** -1 for none. */
  readonly maxResponseSize: number
  readonly maxHeaderSize: number
  readonly maxHeadersCount: number
}

/** An engine must let the largest `maxHeaderSize` pass, so that it is the call that says what is too large. Bytes. */
export const MAX_HEADER_SIZE = 1_048_576
/** As many fields as fit into {@link MAX_HEADER_SIZE}: each counts at least 32 bytes (RFC 9113 §6.5.2). */
export const MAX_HEADERS_COUNT = MAX_HEADER_SIZE / 32

export const DEFAULT_LIMITS: Limits = Object.freeze({
  queueTimeout: 300_000,
  connectTimeout: null,
  headersTimeout: 300_000,
  bodyTimeout: 300_000,
  uploadTimeout: 300_000,
  requestTimeout: 0,
  maxResponseSize: -1,
  maxHeaderSize: 65_536,
  maxHeadersCount: 2_000,
})

/**
 * Checks and completes the limits of a request, or of a client.
 *
 * @param defaults what holds where `options` says nothing
 * @returns `defaults` itself where `options` says nothing at all, as most requests do
 * @throws InvalidArgumentError that names the option, its value, and what would be accepted
 */
export function toLimits(options: CallLimits, defaults: Limits): Limits {
  const { queueTimeout, connectTimeout, headersTimeout, bodyTimeout, uploadTimeout, requestTimeout } = options
  const { maxResponseSize, maxHeaderSize, maxHeadersCount } = options
  const anyTime = queueTimeout ?? connectTimeout ?? headersTimeout ?? bodyTimeout ?? uploadTimeout
  if ((anyTime ?? requestTimeout ?? maxResponseSize ?? maxHeaderSize ?? maxHeadersCount) === undefined) {
    return defaults
  }
  const { maxResponseSize: maxBody, maxHeaderSize: maxSize, maxHeadersCount: maxCount } = defaults
  const hasConnectTimeout = connectTimeout !== undefined && connectTimeout !== null
  return Object.freeze({
    queueTimeout: toDelay('queueTimeout', queueTimeout, defaults.queueTimeout),
    connectTimeout: hasConnectTimeout
      ? toDelay('connectTimeout', connectTimeout, 0)
      : defaults.connectTimeout,
    headersTimeout: toDelay('headersTimeout', headersTimeout, defaults.headersTimeout),
    bodyTimeout: toDelay('bodyTimeout', bodyTimeout, defaults.bodyTimeout),
    uploadTimeout: toDelay('uploadTimeout', uploadTimeout, defaults.uploadTimeout),
    requestTimeout: toDelay('requestTimeout', requestTimeout, defaults.requestTimeout),
    maxResponseSize: toInteger(
      'maxResponseSize',
      maxResponseSize,
      maxBody,
      -1,
      Number.MAX_SAFE_INTEGER,
      'bytes (-1: any number)',
    ),
    maxHeaderSize: toInteger('maxHeaderSize', maxHeaderSize, maxSize, 1, MAX_HEADER_SIZE, 'bytes'),
    maxHeadersCount: toInteger('maxHeadersCount', maxHeadersCount, maxCount, 1, MAX_HEADERS_COUNT, 'fields'),
  })
}
