/**
 * Whether a load may be sent to a server.
 *
 * @module
 */

import { CliError, EXIT } from '../cli-error.ts'
import { isLoopbackAuthority } from '../loopback/authority.ts'
import type { Terminal } from '../terminal.ts'

/** `send`: at once. `warn`: after a warning. `ask`: if the user says yes. `refuse`: not at all. */
export type Consent = 'send' | 'warn' | 'ask' | 'refuse'

/**
 * What is to be done for a server. To the loopback interface anyone may send: its names are `localhost`, those below
 * it, 127.0.0.0/8 and `[::1]`. To any other server only a user who has agreed.
 *
 * @param isAgreed by `--yes`
 * @param canAsk whether a user is at a terminal
 */
export function toConsent(url: URL, isAgreed: boolean, canAsk: boolean): Consent {
  if (isLoopbackAuthority(url.host)) return 'send'
  if (isAgreed) return 'warn'
  return canAsk ? 'ask' : 'refuse'
}

/** @throws CliError when nothing may be sent */
export async function requireConsent(url: URL, isAgreed: boolean, terminal: Terminal): Promise<void> {
  const consent = toConsent(url, isAgreed, !isAgreed && terminal.canAsk)
  if (consent === 'send') return
  const warning = `${url.host} isn't this machine: a load may harm it, and those who use it.`
  if (consent === 'warn') {
    terminal.warn(`dodici load: ${warning}`)
    return
  }
  if (consent === 'refuse') {
    throw new CliError(`${warning} Nothing was sent. If its owner agrees, say so by --yes`, EXIT.usage)
  }
  if (!(await terminal.ask(`${warning}\nMay it be sent?`))) throw new CliError('nothing was sent', EXIT.usage)
}
