/**
 * A target's connections, as channels use them, and the connections of one Pool.
 *
 * @module
 */

import type { DispatchHandler, DispatchOptions, PoolOptions } from '../index.ts'
import { Pool } from '../index.ts'

/** A target's connections. */
export interface Connections {
  /** The `:authority` of a call that sets no other one; null: each call has to set it. */
  readonly authority: string | null
  readonly isConnected: boolean
  /** Whether calls wait for a connection before they choose one. */
  readonly isChosenByCalls: boolean
  /** Why no address is known; null if one is, or if the first answer hasn't arrived. */
  readonly unresolved: Error | null
  dispatch(options: DispatchOptions, handler: DispatchHandler): unknown
  /** Settles once there is a connection. */
  connectAhead(): Promise<unknown>
  /** A connection is gone. */
  onDisconnect(listener: () => void): void
  /** Closes them once their calls are over. */
  close(): Promise<void>
}

/** Connections to the first address that can be reached: gRPC's `pick_first`. */
export class PooledConnections implements Connections {
  readonly isChosenByCalls = false
  readonly unresolved = null
  readonly authority: string
  readonly #pool: Pool

  constructor(origin: string, options: PoolOptions) {
    this.#pool = new Pool(origin, options)
    this.authority = new URL(this.#pool.origin).host
  }

  get isConnected(): boolean {
    return this.#pool.stats.connected > 0
  }

  dispatch(options: DispatchOptions, handler: DispatchHandler): void {
    this.#pool.dispatch(options, handler)
  }

  connectAhead(): Promise<unknown> {
    return this.#pool.connectAhead()
  }

  onDisconnect(listener: () => void): void {
    this.#pool.on('disconnect', listener)
  }

  close(): Promise<void> {
    return this.#pool.close()
  }
}
