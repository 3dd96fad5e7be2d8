/**
 * The error of a call that took too long.
 *
 * @module
 */

import type { Limits } from '../core/limits.ts'
import type { DodiciError } from '../errors.ts'
import {
  BodyTimeoutError,
  ConnectTimeoutError,
  HeadersTimeoutError,
  QueueTimeoutError,
  RequestTimeoutError,
  UploadTimeoutError,
} from '../errors.ts'
import type { Lateness } from './call-clock.ts'

/** Each limit has a class and a code of its own. */
export function toLateError(lateness: Exclude<Lateness, 'continue'>, limits: Limits): DodiciError {
  switch (lateness) {
    case 'queue':
      return new QueueTimeoutError(`No stream within queueTimeout (${limits.queueTimeout} ms)`)
    case 'connect':
      return new ConnectTimeoutError(`No connection within connectTimeout (${limits.connectTimeout} ms)`)
    case 'headers':
      return new HeadersTimeoutError(`No response within headersTimeout (${limits.headersTimeout} ms)`)
    case 'body':
      return new BodyTimeoutError(`No progress of the body within bodyTimeout (${limits.bodyTimeout} ms)`)
    case 'upload':
      return new UploadTimeoutError(
        `No progress of the request's body within uploadTimeout (${limits.uploadTimeout} ms)`,
      )
    case 'request':
      return new RequestTimeoutError(`The call took longer than requestTimeout (${limits.requestTimeout} ms)`)
  }
}
