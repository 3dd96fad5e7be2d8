/**
 * Adds the field that a WebSocket expects in the response to its handshake.
 *
 * @module
 */

import type { IncomingHttpHeaders } from '../../types/headers.ts'
import { loadCrypto } from '../core/builtin.ts'

/** RFC 6455 §1.3. */
const GUID = '258EAFA5-E914-47DA-95CA-C5AB0DC85B11'

/** RFC 6455 §11.3.3. */
const NAME = 'sec-websocket-accept'

/**
 * Adds `sec-websocket-accept` to a response. Over HTTP/2 the key isn't sent, and servers don't send this field (RFC
 * 8441 §5). But the WebSockets of undici 7, and of undici 8 before 8.12, check it all the same, in the header object or
 * in the raw list.
 *
 * @param key of the request; null for none
 * @param headers gets the field, unless it has one
 * @returns `raw`, or a list with the field
 */
export function acceptKey(
  key: string | null,
  headers: IncomingHttpHeaders,
  raw: readonly string[],
): readonly string[] {
  if (key === null || headers[NAME] !== undefined) return raw
  // RFC 6455 §4.2.2: the value that a server computes from the key.
  const response = loadCrypto().createHash('sha1').update(`${key}${GUID}`).digest('base64')
  headers[NAME] = response
  return [...raw, NAME, response]
}
