/**
 * Lets an AbortSignal, or an EventEmitter that emits `abort`, end something.
 *
 * @module
 */

import { getMaxListeners, setMaxListeners } from 'node:events'
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

/** Has listeners like an EventEmitter: Node's own, or another package's. */
interface Emitting {
  once(event: 'abort', listener: () => void): unknown
  removeListener(event: 'abort', listener: () => void): unknown
}

/** Has listeners like an AbortSignal: Node's own, a polyfill's, or any EventTarget. */
type Targeted = Pick<AbortSignal, 'addEventListener' | 'removeEventListener'>

/** A caller's signal. Some don't tell whether they have fired, or why. */
type Signal = (Targeted | Emitting) & Partial<Pick<AbortSignal, 'aborted' | 'reason'>>

/** Checks the `signal` option by its methods, as undici does. @throws InvalidArgumentError */
export function checkSignal(signal: unknown): asserts signal is Signal | null | undefined {
  if (signal === null || signal === undefined) return
  if (typeof signal === 'object' && (isTargeted(signal) || isEmitting(signal))) return
  throw invalid('signal', signal, 'an AbortSignal, an EventEmitter, or null')
}

function isTargeted(signal: object): signal is Targeted {
  return 'addEventListener' in signal && typeof signal.addEventListener === 'function'
}

function isEmitting(signal: object): signal is Emitting {
  return 'once' in signal && typeof signal.once === 'function' && 'removeListener' in signal
}

/** One listener on one signal, until `remove()`. */
export class SignalLink {
  readonly #signal: Signal
  readonly #target: Abortable
  /** The code that fires the signal may be another caller's. */
  readonly #context = new CallerContext()
  readonly #onAbort: () => void

  private constructor(signal: Signal, target: Abortable) {
    this.#signal = signal
    this.#target = target
    this.#onAbort = toListener(this)
    if (isTargeted(signal)) {
      allowListeners(signal)
      signal.addEventListener('abort', this.#onAbort, { once: true })
    } else {
      signal.once('abort', this.#onAbort)
    }
  }

  /** Null if there is no signal to listen to. If a signal has already fired, it reports that at once. */
  static from(signal: Signal | null | undefined, target: Abortable): SignalLink | null {
    if (signal === null || signal === undefined) return null
    if (signal.aborted === true) {
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
    const signal = this.#signal
    if (isTargeted(signal)) signal.removeEventListener('abort', this.#onAbort)
    else signal.removeListener('abort', this.#onAbort)
  }
}

/** The signal's own reason; a reason that isn't an Error becomes the cause of one. */
function toReason({ reason }: Signal): Error {
  if (reason === undefined || reason === null) return new RequestAbortedError()
  return isError(reason) ? reason : new RequestAbortedError('Request aborted', { cause: reason })
}

/** Lets many calls share one signal: Node 20 considers more than ten listeners a leak, and warns. */
export function allowListeners(signal: Targeted): void {
  if (!(signal instanceof AbortSignal)) return
  let limit = 0
  try {
    limit = getMaxListeners(signal)
  } catch {
    // Node 20 throws for an object that has no limit of listeners.
  }
  if (limit !== 0 && limit < MAX_LISTENERS) setMaxListeners(MAX_LISTENERS, signal)
}
