/**
 * Adds the field that a WebSocket expects in the response to its opening handshake.
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
 * Sets `sec-websocket-accept` in a response over HTTP/2. There the key isn't sent, and the field has no meaning (RFC
 * 8441 §5), but the WebSockets in undici 7, and in undici 8 before 8.12, check it all the same, in the header object
 * or in the raw list. A proxy in front of an HTTP/1.1 server, such as Envoy or HAProxy, passes on a value computed
 * from a different key.
 *
 * @param key the request's key; null for none
 * @param headers gets the field, instead of the server's
 * @returns `raw`, or a list with the field
 */
export function acceptKey(
  key: string | null,
  headers: IncomingHttpHeaders,
  raw: readonly string[],
): readonly string[] {
  if (key === null) return raw
  // RFC 6455 §4.2.2: the value that a server computes from the key.
  const response = loadCrypto().createHash('sha1').update(`${key}${GUID}`).digest('base64')
  headers[NAME] = response
  // The list has names and values in turn.
  const others = raw.filter((_, index) => raw[index - (index % 2)]?.toLowerCase() !== NAME)
  return [...others, NAME, response]
}
