/**
 * Connections to several addresses of a target, among which calls choose: gRPC's `round_robin`.
 *
 * @module
 */

import { lookup } from 'node:dns/promises'
import { isIP } from 'node:net'
import type { DispatchHandler, DispatchOptions, PoolOptions, UpstreamInit, UpstreamSource } from '../index.ts'
import { Pool, UpstreamPool } from '../index.ts'
import type { Connections } from './connections.ts'
import type { Backoff } from './connectivity.ts'
import type { Connector } from './dial.ts'
import type { HostPort } from './target.ts'

/** What the connections are created from. */
export interface BalancedParts extends Backoff {
  readonly scheme: 'http' | 'https'
  /** One name, which is resolved repeatedly, or IP addresses. */
  readonly addresses: readonly HostPort[]
  readonly options: PoolOptions
  /** Creates the function that connects to one address. */
  toConnector(address: HostPort): Connector
}

/** How many milliseconds a name's addresses are valid, as long as their connections last. As in grpc-js. */
const TTL = 30_000

/** A Pool for each address. A name is resolved again when one of its connections fails or is retired. */
export class BalancedConnections implements Connections {
  /** The addresses differ, so each call sets its `:authority`. */
  readonly authority = null
  readonly #pool: UpstreamPool
  readonly #parts: BalancedParts
  /** By the address's origin: an upstream whose options stay the same keeps its connections. */
  #made = new Map<string, UpstreamInit>()
  /** Why no address is known; null if one is, or if the first answer hasn't arrived. */
  #failure: Error | null = null

  constructor(parts: BalancedParts) {
    const { addresses, options } = parts
    this.#parts = parts
    const [first] = addresses
    const isName = addresses.length === 1 && first !== undefined && isIP(first.host) === 0
    this.#pool = new UpstreamPool(isName ? this.#toSource(first) : this.#toUpstreams(addresses), {
      ...options,
      // A status is the caller's business: gRPC doesn't eject an address because of it.
      failureStatuses: [],
      // Addresses take turns: what counts is how busy they are now, not how fast they have been.
      latencyWindow: 1,
      slowStart: 0,
      // An address that can't be reached is tried again after the back-off. The others get its calls, however many
      // addresses fail.
      ejectionTime: Math.max(1, parts.initialBackoff),
      maxEjectionTime: Math.max(1, parts.maxBackoff),
      maxEjectionPercent: 100,
    })
    this.#pool.on('discoveryError', (error) => {
      this.#failure = error
    })
    this.#pool.on('upstreams', () => {
      this.#failure = null
    })
  }

  get isConnected(): boolean {
    return Object.values(this.#pool.stats).some(({ pool }) => pool !== null && Number(pool.connected) > 0)
  }

  dispatch(options: DispatchOptions, handler: DispatchHandler): void {
    this.#pool.dispatch(options, handler)
  }

  /** Connects to all addresses, and settles with the first connection. */
  async connectAhead(): Promise<void> {
    if (this.#pool.upstreams.length === 0) await this.#awaitAddresses()
    const pools = this.#pool.upstreams.map((name) => this.#pool.getUpstream(name))
    await Promise.any(pools.map(async (pool) => (pool instanceof Pool ? pool.connectAhead() : undefined)))
  }

  onDisconnect(listener: () => void): void {
    this.#pool.on('disconnect', listener)
  }

  close(): Promise<void> {
    return this.#pool.close()
  }

  #awaitAddresses(): Promise<void> {
    if (this.#failure !== null) return Promise.reject(this.#failure)
    return new Promise((resolve, reject) => {
      const onKnown = (): void => {
        this.#pool.off('discoveryError', onFailed)
        resolve()
      }
      const onFailed = (error: Error): void => {
        this.#pool.off('upstreams', onKnown)
        reject(error)
      }
      this.#pool.once('upstreams', onKnown)
      this.#pool.once('discoveryError', onFailed)
    })
  }

  #toSource({ host, port }: HostPort): UpstreamSource {
    const resolver = async (): Promise<{ upstreams: UpstreamInit[]; ttl: number }> => {
      const found = await lookup(host, { all: true })
      return { upstreams: this.#toUpstreams(found.map(({ address }) => ({ host: address, port }))), ttl: TTL }
    }
    return Object.defineProperty(resolver, 'name', { value: `dns:${host}` })
  }

  #toUpstreams(addresses: readonly HostPort[]): UpstreamInit[] {
    const made = new Map<string, UpstreamInit>()
    for (const address of addresses) {
      const { host, port } = address
      const origin = `${this.#parts.scheme}://${host.includes(':') ? `[${host}]` : host}:${port}`
      const known = this.#made.get(origin)
      made.set(origin, known ?? { origin, connect: this.#parts.toConnector(address) })
    }
    this.#made = made
    return [...made.values()]
  }
}
