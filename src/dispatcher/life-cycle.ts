/**
 * Open, closing, destroyed: the life cycle of every dispatcher of Dodici.
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
 * - `open`: takes requests
 * - `closing`: takes none, finishes those that it has
 * - `destroyed`: has none, and its connections are going or gone
 */
type LifeCycleState = 'open' | 'closing' | 'destroyed'

/** A dispatcher with a life cycle of its own. A composed one has that of its inner dispatcher. */
export abstract class LivingDispatcher extends Dispatcher {
  #state: LifeCycleState = 'open'
  /** Null until `close()` is called. */
  #closing: Promise<void> | null = null
  /** Null until `destroy()` is called, or `close()` has come to its end. */
  #destroying: Promise<void> | null = null
  /** The running end may still wait for tunnels, and for peers that don't close their side. */
  #isGraceful = false
  readonly #clock: Clock
  readonly #captureStack: boolean
  readonly #receiveLimits: ReceiveLimits

  /**
   * @param clock for the timeout of `close()`
   * @param options whether errors have the stack of their caller, where the request doesn't say; and what WebSockets
   *   and EventSources may receive
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
   * Takes a request. The handler was checked and has Dodici's shape. The handler is told of every error that is thrown.
   */
  protected abstract dispatchChecked(options: DispatchOptions, handler: DispatchHandler): boolean

  /**
   * For a dispatcher in front of another one: hands over a request whose options and handler it has checked itself.
   *
   * @throws ClientClosedError, ClientDestroyedError, and the error of a bad request: the handler wasn't told of it
   *   yet
   */
  protected static dispatchBy(
    inner: LivingDispatcher,
    options: DispatchOptions,
    handler: DispatchHandler,
  ): boolean {
    inner.#requireOpen()
    return inner.dispatchChecked(options, handler)
  }

  /** Settles when no request is left. Called once. */
  protected abstract finish(): Promise<void>

  /**
   * Fails all requests, with `error` or one ClientDestroyedError each, and settles when all connections are gone.
   * Called once. Called a second time, with `isGraceful` false, when `destroy()` or a time limit cuts a graceful end
   * short.
   *
   * @param isGraceful `finish()` has settled: no request is left
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

  /** The handler, or one in front of it that adds the stack of the caller to an error. */
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
        await this.finish()
      }
    } finally {
      await this.#destroy(null, true)
    }
  }

  /** Destroys the dispatcher when it isn't closed after `timeout` milliseconds. */
  #limit(closing: Promise<void>, timeout: number): void {
    const alarm = this.#clock.after(timeout, () => this.#destroy(null))
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
    }
    return this.#destroying
  }
}

/** Milliseconds; 0 for no limit. */
function toTimeout(options: unknown): number {
  if (options === undefined) return 0
  if (typeof options !== 'object' || options === null) {
    throw invalid('options', options, 'an object such as { timeout: 5_000 }, or a callback')
  }
  return toDelay('timeout', Reflect.get(options, 'timeout'), 0)
}

/**
 * Both forms of undici: the promise itself, or a callback that is called once the promise has settled, with the error
 * if it was rejected.
 */
function settle(promise: Promise<void>, callback: Outcome | undefined): Promise<void> | undefined {
  if (callback === undefined) return promise
  promise.then(
    () => originalNextTick(callback, null, null),
    (reason) => originalNextTick(callback, reason, null),
  )
  return undefined
}

/** A callback as undici calls it: with an error or null, and a result that is always null. */
type Outcome = (error: unknown, result: null) => void
