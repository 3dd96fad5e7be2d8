/**
 * What Client and Pool share: one origin, a queue, sessions.
 *
 * @module
 */

import type { ClientOptions } from '../../types/client.ts'
import type { HttpProtocol } from '../../types/connection.ts'
import type { DispatchHandler } from '../../types/handler.ts'
import type { DispatchOptions } from '../../types/request.ts'
import type { PoolStats } from '../../types/stats.ts'
import { systemClock } from '../core/clock.ts'
import { ClientClosedError, ClientDestroyedError, toCodedError } from '../errors/errors.ts'
import type { Connections } from '../options/options.ts'
import { isHttp1Origin, toClientOptions, toOrigin } from '../options/options.ts'
import { CallScheduler } from '../scheduler/call-scheduler.ts'
import type { ConnectionEvents } from '../scheduler/connection-events.ts'
import type { RepeatPermit } from '../scheduler/repeat-permit.ts'
import type { OriginProtocol } from '../session/origin-memory.ts'
import { OriginMemory } from '../session/origin-memory.ts'
import type { SessionFactory } from '../session/session.ts'
import { LivingDispatcher } from './life-cycle.ts'
import { warnOfAgentOptions, warnOfUnusedOptions } from './unused-options.ts'

/** A dispatcher for one origin. */
export abstract class OriginDispatcher extends LivingDispatcher {
  readonly #scheduler: CallScheduler
  readonly #announcer: Announcer
  readonly #origin: string
  readonly #maxResponseSize: number

  /**
   * @param protocol what is known about the origin's protocol
   * @param toSession creates its sessions. Undefined: they aren't shared.
   * @throws InvalidArgumentError that names the option, its value, and what would be accepted
   */
  protected constructor(
    origin: unknown,
    options: ClientOptions | undefined,
    connections: Connections,
    protocol: OriginProtocol = 'unknown',
    toSession?: SessionFactory,
  ) {
    const where = toOrigin(origin)
    const resolved = toClientOptions(options)
    super(systemClock, resolved)
    warnOfUnusedOptions(options, resolved.fallback)
    warnOfAgentOptions(options)
    this.#origin = where.href
    this.#maxResponseSize = resolved.limits.maxResponseSize
    const memory = new OriginMemory(systemClock, isHttp1Origin(where, options) ? 'http/1.1' : protocol)
    this.#announcer = new Announcer(this, where.url)
    this.#scheduler = new CallScheduler(
      where,
      resolved,
      connections,
      systemClock,
      memory,
      this.#announcer,
      toSession,
    )
  }

  override get origin(): string {
    return this.#origin
  }

  override get maxResponseSize(): number {
    return this.#maxResponseSize
  }

  /**
   * Connects before the first request, so that no request has to wait for TCP, TLS and the server's SETTINGS. It
   * sends no request, and has nothing to do with the CONNECT method. If there is a connection already, it uses that
   * one.
   *
   * The connection is an ordinary one: it closes after it has been idle for `keepAliveTimeout`. `connectTimeout`
   * limits the wait. While the promise is pending, the process stays alive.
   *
   * @example
   * ```ts
   * const client = new Client('https://localhost:12443')
   * console.log(await client.connectAhead()) // h2
   * await client.close()
   * ```
   *
   * @returns the protocol that the server speaks. `'http/1.1'`: requests will go to the `fallback`, which connects
   *   for the first one
   * @throws the error that a request without a connection would fail with; ClientClosedError or ClientDestroyedError
   *   if the dispatcher is closed or destroyed
   */
  async connectAhead(): Promise<HttpProtocol> {
    if (this.destroyed) throw new ClientDestroyedError()
    if (this.closed) throw new ClientClosedError()
    return this.#scheduler.connectAhead()
  }

  /** Whether it has no requests at all, and no `connectAhead()` is pending. */
  get isIdle(): boolean {
    return this.#scheduler.isIdle
  }

  /** Makes a dispatcher respect the retry budget of the one that wraps it. @internal */
  static limitRepeats(it: OriginDispatcher, permit: RepeatPermit): void {
    it.#scheduler.limitRepeats(permit)
  }

  /** Whether it has a connection whose peer has spoken HTTP/2: one that is only open may lead nowhere. @internal */
  static isConnected(it: OriginDispatcher): boolean {
    return it.#scheduler.isConnected
  }

  /**
   * Reports each GOAWAY from a peer to a dispatcher that wraps this one. @param onGoaway called for each of them
   * @internal
   */
  static watchGoaways(it: OriginDispatcher, onGoaway: () => void): void {
    it.#announcer.goawayListener = onGoaway
  }

  protected override toShown(): object {
    const { pending, running } = this.#scheduler
    const sessions = this.#scheduler.toSessionStats().map(({ state, streams }) => ({ state, streams }))
    return { ...super.toShown(), pending, running, sessions }
  }

  /** The source for the stats. */
  protected get scheduler(): Pick<
    CallScheduler,
    'pending' | 'running' | 'connected' | 'toSessionStats' | 'toHttp1Stats' | 'toSessionEnds'
  > {
    return this.#scheduler
  }

  /** How busy a dispatcher is that may have several connections. */
  protected toPoolStats(): PoolStats {
    const scheduler = this.#scheduler
    const { connected, pending, running } = scheduler
    const sessions = scheduler.toSessionStats()
    const unused = sessions.filter(
      ({ state, streams }) => streams === 0 && (state === 'ready' || state === 'verifying'),
    ).length
    const http1 = scheduler.toHttp1Stats()
    return {
      connected,
      free: unused + Math.max(http1.connections - http1.running, 0),
      pending,
      queued: pending,
      running,
      size: pending + running,
      sessions,
      ended: scheduler.toSessionEnds(),
      http1,
    }
  }

  protected override dispatchChecked(options: DispatchOptions, handler: DispatchHandler): boolean {
    return this.#scheduler.add(options, handler)
  }

  protected override finish(): Promise<void> {
    return this.#scheduler.whenIdle()
  }

  protected override tearDown(error: Error | null, isGraceful: boolean): Promise<void> {
    return this.#scheduler.destroy(error, isGraceful)
  }
}

/** Emits the dispatcher's events, with undici's names and arguments. */
class Announcer implements ConnectionEvents {
  readonly #dispatcher: OriginDispatcher
  readonly #origin: URL
  /** Null: no listener. */
  goawayListener: (() => void) | null = null

  constructor(dispatcher: OriginDispatcher, origin: URL) {
    this.#dispatcher = dispatcher
    this.#origin = origin
  }

  onConnect(): void {
    this.#dispatcher.emit('connect', this.#origin, [this.#dispatcher])
  }

  onDisconnect(error: Error): void {
    this.#dispatcher.emit('disconnect', this.#origin, [this.#dispatcher], toCodedError(error))
  }

  onGoaway(): void {
    this.goawayListener?.()
  }

  onConnectionError(error: Error): void {
    this.#dispatcher.emit('connectionError', this.#origin, [this.#dispatcher], toCodedError(error))
  }

  onDrain(): void {
    this.#dispatcher.emit('drain', this.#origin, [this.#dispatcher])
  }
}
