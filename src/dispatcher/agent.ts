/**
 * One Client for each origin.
 *
 * @module
 */

import type { AgentOptions } from '../../types/client.ts'
import type { Dispatcher as DispatcherType } from '../../types/dispatcher.ts'
import type { DispatchHandler } from '../../types/handler.ts'
import type { DispatchOptions } from '../../types/request.ts'
import type { Origin } from '../core/options.ts'
import { toBoolean, toClientOptions, toOrigin } from '../core/options.ts'
import { NotSupportedError } from '../errors.ts'
import { Client } from './client.ts'
import { LivingDispatcher } from './life-cycle.ts'

/**
 * A dispatcher for any origin: each request names its own.
 *
 * @example
 * ```ts
 * const agent = new Agent()
 * const { body } = await agent.request({ origin: 'https://localhost:8443', path: '/', method: 'GET' })
 * console.log(await body.text())
 * await agent.close()
 * ```
 */
export class Agent extends LivingDispatcher {
  readonly #options: AgentOptions
  readonly #h2c: boolean
  /** By the origin, as `URL.origin` writes it. */
  readonly #clients = new Map<string, Client>()
  /** Clients that were dropped, and whose last tunnels are still open. */
  readonly #leaving = new Set<Client>()

  /**
   * @param options those of each Client, and `h2c`; see {@link AgentOptions}
   * @throws InvalidArgumentError that names the option, its value, and what would be accepted
   */
  constructor(options?: AgentOptions) {
    super()
    // Now, rather than with the first request.
    toClientOptions(options)
    this.#options = { ...options }
    this.#h2c = toBoolean('h2c', this.#options.h2c, false)
  }

  protected override take(options: DispatchOptions, handler: DispatchHandler): boolean {
    return this.#toClient(options.origin).dispatch(options, handler)
  }

  protected override async finish(): Promise<void> {
    await Promise.all(this.#all().map((client) => client.close()))
  }

  protected override async tearDown(error: Error | null): Promise<void> {
    await Promise.all(this.#all().map((client) => client.destroy(error)))
  }

  #all(): Client[] {
    return [...this.#clients.values(), ...this.#leaving]
  }

  #toClient(given: unknown): Client {
    // Most callers give it in this very form already: then it needn't be parsed.
    const known = typeof given === 'string' ? this.#clients.get(given) : undefined
    if (known !== undefined) return known
    const origin = toOrigin(given)
    return this.#clients.get(origin.href) ?? this.#open(origin)
  }

  #open(origin: Origin): Client {
    if (origin.scheme === 'http' && !this.#h2c) {
      throw new NotSupportedError(
        `${origin.href} would need HTTP/1.1, or HTTP/2 by prior knowledge: set h2c to true for the latter`,
      )
    }
    const client = new Client(origin.href, this.#options)
    this.#clients.set(origin.href, client)
    this.#forward(client, origin)
    return client
  }

  /** Its events are the agent's, whose listeners find the agent first among the targets. */
  #forward(client: Client, origin: Origin): void {
    client.on('connect', (url, targets) => this.emit('connect', url, [this, ...targets]))
    client.on('drain', (url) => this.emit('drain', url))
    client.on('disconnect', (url, targets, error) => {
      this.#drop(client, origin)
      this.emit('disconnect', url, [this, ...targets], error)
    })
    client.on('connectionError', (url, targets: readonly DispatcherType[], error) => {
      this.#drop(client, origin)
      this.emit('connectionError', url, [this, ...targets], error)
    })
  }

  /** A client without a connection and without requests is as good as a new one: origins don't pile up. */
  #drop(client: Client, origin: Origin): void {
    const { connected, size } = client.stats
    if (connected || size > 0 || this.closed) return
    this.#clients.delete(origin.href)
    this.#leaving.add(client)
    void client.close().then(() => this.#leaving.delete(client))
  }
}

export declare namespace Agent {
  /** undici's name for {@link AgentOptions}. */
  export type Options = AgentOptions
}
