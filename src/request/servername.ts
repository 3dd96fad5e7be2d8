/**
 * The name that TLS asks a server for, and that its certificate must be valid for (RFC 6066 §3).
 *
 * @module
 */

import type { Connector, ConnectTlsOptions, PoolOptions } from '../../types/client.ts'
import { isHost } from '../core/authority.ts'
import { toIpVersion } from '../core/ip-address.ts'
import { invalid } from '../core/validate.ts'
import type { Origin } from '../options/options.ts'

/** The server name that an Agent's connect function asks for, if a request has set one. */
const askedFor = new WeakMap<Connector, string>()

/** Options for connections to a server name other than the origin's host. Null changes nothing. */
export function withServername(options: PoolOptions, servername: string | null): PoolOptions {
  if (servername === null) return options
  const { connect } = options
  if (typeof connect !== 'function') return { ...options, connect: { ...connect, servername } }
  const connector: Connector = (asked, callback) => connect({ ...asked, servername }, callback)
  askedFor.set(connector, servername)
  return { ...options, connect: connector }
}

/** The server name for connections with these options; undefined: the origin's host. */
function toOwn(connect: ConnectTlsOptions | Connector | null | undefined): string | undefined {
  return typeof connect === 'function' ? askedFor.get(connect) : connect?.servername
}

/** RFC 6066 §3: a name, not an address. Names are compared as in DNS (RFC 4343). */
function isSame(one: string, other: string): boolean {
  return one.toLowerCase() === other.toLowerCase()
}

/**
 * The server name of a request, if it differs from the default.
 *
 * @param connect the options for the dispatcher's connections
 * @returns null if it doesn't differ, and without TLS, where undici ignores it, too
 * @throws InvalidArgumentError
 */
export function toServername(
  value: unknown,
  { scheme, hostname }: Origin,
  connect: ConnectTlsOptions | Connector | null | undefined,
): string | null {
  if (value === undefined || value === null || value === '') return null
  const accepted = 'an ASCII server name, or null'
  if (typeof value !== 'string') throw invalid('servername', value, accepted)
  if (scheme === 'http' || isSame(value, toOwn(connect) ?? hostname)) return null
  if (toIpVersion(value) !== 0 || value.startsWith('[') || !isHost(value))
    throw invalid('servername', value, accepted)
  return value
}

/**
 * The server name of a request to a dispatcher whose connections use a single one: it can't be a different one,
 * because the certificate of a server that wasn't asked for must not count.
 *
 * @returns null for none
 * @throws InvalidArgumentError
 */
export function toOwnServername(
  value: string | null | undefined,
  origin: Origin,
  connect: ConnectTlsOptions | Connector,
): string | null {
  if (value === undefined || value === null || value === '') return null
  if (toServername(value, origin, connect) === null) return value
  const own = toOwn(connect) ?? origin.hostname
  throw invalid('servername', value, `${own}, which this client's connections use (an Agent takes others)`)
}
