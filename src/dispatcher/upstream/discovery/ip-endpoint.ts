/**
 * An IP address, and possibly a port, as written in an upstream's `address`.
 *
 * @module
 */

import { toIpVersion } from '../../../core/ip-address.ts'

/** Where to connect to, instead of what the origin's name says. */
export interface IpEndpoint {
  /** Without brackets. */
  readonly host: string
  readonly family: 4 | 6
  /** Null: the origin's port. */
  readonly port: number | null
}

/** An address, in brackets or without a colon, and a port after a colon. */
const PARTS = /^(?:\[([^\]]+)\]|([^:]+))(?::(\d{1,5}))?$/

const MAX_PORT = 65_535

/**
 * Parses `10.0.0.7`, `10.0.0.7:8443`, `::1`, `[::1]` and `[::1]:8443`.
 *
 * @returns null for anything else
 */
export function toIpEndpoint(text: string): IpEndpoint | null {
  const bare = toIpVersion(text)
  if (bare !== 0) return { host: toCanonical(text, bare), family: bare, port: null }
  const [, bracketed, plain = '', port = null] = PARTS.exec(text) ?? []
  const host = bracketed ?? plain
  const family = toIpVersion(host)
  if (family !== (bracketed === undefined ? 4 : 6)) return null
  const number = port === null ? null : Number(port)
  if (number !== null && (number === 0 || number > MAX_PORT)) return null
  return { host: toCanonical(host, family), family, port: number }
}

/** Writes it so that {@link toIpEndpoint} can parse it. */
export function showIpEndpoint({ host, family, port }: IpEndpoint): string {
  const shown = family === 6 ? `[${host}]` : host
  return port === null ? shown : `${shown}:${port}`
}

/** An IPv6 address has several forms, but an upstream only one name. A zone is kept as it is (RFC 4007 §11). */
function toCanonical(host: string, family: 4 | 6): string {
  if (family === 4) return host
  const [address = '', zone] = host.split('%')
  const canonical = new URL(`http://[${address}]`).hostname.slice(1, -1)
  return zone === undefined ? canonical : `${canonical}%${zone}`
}
