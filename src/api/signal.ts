/**
 * Lets an AbortSignal, or an EventEmitter that emits `abort`, end something.
 *
 * @module
 */

import { EventEmitter, getMaxListeners, setMaxListeners } from 'node:events'
import { CallerContext } from '../core/caller-context.ts'
import { toListener } from '../core/listener.ts'
import { invalid } from '../core/validate.ts'
import { isError, RequestAbortedError } from '../errors/errors.ts'

/** The same limit as in undici's fetch: many calls may share one signal, which isn't a leak. */
const MAX_LISTENERS = 1_500

/** An object that a signal can end. */
export interface Abortable {
  onSignal(reason: Error): void
}

/** Checks the `signal` option. @throws InvalidArgumentError */
export function checkSignal(
  signal: unknown,
): asserts signal is AbortSignal | EventEmitter | null | undefined {
  if (signal === null || signal === undefined || signal instanceof EventEmitter) return
  if (typeof signal === 'object' && 'aborted' in signal && 'addEventListener' in signal) return
  throw invalid('signal', signal, 'an AbortSignal, an EventEmitter, or null')
}

/** One listener on one signal, until `remove()`. */
export class SignalLink {
  readonly #signal: AbortSignal | EventEmitter
  readonly #target: Abortable
  /** The code that fires the signal may be another caller's. */
  readonly #context = new CallerContext()
  readonly #onAbort: () => void

  private constructor(signal: AbortSignal | EventEmitter, target: Abortable) {
    this.#signal = signal
    this.#target = target
    this.#onAbort = toListener(this)
    if (signal instanceof EventEmitter) {
      signal.once('abort', this.#onAbort)
    } else {
      allowListeners(signal)
      signal.addEventListener('abort', this.#onAbort, { once: true })
    }
  }

  /** Null if there is no signal to listen to. If a signal has already fired, it reports that at once. */
  static from(signal: AbortSignal | EventEmitter | null | undefined, target: Abortable): SignalLink | null {
    if (signal === null || signal === undefined) return null
    if ('aborted' in signal && signal.aborted === true) {
      target.onSignal(toReason(signal))
      return null
    }
    return new SignalLink(signal, target)
  }

  /** The signal has fired. */
  handleEvent(): void {
    this.#context.runInAsyncScope(this.#target.onSignal, this.#target, toReason(this.#signal))
  }

  /** The signal no longer matters. Idempotent. */
  remove(): void {
    if (this.#signal instanceof EventEmitter) this.#signal.off('abort', this.#onAbort)
    else this.#signal.removeEventListener('abort', this.#onAbort)
  }
}

/** The signal's own reason; a reason that isn't an Error becomes the cause of one. */
function toReason(signal: AbortSignal | EventEmitter): Error {
  const reason: unknown = 'reason' in signal ? signal.reason : undefined
  if (reason === undefined || reason === null) return new RequestAbortedError()
  return isError(reason) ? reason : new RequestAbortedError('Request aborted', { cause: reason })
}

/** Lets many calls share one signal: Node 20 considers more than ten listeners a leak, and warns. */
export function allowListeners(signal: AbortSignal): void {
  if (!(signal instanceof AbortSignal)) return
  let limit = 0
  try {
    limit = getMaxListeners(signal)
  } catch {
    // Node 20 throws for an object that has no limit of listeners.
  }
  if (limit !== 0 && limit < MAX_LISTENERS) setMaxListeners(MAX_LISTENERS, signal)
}
