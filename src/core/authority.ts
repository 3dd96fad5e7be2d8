/**
 * The host and port in `:authority` (RFC 9113 §8.3.1).
 *
 * @module
 */

import { isIPv6 } from 'node:net'

/**
 * A host that isn't a bracketed address: `reg-name` in RFC 3986 §3.2.2, which also matches IPv4 addresses. Only ASCII:
 * international names are sent in Punycode.
 */
const REG_NAME = /^(?:[\w\-.~!$&'()*+,;=]|%[\dA-Fa-f]{2})+$/

/** A host, and the port after a colon, neither of them checked further. */
const PARTS = /^(\[[^\]]*\]|[^:]*)(?::(\d{1,5}))?$/

const MAX_PORT = 65_535

/**
 * Whether a host may be sent: a name, an IPv4 address, or an IPv6 address in brackets. An IPv6 address with a zone may
 * not: a zone names an interface of this machine, and means nothing to the server (RFC 4007 §11).
 */
export function isHost(host: string): boolean {
  if (!host.startsWith('[')) return REG_NAME.test(host)
  return host.endsWith(']') && !host.includes('%') && isIPv6(host.slice(1, -1))
}

/**
 * Whether a string is a host, or a host and a port from 1 to 65535. It must not contain userinfo: RFC 9113 §8.3.1.
 *
 * @param needsPort whether a host without a port is not enough
 */
export function isAuthority(text: string, needsPort: boolean): boolean {
  const [, host, port] = PARTS.exec(text) ?? []
  if (host === undefined || !isHost(host)) return false
  if (port === undefined) return !needsPort
  const number = Number(port)
  return number >= 1 && number <= MAX_PORT
}
