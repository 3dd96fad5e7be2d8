/**
 * Any origin, through a SOCKS5 proxy.
 *
 * @module
 */

import type { Socks5ProxyAgentOptions } from '../../types/proxy.ts'
import { markClass } from '../core/class-mark.ts'
import { showTarget, toInvalid } from '../core/validate.ts'
import { ProxyAgent } from './proxy-agent.ts'
import { toProxyTarget } from './proxy-options.ts'

/**
 * A {@link ProxyAgent} for a SOCKS5 proxy (RFC 1928), with user name and password if needed (RFC 1929). Requests to
 * `http:` origins go through tunnels, too.
 */
export class Socks5ProxyAgent extends ProxyAgent {
  /**
   * Creates a dispatcher that reaches any origin through one SOCKS5 proxy.
   *
   * @param proxyUrl such as `socks5://user:password@localhost:1080`
   * @throws InvalidArgumentError that names the option and what would be accepted; it shows no credentials
   */
  constructor(proxyUrl: string | URL, options: Socks5ProxyAgentOptions = {}) {
    const { target } = toProxyTarget('proxyUrl', proxyUrl)
    if (target.protocol !== 'socks5:')
      throw toInvalid('proxyUrl', showTarget(target.href), 'a socks5: or socks: URL')
    super({ ...options, uri: proxyUrl })
  }
}

markClass(Socks5ProxyAgent, 'Socks5ProxyAgent')

export declare namespace Socks5ProxyAgent {
  /** The name that undici uses for {@link Socks5ProxyAgentOptions}. */
  export type Options = Socks5ProxyAgentOptions
}
