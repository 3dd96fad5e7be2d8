/**
 * Which of a server's names mean this very machine.
 *
 * @module
 */

import { isIPv4 } from 'node:net'

/**
 * Whether an authority is a loopback name, with or without a port. A web page may point its own name to the address
 * 127.0.0.1, and make its browser request what is served here (DNS rebinding). Those requests have its name.
 */
export function isLoopbackAuthority(authority: string | undefined): boolean {
  if (authority === undefined) return false
  const host = authority.toLowerCase().replace(/:\d*$/, '')
  // RFC 6761 §6.3: names below `localhost` are loopback, too.
  if (host === 'localhost' || host.endsWith('.localhost') || host === '[::1]') return true
  return isIPv4(host) && host.startsWith('127.')
}
