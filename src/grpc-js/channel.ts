/**
 * A gRPC channel.
 *
 * @module
 */

import type { ChannelOptions } from '@grpc/grpc-js'
import type { CallOwner, ParentCall } from './call.ts'
import { GrpcCall } from './call.ts'
import { CallSettings } from './call-settings.ts'
import { Connectivity, State } from './connectivity.ts'
import { toTime } from './deadline.ts'
import type { Grpc } from './grpc.ts'
import type { MethodTimeouts } from './service-config.ts'
import { toTimeout } from './service-config.ts'
import type { PoolUser, SharedPool } from './shared-pool.ts'
import type { Target } from './target.ts'

/** The bits in `grpc.propagate`. */
const DEADLINE = 1
const CANCELLATION = 8
const DEFAULTS = 0xffff

/** A server's call, as passed in a call's `options.parent`. */
interface Parent extends ParentCall {
  getDeadline(): Date | number
}

/** What the channel consists of. */
export interface ChannelParts {
  readonly grpc: Grpc
  readonly target: Target
  readonly options: ChannelOptions
  readonly timeouts: MethodTimeouts
  readonly shared: SharedPool
  /** The channel was closed, so it doesn't need its connections any more. */
  readonly onClosed: (channel: GrpcChannel) => void
}

/** The numbers of the last channel and the last call, which `getChannelzRef()` and `getCallNumber()` report. */
const numbers = { channel: 0, call: 0 }

/** grpc-js' `Channel`. Its calls run on connections that it shares with equal channels. */
export class GrpcChannel implements CallOwner, PoolUser {
  readonly settings: CallSettings
  readonly #parts: ChannelParts
  readonly #connectivity: Connectivity
  readonly #number = ++numbers.channel
  readonly #calls = new Set<GrpcCall>()
  /** Calls that wait for a connection. */
  readonly #waiting = new Set<GrpcCall>()

  constructor(parts: ChannelParts) {
    const { grpc, target, options, shared } = parts
    this.#parts = parts
    this.settings = new CallSettings(
      grpc,
      shared.connections,
      shared.callCredentials,
      target.authority,
      options,
    )
    this.#connectivity = new Connectivity(
      options,
      () => shared.connections.connectAhead(),
      () => this.#waiting.size > 0,
      () => this.#onReady(),
      () => this.#onUnreachable(),
    )
    shared.acquire(this)
  }

  get target(): string {
    return this.#parts.target.text
  }

  get isReady(): boolean {
    return this.#connectivity.state === State.READY
  }

  get isUnreachable(): boolean {
    return this.#connectivity.state === State.TRANSIENT_FAILURE
  }

  close(): void {
    if (this.#connectivity.state === State.SHUTDOWN) return
    this.#connectivity.shutDown()
    for (const call of [...this.#calls]) call.onChannelClosed()
    this.#parts.onClosed(this)
  }

  getTarget(): string {
    return this.target
  }

  getConnectivityState(tryToConnect: boolean): number {
    const { state } = this.#connectivity
    if (tryToConnect) this.#connectivity.connect()
    return state
  }

  watchConnectivityState(
    currentState: number,
    deadline: Date | number,
    callback: (error?: Error) => void,
  ): void {
    this.#connectivity.watch(currentState, deadline, callback)
  }

  /** Nothing is registered with channelz. */
  getChannelzRef(): { kind: 'channel'; id: number; name: string } {
    return { kind: 'channel', id: this.#number, name: this.target }
  }

  createCall(
    method: string,
    deadline: Date | number,
    host: string | null | undefined,
    parentCall: Parent | null,
    propagateFlags: number | null | undefined,
  ): GrpcCall {
    if (typeof method !== 'string') throw new TypeError('Channel#createCall: method must be a string')
    if (!(typeof deadline === 'number' || deadline instanceof Date))
      throw new TypeError('Channel#createCall: deadline must be a number or Date')
    if (this.#connectivity.state === State.SHUTDOWN) throw new Error('Channel has been shut down')
    const flags = propagateFlags ?? DEFAULTS
    const timeout = toTimeout(this.#parts.timeouts, method)
    const time = Math.min(
      toTime(deadline),
      timeout === null ? Number.POSITIVE_INFINITY : Date.now() + timeout,
      parentCall && flags & DEADLINE ? toTime(parentCall.getDeadline()) : Number.POSITIVE_INFINITY,
    )
    const parent = parentCall && flags & CANCELLATION ? parentCall : null
    return new GrpcCall(this, method, host ?? this.settings.authority, time, parent, ++numbers.call)
  }

  admit(call: GrpcCall): boolean {
    if (this.#connectivity.state === State.SHUTDOWN) return false
    this.#calls.add(call)
    return true
  }

  onSending(): void {
    if (!this.isReady) this.#connectivity.connect()
  }

  awaitReady(call: GrpcCall): void {
    this.#waiting.add(call)
    this.#connectivity.connect()
    this.#connectivity.updateRef()
  }

  onDisconnected(): void {
    this.#connectivity.onDisconnected()
  }

  onEnded(call: GrpcCall): void {
    this.#calls.delete(call)
    if (this.#waiting.delete(call)) this.#connectivity.updateRef()
  }

  /** Calls without `waitForReady` end with the failure that they meet. */
  #onUnreachable(): void {
    for (const call of [...this.#waiting]) {
      if (call.isWaitingForReady) continue
      this.#waiting.delete(call)
      call.onUnreachable()
    }
  }

  #onReady(): void {
    const waiting = [...this.#waiting]
    this.#waiting.clear()
    for (const call of waiting) call.onReady()
  }
}
