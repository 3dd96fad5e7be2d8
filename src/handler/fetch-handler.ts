/**
 * Adapts calls to the handlers of undici's own fetch, which is also built into Node.
 *
 * @module
 */

import type { DispatchController, DispatchHandler } from '../../types/handler.ts'
import type { IncomingHttpHeaders } from '../../types/headers.ts'
import type { DispatchOptions } from '../../types/request.ts'
import type { Alarm } from '../core/clock.ts'
import { systemClock } from '../core/clock.ts'
import { originalSetImmediate } from '../core/original-timers.ts'
import { ForwardingHandler } from './forwarding-handler.ts'

/**
 * Whether it is the handler of undici's fetch: a plain object with the own properties `body` and `abort`; or the
 * handler of undici's RetryAgent, which may contain one.
 */
export function isFetchHandler(handler: object): boolean {
  if ('retryOpts' in handler) return true
  const prototype: unknown = Object.getPrototypeOf(handler)
  // Object.prototype of another realm counts, too: in jest, undici's fetch is of another realm than this code.
  const isPlain =
    prototype === Object.prototype || (prototype !== null && Object.getPrototypeOf(prototype) === null)
  return isPlain && Object.hasOwn(handler, 'body') && Object.hasOwn(handler, 'abort')
}

/** How many milliseconds a failure waits at most for an answer from the source. */
const PATIENCE = 100

/**
 * Reports a failure to fetch when fetch can handle it:
 *
 * - A macrotask after the response's header section. Fetch listens for a failure only after the continuations of the
 *   promise that the header section settles. If it were told earlier, it would wait forever for the rest of a
 *   response that fails in the same read.
 * - Once the source of the body has answered, or {@link PATIENCE} milliseconds later. See {@link FetchUpload}.
 */
export class FetchHandler extends ForwardingHandler {
  #hasResponse = false
  /** Null for a body that isn't read from a generator. */
  #upload: FetchUpload | null = null

  /** The options to dispatch instead of fetch's own. */
  watchUpload(options: DispatchOptions): DispatchOptions {
    if (!isAsyncGenerator(options.body)) return options
    this.#upload = new FetchUpload(options.body)
    return { ...options, body: this.#upload }
  }

  override onResponseStart(
    controller: DispatchController,
    statusCode: number,
    headers: IncomingHttpHeaders,
    statusMessage?: string,
  ): void {
    this.#hasResponse ||= statusCode >= 200
    super.onResponseStart(controller, statusCode, headers, statusMessage)
  }

  override onResponseError(controller: DispatchController, error: Error): void {
    // Fetch's own abort is reported at once: after a 421, fetch may send its request again right afterwards.
    if (controller.aborted) super.onResponseError(controller, error)
    else if (this.#upload?.isAsked === true) this.#upload.onAnswer(() => this.#tell(controller, error))
    else this.#tell(controller, error)
  }

  #tell(controller: DispatchController, error: Error): void {
    if (this.#hasResponse) originalSetImmediate(tellError, this.handler, controller, error)
    else super.onResponseError(controller, error)
  }
}

function tellError(handler: DispatchHandler, controller: DispatchController, error: Error): void {
  handler.onResponseError?.(controller, error)
}

/**
 * Whether it is the body of undici's fetch, which is a generator unless it is null, whatever the caller passed. An
 * object from another realm counts, too.
 */
function isAsyncGenerator(body: unknown): body is AsyncGenerator<Uint8Array> {
  return Object.prototype.toString.call(body) === '[object AsyncGenerator]'
}

/**
 * The generator that reads a body for undici's fetch.
 *
 * If fetch is told of a failure while that generator waits for a piece, the generator never yields again and can't be
 * ended: in undici 6, 7 and 8 it reads the source to its end, and discards what it reads. A source without an end
 * then takes all the process's time, if it never has to wait. So the failure waits for the piece, after which the
 * generator is ended.
 */
class FetchUpload implements AsyncIterableIterator<Uint8Array> {
  readonly #generator: AsyncGenerator<Uint8Array>
  #isAsked = false
  /** Called once the generator has answered; null while nothing waits for that. */
  #onAnswer: (() => void) | null = null
  readonly #receive = (): void => {
    this.#isAsked = false
    this.#onAnswer?.()
  }

  constructor(generator: AsyncGenerator<Uint8Array>) {
    this.#generator = generator
  }

  /** Whether the generator is reading a piece. */
  get isAsked(): boolean {
    return this.#isAsked
  }

  /** Calls back once, when the generator has answered or too much time has passed. */
  onAnswer(callback: () => void): void {
    const end = (): void => {
      this.#onAnswer = null
      alarm.cancel()
      callback()
    }
    const alarm: Alarm = systemClock.after(PATIENCE, end)
    // The failure may have taken all else that kept the process alive.
    alarm.setRef(true)
    this.#onAnswer = end
  }

  next(): Promise<IteratorResult<Uint8Array>> {
    const answer = this.#generator.next()
    this.#isAsked = true
    answer.then(this.#receive, this.#receive)
    return answer
  }

  return(): Promise<IteratorResult<Uint8Array>> {
    return this.#generator.return(undefined)
  }

  [Symbol.asyncIterator](): this {
    return this
  }
}
