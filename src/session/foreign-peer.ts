/**
 * Errors for peers that speak a protocol other than HTTP/2; they say what to do about it.
 *
 * @module
 */

import { ErrorCode } from '../errors/error-codes.ts'
import { SocketError } from '../errors/errors.ts'
import type { Origin } from '../options/options.ts'
import { ForeignPeerFault } from '../protocol/protocol-error.ts'

/**
 * The code of node:http2's error for a peer whose first bytes nghttp2 doesn't accept as SETTINGS. It doesn't say what
 * they were.
 */
const OF_NGHTTP2 = 'ERR_HTTP2_ERROR'

/**
 * The error for a connection whose peer has sent no SETTINGS.
 *
 * @returns `error` itself if it isn't about the peer's first bytes
 */
export function toForeignPeerError(error: Error, { href, scheme }: Origin): Error {
  const isOfWire = error.cause instanceof ForeignPeerFault
  if (!isOfWire && Reflect.get(error, 'code') !== OF_NGHTTP2) return error
  const protocol = error.cause instanceof ForeignPeerFault ? error.cause.protocol : null
  const message = `${href} ${toWords(protocol)} (RFC 9113 §3.4)${scheme === 'http' ? toCure(protocol) : ''}`
  const details = { cause: error, http2ErrorCode: ErrorCode.PROTOCOL_ERROR }
  return new SocketError(message, { ...details, processed: 'maybe' })
}

function toWords(protocol: ForeignPeerFault['protocol']): string {
  if (protocol !== null) return `speaks ${protocol}, not HTTP/2`
  return "doesn't speak HTTP/2: it didn't begin with SETTINGS"
}

function toCure(protocol: ForeignPeerFault['protocol']): string {
  if (protocol === 'TLS') return ': use an https: URL'
  const cure = 'use h2c: false, or an Agent'
  return protocol === null ? `. If it speaks HTTP/1.1, ${cure}` : `: ${cure}`
}

/** The addition to the message if a connection was lost whose peer has sent no SETTINGS. */
export function toSilence({ scheme }: Origin): string {
  const silence = ', before the server sent SETTINGS'
  return scheme === 'http' ? `${silence}: it may speak TLS, or HTTP/1.1 (h2c: false)` : silence
}
