/**
 * Which names of a server mean this very machine.
 *
 * @module
 */

import { isIPv4 } from 'node:net'

/**
 * Whether an authority is a loopback name, with or without a port. A page of the web may give its own name the address
 * 127.0.0.1, and ask its browser for what is served here (DNS rebinding). Its requests have its name.
 */
export function isLoopbackAuthority(authority: string | undefined): boolean {
  if (authority === undefined) return false
  const host = authority.toLowerCase().replace(/:\d*$/, '')
  // RFC 6761 §6.3: names below `localhost` are loopback, too.
  if (host === 'localhost' || host.endsWith('.localhost') || host === '[::1]') return true
  return isIPv4(host) && host.startsWith('127.')
}
