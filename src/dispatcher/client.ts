/**
 * One origin, one current session, a queue.
 *
 * @module
 */

import type { ClientOptions, ClientStats } from '../../types/client.ts'
import type { DispatchHandler } from '../../types/handler.ts'
import type { DispatchOptions } from '../../types/request.ts'
import { systemClock } from '../core/clock.ts'
import type { Origin } from '../core/options.ts'
import { toClientOptions, toOrigin } from '../core/options.ts'
import { toCodedError } from '../errors.ts'
import type { SchedulerOwner } from './call-scheduler.ts'
import { CallScheduler } from './call-scheduler.ts'
import { LivingDispatcher } from './life-cycle.ts'

/**
 * A dispatcher for one origin over one HTTP/2 connection, opened by the first request.
 *
 * `https:` origins speak HTTP/2 by ALPN, `http:` origins by prior knowledge (h2c). Calls above the peer's limit of
 * concurrent streams wait in a queue. A session that the peer retires (GOAWAY) finishes its streams while the next
 * one takes over.
 *
 * @example
 * ```ts
 * const client = new Client('https://localhost:8443')
 * const { statusCode, body } = await client.request({ path: '/', method: 'GET' })
 * console.log(statusCode, await body.text())
 * await client.close()
 * ```
 */
export class Client extends LivingDispatcher {
  readonly #scheduler: CallScheduler

  /**
   * @param origin an `http:` or `https:` URL without path, query, fragment or credentials
   * @param options see {@link ClientOptions}
   * @throws InvalidArgumentError that names the option, its value, and what would be accepted
   */
  constructor(origin: string | URL, options?: ClientOptions) {
    super()
    const where = toOrigin(origin)
    this.#scheduler = new CallScheduler(
      where,
      toClientOptions(options),
      systemClock,
      new Announcer(this, where),
    )
  }

  /** How busy the client is now: a snapshot. */
  get stats(): ClientStats {
    const { isConnected, pending, running } = this.#scheduler
    return { connected: isConnected, pending, running, size: pending + running }
  }

  protected override take(options: DispatchOptions, handler: DispatchHandler): boolean {
    return this.#scheduler.add(options, handler)
  }

  protected override finish(): Promise<void> {
    return this.#scheduler.finish()
  }

  protected override tearDown(error: Error | null, isGraceful: boolean): Promise<void> {
    return this.#scheduler.tearDown(error, isGraceful)
  }
}

export declare namespace Client {
  /** undici's name for {@link ClientOptions}. */
  export type Options = ClientOptions
}

/** Emits the client's events, as undici names and fills them. */
class Announcer implements SchedulerOwner {
  readonly #client: Client
  readonly #origin: Origin

  constructor(client: Client, origin: Origin) {
    this.#client = client
    this.#origin = origin
  }

  onConnect(): void {
    this.#client.emit('connect', this.#origin.url, [this.#client])
  }

  onDisconnect(error: Error): void {
    this.#client.emit('disconnect', this.#origin.url, [this.#client], toCodedError(error))
  }

  onConnectionError(error: Error): void {
    this.#client.emit('connectionError', this.#origin.url, [this.#client], toCodedError(error))
  }

  onDrain(): void {
    this.#client.emit('drain', this.#origin.url)
  }
}
