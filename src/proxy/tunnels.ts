/**
 * The interface between connections and the proxies that they use.
 *
 * @module
 */

import type { Duplex } from 'node:stream'

/** Where a tunnel leads to. */
export interface TunnelTarget {
  /** Without the brackets of an IPv6 address. It isn't resolved here: that is the proxy's task. */
  readonly hostname: string
  readonly port: number
  /** `example.com:443`, `[::1]:443`. */
  readonly authority: string
}

/** An open tunnel, or why there is none. */
export type TunnelResult = { readonly tunnel: Duplex } | { readonly error: Error }

/** Opens tunnels through one proxy. */
export interface Tunnels {
  /**
   * @param signal ends the attempt; then there is no result
   * @param onResult called once
   */
  open(target: TunnelTarget, signal: AbortSignal, onResult: (result: TunnelResult) => void): void
}

export function toTunnelTarget(hostname: string, port: number): TunnelTarget {
  const authority = `${hostname.includes(':') ? `[${hostname}]` : hostname}:${port}`
  return { hostname, port, authority }
}
