/**
 * The limit that a server sets for the fields of requests.
 *
 * @module
 */

import { RequestHeadersOverflowError } from '../errors/errors.ts'
import { toFieldsSize } from '../request/headers.ts'
import type { WireHeaders } from '../request/wire-headers.ts'

/** The value of a setting that was never sent (RFC 9113 §6.5.2). */
const UNLIMITED = 2 ** 32 - 1

/**
 * Checks one section of a request's fields. A server that gets a larger one may refuse the request, or end the
 * connection, and every other request on it.
 *
 * @param limit the server's SETTINGS_MAX_HEADER_LIST_SIZE, in bytes
 * @throws RequestHeadersOverflowError
 */
export function checkListSize(what: 'header' | 'trailers', wire: WireHeaders, limit: number): void {
  if (limit >= UNLIMITED) return
  const size = toFieldsSize(wire)
  if (size <= limit) return
  throw new RequestHeadersOverflowError(
    `The request ${what} section has ${size} bytes, more than the server's SETTINGS_MAX_HEADER_LIST_SIZE of ${limit} ` +
      '(set enforceMaxHeaderListSize: false to send it anyway)',
  )
}
