/**
 * Whether a load may be sent to a server.
 *
 * @module
 */

import { lookup } from 'node:dns/promises'
import { isIP } from 'node:net'
import { CliError, EXIT } from '../cli-error.ts'
import { isLoopbackAuthority } from '../loopback/authority.ts'
import type { Terminal } from '../terminal.ts'

/** `send`: at once. `warn`: after a warning. `ask`: if the user agrees. `refuse`: not at all. */
export type Consent = 'send' | 'warn' | 'ask' | 'refuse'

/**
 * A name's addresses.
 *
 * @throws the resolver's error
 */
export type Resolve = (name: string) => Promise<readonly string[]>

const resolveName: Resolve = async (name) => (await lookup(name, { all: true })).map(({ address }) => address)

/**
 * What to do for a server. Anyone may send to the loopback interface; only a user who has agreed may send elsewhere.
 *
 * @param isAgreed whether the user has agreed with `--yes`
 * @param canAsk whether a user is at a terminal
 */
export function toConsent(isLoopback: boolean, isAgreed: boolean, canAsk: boolean): Consent {
  if (isLoopback) return 'send'
  if (isAgreed) return 'warn'
  return canAsk ? 'ask' : 'refuse'
}

/**
 * Whether a URL leads to the loopback interface: 127.0.0.0/8, `[::1]`, `localhost` and the names below it. Not every
 * resolver handles those names itself (RFC 6761 §6.3), so all addresses that it returns must be loopback.
 */
export async function isLoopback(url: URL, resolve: Resolve = resolveName): Promise<boolean> {
  if (!isLoopbackAuthority(url.host)) return false
  const { hostname } = url
  if (hostname.startsWith('[') || isIP(hostname) !== 0) return true
  try {
    const addresses = await resolve(hostname)
    return addresses.every(isLoopbackAddress)
  } catch {
    // Nothing can be sent to a name without an address. The client reports that.
    return true
  }
}

function isLoopbackAddress(address: string): boolean {
  return isLoopbackAuthority(isIP(address) === 6 ? `[${address}]` : address)
}

/**
 * @param addresses used instead of the host's; null for none
 * @throws CliError if nothing may be sent
 */
export async function requireConsent(
  url: URL,
  addresses: readonly string[] | null,
  isAgreed: boolean,
  terminal: Terminal,
): Promise<void> {
  // What counts is where it goes: an address may replace the name's.
  const isHere = addresses === null ? await isLoopback(url) : addresses.every(isLoopbackAddress)
  const consent = toConsent(isHere, isAgreed, !isAgreed && terminal.canAsk)
  if (consent === 'send') return
  const host = addresses === null ? url.host : `${url.host} (${addresses.join(', ')})`
  const warning = `${host} isn't this machine: a load test may harm it and its users.`
  if (consent === 'warn') {
    terminal.warn(`dodici load: ${warning}`)
    return
  }
  if (consent === 'refuse') {
    throw new CliError(`${warning} Nothing was sent. If its owner agrees, add --yes`, EXIT.usage)
  }
  if (!(await terminal.ask(`${warning}\nSend it?`))) throw new CliError('nothing was sent', EXIT.usage)
}
