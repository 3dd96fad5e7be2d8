/**
 * Target names, as gRPC defines them (https://github.com/grpc/grpc/blob/master/doc/naming.md).
 *
 * @module
 */

import { isIP, isIPv4, isIPv6 } from 'node:net'

/** A name or an IP address, and a port. */
export interface HostPort {
  readonly host: string
  readonly port: number
}

/** Where to connect to. */
export type Address = HostPort | { readonly path: string }

/** A target that the channel serves itself. */
export interface Target {
  readonly scheme: 'dns' | 'ipv4' | 'ipv6' | 'unix'
  /** What follows the scheme, as grpc-js parses it. */
  readonly path: string
  /** The target with its scheme. */
  readonly text: string
  /** The value of `:authority`, unless an option or the call sets another one. */
  readonly authority: string
  /** In the order in which `pick_first` tries them. */
  readonly addresses: readonly Address[]
}

/** A string's parts. The port is null if there is none. */
interface SplitHostPort {
  readonly host: string
  readonly port: number | null
}

const DEFAULT_PORT = 443
/** As in grpc-js. */
const URI = /^(?:([A-Za-z0-9+.-]+):)?(?:\/\/([^/]*)\/)?(.+)$/

/** Null for a target that only grpc-js can serve, or that is malformed: then grpc-js says what is wrong with it. */
export function toTarget(given: unknown): Target | null {
  if (typeof given !== 'string') return null
  const parsed = URI.exec(given)
  if (parsed === null) return null
  const [, scheme, authority, path = ''] = parsed
  switch (scheme) {
    case 'dns':
      // Any other authority is a DNS server that the caller has chosen.
      return authority ? null : toDnsTarget(path, authority)
    case 'ipv4':
    case 'ipv6':
      return toIpTarget(scheme, path)
    case 'unix': {
      const file = authority === '' ? `/${path}` : path
      return authority
        ? null
        : {
            scheme,
            path,
            text: toText(scheme, authority, path),
            authority: 'localhost',
            addresses: [{ path: file }],
          }
    }
    default: {
      // `host:port` looks like a scheme with a path; a caller's resolver may use any other scheme.
      const isName =
        scheme === undefined ? authority === undefined : /^\d+$/.test(path) && authority === undefined
      return isName || isIP(given) > 0 ? toDnsTarget(given, undefined) : null
    }
  }
}

function toText(scheme: string, authority: string | undefined, path: string): string {
  return authority === undefined ? `${scheme}:${path}` : `${scheme}://${authority}/${path}`
}

function toDnsTarget(path: string, authority: string | undefined): Target | null {
  const it = splitHostPort(path)
  if (it === null || it.host === '') return null
  const addresses = [{ host: it.host, port: it.port ?? DEFAULT_PORT }]
  return { scheme: 'dns', path, text: toText('dns', authority, path), authority: path, addresses }
}

function toIpTarget(scheme: 'ipv4' | 'ipv6', path: string): Target | null {
  const isAddress = scheme === 'ipv4' ? isIPv4 : isIPv6
  const addresses: Address[] = []
  for (const part of path.split(',')) {
    const it = splitHostPort(part)
    if (it === null || !isAddress(it.host)) return null
    addresses.push({ host: it.host, port: it.port ?? DEFAULT_PORT })
  }
  return { scheme, path, text: `${scheme}:${path}`, authority: path.split(',')[0] ?? '', addresses }
}

/** Null for malformed text. */
export function splitHostPort(text: string): SplitHostPort | null {
  const bracketed = /^\[([^\]]*:[^\]]*)\](?::(\d+))?$/.exec(text)
  if (bracketed !== null) return { host: bracketed[1] ?? '', port: toPort(bracketed[2]) }
  if (text.startsWith('[')) return null
  const parts = text.split(':')
  // More than one colon: an IPv6 address without a port.
  if (parts.length !== 2) return { host: text, port: null }
  const [host = '', port = ''] = parts
  return /^\d+$/.test(port) ? { host, port: Number(port) } : null
}

function toPort(text: string | undefined): number | null {
  return text === undefined ? null : Number(text)
}
