/**
 * `NO_PROXY`: the hosts to reach without a proxy.
 *
 * @module
 */

import { BlockList } from 'node:net'
import { toIpVersion } from '../core/ip-address.ts'

/** One entry of the list. */
interface Entry {
  /** 0: any port. */
  readonly port: number
  matches(hostname: string): boolean
}

/** An address with a prefix length, such as `10.0.0.0/8` (RFC 4632). */
const SUBNET = /^(.+)\/(\d{1,3})$/
/** Node's own form of a range: `10.0.0.1-10.0.0.9`. */
const RANGE = /^([\d.]+)-([\d.]+)$/
/** An IPv6 address has more than one colon: a port after it needs brackets. */
const BRACKETED = /^\[(.+)\](?::(\d+))?$/
const WITH_PORT = /^([^:]+):(\d+)$/

function toFamily(address: string): 'ipv4' | 'ipv6' | null {
  const version = toIpVersion(address)
  return version === 0 ? null : version === 4 ? 'ipv4' : 'ipv6'
}

/** An address, a subnet or a range; null for anything else. */
function toAddresses(host: string): BlockList | null {
  const [, network, prefix] = SUBNET.exec(host) ?? []
  const [, first, last] = RANGE.exec(host) ?? []
  const family = toFamily(network ?? first ?? host)
  if (family === null) return null
  const list = new BlockList()
  if (network !== undefined) {
    if (Number(prefix) > (family === 'ipv4' ? 32 : 128)) return null
    list.addSubnet(network, Number(prefix), family)
  } else if (first !== undefined && last !== undefined) {
    if (toFamily(last) !== 'ipv4' || isReversed(first, last)) return null
    list.addRange(first, last, 'ipv4')
  } else {
    list.addAddress(host, family)
  }
  return list
}

/** Whether the first of two IPv4 addresses is above the second: such a range contains no address. */
function isReversed(first: string, last: string): boolean {
  const toNumber = (address: string): number =>
    address.split('.').reduce((sum, part) => sum * 256 + Number(part), 0)
  return toNumber(first) > toNumber(last)
}

/** A name matches itself and all names below it; `*.name` matches only those below it, as in undici 8. */
function toNameMatch(host: string): (hostname: string) => boolean {
  if (host === '*') return () => true
  const isBelow = host.startsWith('*')
  const name = withoutRoot(host.replace(/^\*?\./, ''))
  const suffix = `.${name}`
  return (hostname) => hostname.endsWith(suffix) || (!isBelow && hostname === name)
}

function toEntry(text: string): Entry {
  const [, bracketed, bracketedPort] = BRACKETED.exec(text) ?? []
  const [, name, namePort] = WITH_PORT.exec(text) ?? []
  const host = bracketed ?? name ?? text
  const port = Number(bracketedPort ?? namePort ?? 0)
  const addresses = toAddresses(host)
  if (addresses === null) return { port, matches: toNameMatch(host) }
  return {
    port,
    matches(hostname) {
      const family = toFamily(hostname)
      return family !== null && addresses.check(hostname, family)
    },
  }
}

/** The root's dot marks a name as fully qualified (RFC 1034 §3.1): it is the same name. */
function withoutRoot(name: string): string {
  return name.length > 1 && name.endsWith('.') ? name.slice(0, -1) : name
}

/**
 * The entries of `NO_PROXY`, separated by commas or white space: `*`, a name (`example.com`, `.example.com` and
 * `*.example.com` also match the names below it), an IP address, a subnet (`10.0.0.0/8`, `fd00::/8`), a range of IPv4
 * addresses (`10.0.0.1-10.0.0.9`); each may have a port (`example.com:8080`, `[::1]:443`).
 */
export class NoProxy {
  readonly #entries: readonly Entry[]

  constructor(text: string) {
    this.#entries = text
      .toLowerCase()
      .split(/[,\s]+/)
      .filter((entry) => entry !== '')
      .map(toEntry)
  }

  /** @param hostname as in a URL; an IPv6 address without brackets */
  has(hostname: string, port: number): boolean {
    const name = withoutRoot(hostname.toLowerCase())
    return this.#entries.some((entry) => (entry.port === 0 || entry.port === port) && entry.matches(name))
  }
}
