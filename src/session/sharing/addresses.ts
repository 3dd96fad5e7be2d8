/**
 * The addresses of an origin's name, and how they are compared.
 *
 * @module
 */

import type { LookupAddress } from 'node:dns'
import type { LookupFunction } from 'node:net'
import type { ConnectTlsOptions } from '../../../types/client.ts'
import { loadDns } from '../../core/builtin.ts'
import { toIpVersion } from '../../core/ip-address.ts'
import { originalNextTick } from '../../core/original-timers.ts'
import { toCheckedLookup, toFamily } from '../connect/addresses.ts'

/** IPv4 within IPv6 (RFC 4291 §2.5.5.2), as systems write it that use one socket for both. */
const MAPPED = /^::ffff:(\d+\.\d+\.\d+\.\d+)$/i

/** An address as a URL writes it, so that two of them can be compared as strings. */
export function toOneNotation(address: string): string {
  const [, mapped = null] = MAPPED.exec(address) ?? []
  if (mapped !== null) return mapped
  // An address with a zone can't be a URL's host.
  if (toIpVersion(address) !== 6 || address.includes('%')) return address
  return new URL(`http://[${address}]`).hostname.slice(1, -1)
}

/**
 * Looks up a name as the origin's own connection would: with the caller's `lookup`, if there is one.
 *
 * @param onFound called once, never during this call. The list isn't empty unless there is an error
 */
export function findAddresses(
  hostname: string,
  connect: ConnectTlsOptions,
  onFound: (error: Error | null, addresses: readonly LookupAddress[]) => void,
): void {
  const version = toIpVersion(hostname)
  if (version !== 0) {
    originalNextTick(onFound, null, [{ address: hostname, family: version }])
    return
  }
  const { lookup, family = toFamily(connect), hints = 0 } = connect
  const dns = loadDns()
  // What net.connect() asks for.
  const isEither = family !== 4 && family !== 6
  const asked = hints === 0 && isEither && process.platform !== 'win32' ? dns.ADDRCONFIG : hints
  const find = toCheckedLookup((lookup ?? dns.lookup) as LookupFunction)
  const options = { family, hints: asked, all: true as const }
  let hasThrown = false
  try {
    find(hostname, options, (error, found, foundFamily) => {
      if (hasThrown) return
      if (error) onFound(error, [])
      else if (Array.isArray(found)) onFound(null, found)
      else onFound(null, [{ address: found, family: foundFamily ?? toIpVersion(found) }])
    })
  } catch (thrown) {
    // The caller's lookup function has thrown: the connection fails with that, whether or not it has called back.
    hasThrown = true
    originalNextTick(onFound, thrown instanceof Error ? thrown : new Error(String(thrown)), [])
  }
}
