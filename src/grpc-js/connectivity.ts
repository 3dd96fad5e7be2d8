/**
 * A channel's connectivity state, and the callers that watch it.
 *
 * @see https://grpc.github.io/grpc/core/md_doc_connectivity-semantics-and-api.html
 * @module
 */

import type { ChannelOptions } from '@grpc/grpc-js'
import { toDelay, toTime } from './deadline.ts'

/** The values in `grpc.connectivityState`. */
export const State = Object.freeze({
  IDLE: 0,
  CONNECTING: 1,
  READY: 2,
  TRANSIENT_FAILURE: 3,
  SHUTDOWN: 4,
})

type StateValue = (typeof State)[keyof typeof State]

interface Watcher {
  readonly state: number
  readonly callback: (error?: Error) => void
  /** Null without a deadline. */
  timer: NodeJS.Timeout | null
}

const LATE = 'Deadline passed without connectivity state change'
const INITIAL_BACKOFF = 1_000
const MAX_BACKOFF = 120_000
/** By which factor a back-off grows. */
export const GROWTH = 1.6
/** The fraction of a delay by which it varies, in both directions, so that clients don't dial at the same time. */
const JITTER = 0.2

/** The delays between connection attempts, in milliseconds. */
export interface Backoff {
  readonly initialBackoff: number
  readonly maxBackoff: number
}

export function toBackoff(options: ChannelOptions): Backoff {
  const initialBackoff = options['grpc.initial_reconnect_backoff_ms'] ?? INITIAL_BACKOFF
  const maxBackoff = Math.max(options['grpc.max_reconnect_backoff_ms'] ?? MAX_BACKOFF, initialBackoff)
  return { initialBackoff, maxBackoff }
}

/** Connects when it is asked to, and again while there are watchers or waiting calls. */
export class Connectivity {
  readonly #connect: () => Promise<unknown>
  readonly #isWanted: () => boolean
  readonly #onReady: () => void
  readonly #onUnreachable: () => void
  readonly #initialBackoff: number
  readonly #maxBackoff: number
  #state: StateValue = State.IDLE
  #watchers: Watcher[] = []
  #backoff: number
  /** Null while no back-off is running. */
  #timer: NodeJS.Timeout | null = null

  /**
   * @param connect settles once there is a connection
   * @param isWanted whether calls wait for one
   * @param onReady called when there is a connection
   * @param onUnreachable called when an attempt to connect has failed
   */
  constructor(
    options: ChannelOptions,
    connect: () => Promise<unknown>,
    isWanted: () => boolean,
    onReady: () => void,
    onUnreachable: () => void,
  ) {
    this.#connect = connect
    this.#isWanted = isWanted
    this.#onReady = onReady
    this.#onUnreachable = onUnreachable
    const { initialBackoff, maxBackoff } = toBackoff(options)
    this.#initialBackoff = initialBackoff
    this.#maxBackoff = maxBackoff
    this.#backoff = this.#initialBackoff
  }

  get state(): StateValue {
    return this.#state
  }

  /** Connects, unless it is connecting or connected, or a back-off is running. */
  connect(): void {
    if (this.#state !== State.IDLE && (this.#state !== State.TRANSIENT_FAILURE || this.#timer !== null))
      return
    this.#move(State.CONNECTING)
    this.#connect().then(
      () => this.#onConnected(),
      () => this.#onFailed(),
    )
  }

  /** A back-off keeps the process alive while calls wait. */
  updateRef(): void {
    if (this.#isWanted()) this.#timer?.ref()
    else this.#timer?.unref()
  }

  /** The last connection is gone. */
  onDisconnected(): void {
    if (this.#state === State.READY) this.#move(State.IDLE)
    if (this.#isWanted()) this.connect()
  }

  shutDown(): void {
    this.#stopBackoff()
    this.#move(State.SHUTDOWN)
  }

  /** @throws Error after it was shut down */
  watch(state: number, deadline: Date | number, callback: (error?: Error) => void): void {
    if (this.#state === State.SHUTDOWN) throw new Error('Channel has been shut down')
    const watcher: Watcher = { state, callback, timer: null }
    const time = toTime(deadline)
    if (time !== Number.POSITIVE_INFINITY) {
      if (!(time > Date.now())) {
        process.nextTick(callback, new Error(LATE))
        return
      }
      const delay = toDelay(time)
      if (delay !== Number.POSITIVE_INFINITY)
        watcher.timer = setTimeout(() => {
          this.#watchers = this.#watchers.filter((other) => other !== watcher)
          callback(new Error(LATE))
        }, delay)
    }
    this.#watchers.push(watcher)
  }

  #onConnected(): void {
    if (this.#state !== State.CONNECTING) return
    this.#backoff = this.#initialBackoff
    this.#move(State.READY)
    this.#onReady()
  }

  #onFailed(): void {
    if (this.#state !== State.CONNECTING) return
    const delay = this.#backoff * (1 + JITTER * (2 * Math.random() - 1))
    this.#backoff = Math.min(this.#backoff * GROWTH, this.#maxBackoff)
    this.#timer = setTimeout(() => this.#onBackoffOver(), delay)
    this.#move(State.TRANSIENT_FAILURE)
    this.#onUnreachable()
    this.updateRef()
  }

  #onBackoffOver(): void {
    this.#timer = null
    if (this.#watchers.length > 0 || this.#isWanted()) this.connect()
    else this.#move(State.IDLE)
  }

  #stopBackoff(): void {
    if (this.#timer !== null) clearTimeout(this.#timer)
    this.#timer = null
  }

  #move(state: StateValue): void {
    this.#state = state
    const called = this.#watchers.filter((watcher) => watcher.state !== state)
    this.#watchers = this.#watchers.filter((watcher) => watcher.state === state)
    for (const { timer, callback } of called) {
      if (timer !== null) clearTimeout(timer)
      callback()
    }
  }
}
