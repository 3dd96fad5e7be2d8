/**
 * Open, closing, destroyed: the life cycle of every Dodici dispatcher.
 *
 * @module
 */

import type { EventSourceOptions, WebSocketOptions } from '../../types/client.ts'
import type { CloseOptions } from '../../types/dispatcher.ts'
import type { AnyDispatchHandler, DispatchHandler } from '../../types/handler.ts'
import type { DispatchOptions } from '../../types/request.ts'
import type { Clock } from '../core/clock.ts'
import { noop } from '../core/noop.ts'
import { originalNextTick } from '../core/original-timers.ts'
import { invalid, invalidKind, toBoolean, toDelay } from '../core/validate.ts'
import { ClientClosedError, ClientDestroyedError, toError } from '../errors/errors.ts'
import { CallerStackHandler } from '../handler/caller-stack.ts'
import { checkTunnelHandler, isFit } from '../handler/check-handler.ts'
import { FetchHandler } from '../handler/fetch-handler.ts'
import { toNativeHandler } from '../handler/legacy-handler.ts'
import { RefusedController } from '../handler/refused-controller.ts'
import { REQUEST_OPTIONS } from '../options/known-options.ts'
import type { ResolvedClientOptions } from '../options/options.ts'
import type { ReceiveLimits } from '../options/receive-limits.ts'
import { warnOfUnknownOptions } from '../options/unknown-options.ts'
import { Dispatcher } from './dispatcher.ts'

/**
 * - `open`: accepts requests
 * - `closing`: accepts none, and finishes those that it has
 * - `destroyed`: has no requests, and its connections are closing or closed
 */
type LifeCycleState = 'open' | 'closing' | 'destroyed'

/** A dispatcher with its own life cycle. A composed dispatcher shares the life cycle of the one inside it. */
export abstract class LivingDispatcher extends Dispatcher {
  #state: LifeCycleState = 'open'
  /** Null until `close()` is called. */
  #closing: Promise<void> | null = null
  /** Null until `destroy()` is called, or `close()` has finished. */
  #destroying: Promise<void> | null = null
  /** `tearDown()` is running, and may still wait for tunnels, and for peers that don't close their side. */
  #isGraceful = false
  /** Ends the wait of `close()` for the requests; null unless it waits. */
  #onDestroyed: (() => void) | null = null
  readonly #clock: Clock
  readonly #captureStack: boolean
  readonly #receiveLimits: ReceiveLimits

  /**
   * @param clock for the timeout of `close()`
   * @param options whether errors get their caller's stack if the request doesn't say; the limits for WebSockets and
   *   EventSources
   */
  protected constructor(
    clock: Clock,
    { captureStack, receiveLimits }: Pick<ResolvedClientOptions, 'captureStack' | 'receiveLimits'>,
  ) {
    super()
    this.#clock = clock
    this.#captureStack = captureStack
    this.#receiveLimits = receiveLimits
  }

  /**
   * Sends a request. The handler was checked and has Dodici's shape. If it throws an error, the handler gets that
   * error.
   */
  protected abstract dispatchChecked(options: DispatchOptions, handler: DispatchHandler): boolean

  /**
   * For a dispatcher that wraps another one: passes on a request whose options and handler it has checked itself.
   *
   * @throws ClientClosedError, ClientDestroyedError, or the error of an invalid request. The handler hasn't received
   *   it yet.
   */
  protected static dispatchBy(
    inner: LivingDispatcher,
    options: DispatchOptions,
    handler: DispatchHandler,
  ): boolean {
    inner.#requireOpen()
    return inner.dispatchChecked(options, handler)
  }

  /** Settles when no requests are left. Called once. */
  protected abstract finish(): Promise<void>

  /**
   * Fails all requests, with `error` or with one ClientDestroyedError each, and settles when all connections are
   * gone. Called once, or a second time with `isGraceful` false if `destroy()` or a timeout cuts a graceful end
   * short.
   *
   * @param isGraceful whether `finish()` has settled: no requests are left
   */
  protected abstract tearDown(error: Error | null, isGraceful: boolean): Promise<void>

  override get webSocketOptions(): Required<WebSocketOptions> {
    return this.#receiveLimits.webSocket
  }

  override get eventSourceOptions(): Required<EventSourceOptions> {
    return this.#receiveLimits.eventSource
  }

  override get closed(): boolean {
    // As in undici, destroy() alone doesn't count.
    return this.#closing !== null
  }

  override get destroyed(): boolean {
    return this.#state === 'destroyed'
  }

  override dispatch(options: DispatchOptions, handler: AnyDispatchHandler): boolean {
    if (!isFit(options, handler)) return false
    const native = toNativeHandler(options, handler)
    try {
      this.#requireOpen()
      if (typeof options !== 'object' || options === null) throw invalidKind('options', options, 'an object')
      warnOfUnknownOptions(options, REQUEST_OPTIONS, this.isBehindOthers)
      checkTunnelHandler(options, handler)
      const given = native instanceof FetchHandler ? native.watchUpload(options) : options
      return this.dispatchChecked(given, this.#toTraced(options, native))
    } catch (thrown) {
      const error = toError(thrown)
      native.onResponseError?.(new RefusedController(error), error)
      return false
    }
  }

  override close(options?: CloseOptions): Promise<void>
  override close(callback: () => void): void
  override close(given?: CloseOptions | (() => void)): unknown {
    const isCallback = typeof given === 'function'
    const timeout = isCallback ? 0 : toTimeout(given)
    // As in undici: the requests haven't been waited for.
    if (this.#state === 'destroyed' && this.#closing === null)
      return settle(Promise.reject(new ClientDestroyedError()), isCallback ? given : undefined)
    this.#closing ??= this.#close()
    if (timeout > 0) this.#limit(this.#closing, timeout)
    return settle(this.#closing, isCallback ? given : undefined)
  }

  override destroy(): Promise<void>
  override destroy(error: Error | null): Promise<void>
  override destroy(callback: () => void): void
  override destroy(error: Error | null, callback: () => void): void
  override destroy(error?: Error | null | (() => void), callback?: () => void): unknown {
    const onGone = typeof error === 'function' ? error : callback
    if (onGone !== undefined && typeof onGone !== 'function') throw invalid('callback', onGone, 'a function')
    return settle(this.#destroy(typeof error === 'function' ? null : (error ?? null)), onGone)
  }

  /** The handler, wrapped to append the caller's stack to an error if needed. */
  #toTraced({ captureStack }: DispatchOptions, handler: DispatchHandler): DispatchHandler {
    const { dispatch } = LivingDispatcher.prototype
    const isWanted =
      captureStack === undefined
        ? this.#captureStack
        : toBoolean('captureStack', captureStack, this.#captureStack)
    return isWanted ? new CallerStackHandler(handler, dispatch) : handler
  }

  #requireOpen(): void {
    if (this.#state === 'destroyed') throw new ClientDestroyedError()
    if (this.#state === 'closing') throw new ClientClosedError()
  }

  async #close(): Promise<void> {
    try {
      if (this.#state === 'open') {
        this.#state = 'closing'
        const destroyed = new Promise<void>((resolve) => {
          this.#onDestroyed = resolve
        })
        // A dispatcher of the caller's `factory` may not settle its own close() when it is destroyed.
        await Promise.race([this.finish(), destroyed])
      }
    } finally {
      await this.#destroy(null, true)
    }
  }

  /** Destroys the dispatcher if it hasn't closed after `timeout` milliseconds. */
  #limit(closing: Promise<void>, timeout: number): void {
    // The promise of `close()` reports the outcome.
    const alarm = this.#clock.after(timeout, () => void this.#destroy(null).catch(noop))
    // Responses that their readers hold back don't keep the process alive, and `close()` waits for them.
    alarm.setRef(true)
    const onSettled = (): void => alarm.cancel()
    closing.then(onSettled, onSettled)
  }

  #destroy(error: Error | null, isGraceful = false): Promise<void> {
    if (this.#destroying !== null) {
      if (this.#isGraceful && !isGraceful) {
        this.#isGraceful = false
        // The promise of the first call reports the outcome.
        this.tearDown(error, false).catch(noop)
      }
    } else {
      this.#state = 'destroyed'
      this.#isGraceful = isGraceful
      // The promise is made first: tearing down calls handlers, and a handler may call this method again.
      let start: (tornDown: Promise<void>) => void = noop
      this.#destroying = new Promise((resolve) => {
        start = resolve
      })
      start(this.tearDown(error, isGraceful))
      this.#onDestroyed?.()
    }
    return this.#destroying
  }
}

/** The timeout in milliseconds; 0 for none. */
function toTimeout(options: unknown): number {
  if (options === undefined) return 0
  if (typeof options !== 'object' || options === null) {
    throw invalid('options', options, 'an object such as { timeout: 5_000 }, or a callback')
  }
  return toDelay('timeout', Reflect.get(options, 'timeout'), 0)
}

/**
 * Supports both of undici's forms: returns the promise, or calls a callback once the promise has settled, with its
 * error if it was rejected.
 */
function settle(promise: Promise<void>, callback: Outcome | undefined): Promise<void> | undefined {
  if (callback === undefined) return promise
  promise.then(
    () => originalNextTick(callback, null, null),
    (reason) => originalNextTick(callback, reason, null),
  )
  return undefined
}

/** A callback as undici calls it: with an error or null, and with a result that is always null. */
type Outcome = (error: unknown, result: null) => void
