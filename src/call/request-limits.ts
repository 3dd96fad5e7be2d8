/**
 * The server's limit for request fields.
 *
 * @module
 */

import { RequestHeadersOverflowError } from '../errors/errors.ts'
import { toFieldsSize } from '../request/headers.ts'
import type { WireHeaders } from '../request/wire-headers.ts'

/** The value if the setting was never sent (RFC 9113 §6.5.2). */
const UNLIMITED = 2 ** 32 - 1

/**
 * Checks one field section of a request. If it is too large, the server may refuse the request, or end the connection
 * with all other requests on it.
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
