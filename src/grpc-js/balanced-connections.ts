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
import { GROWTH } from './connectivity.ts'
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

/** How often, in milliseconds, a call may look for addresses that aren't connected. */
const LOOK_INTERVAL = 1_000

/** The attempts to connect to one address. */
class AddressDial {
  readonly #pool: Pool
  readonly #parts: Backoff
  #backoff: number
  /** When the next attempt may begin, in milliseconds of `performance.now()`; Infinity while one runs. */
  #startsAt = 0

  constructor(pool: Pool, parts: Backoff) {
    this.#pool = pool
    this.#parts = parts
    this.#backoff = parts.initialBackoff
  }

  /** Connects unless it is connected, or connecting, or waits after a failure. */
  look(now: number): void {
    if (now >= this.#startsAt && !Pool.isConnected(this.#pool)) this.connect().catch(() => {})
  }

  /** Settles when it is connected. */
  async connect(): Promise<void> {
    this.#startsAt = Number.POSITIVE_INFINITY
    try {
      await this.#pool.connectAhead()
      this.#backoff = this.#parts.initialBackoff
      this.#startsAt = 0
    } catch (error) {
      this.#startsAt = performance.now() + this.#backoff
      this.#backoff = Math.min(this.#backoff * GROWTH, this.#parts.maxBackoff)
      throw error
    }
  }
}

/**
 * A Pool for each address. A name is resolved again when one of its connections fails or is retired. As in gRPC, calls
 * go to addresses that are connected: one that accepts connections and is silent gets none.
 */
export class BalancedConnections implements Connections {
  readonly isChosenByCalls = true
  /** The addresses differ, so each call sets its `:authority`. */
  readonly authority = null
  readonly #pool: UpstreamPool
  readonly #parts: BalancedParts
  /** By the address's origin: an upstream whose options stay the same keeps its connections. */
  #made = new Map<string, UpstreamInit>()
  /** By the Pool of the address. */
  readonly #dials = new WeakMap<Pool, AddressDial>()
  /** When a call next looks for addresses that aren't connected, in milliseconds of `performance.now()`. */
  #looksAt = 0
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
    UpstreamPool.preferConnected(this.#pool)
    const lookSoon = (): void => {
      this.#looksAt = 0
    }
    this.#pool.on('disconnect', lookSoon)
    this.#pool.on('upstreams', lookSoon)
    this.#pool.on('discoveryError', (error) => {
      this.#failure = error
    })
    this.#pool.on('upstreams', () => {
      this.#failure = null
    })
  }

  get isConnected(): boolean {
    return this.#pools.some((pool) => Pool.isConnected(pool))
  }

  get unresolved(): Error | null {
    return this.#pool.upstreams.length === 0 ? this.#failure : null
  }

  get #pools(): Pool[] {
    const pools = this.#pool.upstreams.map((name) => this.#pool.getUpstream(name))
    return pools.filter((pool): pool is Pool => pool instanceof Pool)
  }

  dispatch(options: DispatchOptions, handler: DispatchHandler): void {
    const now = performance.now()
    if (now >= this.#looksAt) this.#look(now)
    this.#pool.dispatch(options, handler)
  }

  #look(now: number): void {
    this.#looksAt = now + Math.min(LOOK_INTERVAL, this.#parts.initialBackoff)
    for (const pool of this.#pools) this.#toDial(pool).look(now)
  }

  #toDial(pool: Pool): AddressDial {
    const known = this.#dials.get(pool)
    if (known !== undefined) return known
    const dial = new AddressDial(pool, this.#parts)
    this.#dials.set(pool, dial)
    return dial
  }

  /** Connects to all addresses, and settles with the first connection. */
  async connectAhead(): Promise<void> {
    if (this.#pool.upstreams.length === 0) await this.#awaitAddresses()
    await Promise.any(this.#pools.map((pool) => this.#toDial(pool).connect()))
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
