/**
 * The error for a call that took too long.
 *
 * @module
 */

import type { DodiciError } from '../errors/errors.ts'
import { QueueTimeoutError } from '../errors/errors.ts'
import type { Limits } from '../options/limits.ts'
import { toLimitError, toQueueLimit } from '../options/limits.ts'
import type { Lateness } from './call-clock.ts'

/** The start of each timeout's message. The error's class and code are in the table of limits. */
const FOUND: Readonly<Record<Exclude<Lateness, 'continue'>, string>> = {
  queue: 'No stream within',
  connect: 'No connection within',
  headers: 'No response within',
  body: 'No progress on the response body within',
  upload: 'No progress on the request body within',
  request: 'The call took longer than',
}

/**
 * The error for a call that has exceeded this timeout.
 *
 * @param isQueueOver whether a waiting call has used up `queueTimeout` itself, not a shorter `headersTimeout`
 */
export function toLateError(
  lateness: Exclude<Lateness, 'continue'>,
  limits: Limits,
  isQueueOver = false,
): DodiciError {
  const name = `${lateness}Timeout` as const
  if (lateness === 'queue' && !isQueueOver && toQueueLimit(limits) !== limits.queueTimeout)
    return new QueueTimeoutError(
      `No stream within headersTimeout (${limits.headersTimeout} ms), and queueTimeout is not set`,
    )
  // The limit is null for a request without its own connectTimeout, which can't exceed it.
  return toLimitError(name, limits[name] ?? 0, FOUND[lateness])
}
