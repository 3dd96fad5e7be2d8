/**
 * The handshakes for `/ws`: extended CONNECT over HTTP/2, Upgrade over HTTP/1.1.
 *
 * @module
 */

import { createHash } from 'node:crypto'
import type { IncomingMessage } from 'node:http'
import type { Http2ServerRequest, Http2ServerResponse } from 'node:http2'
import type { Duplex } from 'node:stream'
import { isLoopbackAuthority } from '../loopback/authority.ts'
import { echoMessages } from './websocket.ts'

/** The WebSocket's path. */
const PATH = '/ws'

/** RFC 6455 §1.3. */
const GUID = '258EAFA5-E914-47DA-95CA-C5AB0DC85B11'

/**
 * Responds to a CONNECT over HTTP/2.
 *
 * @returns the status
 */
export function acceptConnect(request: Http2ServerRequest, response: Http2ServerResponse): number {
  const status = toConnectStatus(request)
  if (status === 200) {
    const { stream } = request
    // The stream's error closes it.
    stream.on('error', () => {})
    stream.respond({ ':status': status })
    void echoMessages(stream)
  } else {
    request.resume()
    response.writeHead(status)
    response.end()
  }
  return status
}

function toConnectStatus({ headers, url }: Http2ServerRequest): number {
  if (!isLoopbackAuthority(headers[':authority'] ?? headers.host)) return 421
  // Any other CONNECT asks for a proxy, or for a protocol that isn't supported here (RFC 9220 §3).
  if (headers[':protocol'] !== 'websocket') return 501
  return url.split('?')[0] === PATH ? 200 : 404
}

/**
 * Responds to an Upgrade over HTTP/1.1.
 *
 * @returns the status
 */
export function acceptUpgrade(request: IncomingMessage, socket: Duplex, head: Buffer): number {
  socket.on('error', () => {})
  const {
    'sec-websocket-key': key = '',
    'sec-websocket-version': version,
    upgrade = '',
    host,
  } = request.headers
  const isWebSocket = upgrade.toLowerCase() === 'websocket' && version === '13' && key !== ''
  const isHere = request.url?.split('?')[0] === PATH
  const status = !isLoopbackAuthority(host) ? 421 : !isHere ? 404 : !isWebSocket ? 400 : 101
  if (status !== 101) {
    socket.end(`HTTP/1.1 ${status} Refused\r\ncontent-length: 0\r\nconnection: close\r\n\r\n`)
    return status
  }
  const accept = createHash('sha1').update(`${key}${GUID}`).digest('base64')
  const fields = ['connection: Upgrade', 'upgrade: websocket', `sec-websocket-accept: ${accept}`]
  socket.write(`HTTP/1.1 101 Switching Protocols\r\n${fields.join('\r\n')}\r\n\r\n`)
  if (head.length > 0) socket.unshift(head)
  void echoMessages(socket)
  return status
}
