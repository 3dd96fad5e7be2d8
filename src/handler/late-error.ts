/**
 * The error of a call that took too long.
 *
 * @module
 */

import type { Limits } from '../core/limits.ts'
import { toLimitError } from '../core/limits.ts'
import type { DodiciError } from '../errors.ts'
import type { Lateness } from './call-clock.ts'

/** What is said of each time limit; its class and its code are the table's. */
const FOUND: Readonly<Record<Exclude<Lateness, 'continue'>, string>> = {
  queue: 'No stream within',
  connect: 'No connection within',
  headers: 'No response within',
  body: 'No progress of the body within',
  upload: "No progress of the request's body within",
  request: 'The call took longer than',
}

/** Each limit has a class and a code of its own. */
export function toLateError(lateness: Exclude<Lateness, 'continue'>, limits: Limits): DodiciError {
  const name = `${lateness}Timeout` as const
  // Null is that of a request without a connectTimeout of its own, which can't be late with it.
  return toLimitError(name, limits[name] ?? 0, FOUND[lateness])
}
