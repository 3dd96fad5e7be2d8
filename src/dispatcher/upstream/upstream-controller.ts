/**
 * The controller of a call that several upstreams may get.
 *
 * @module
 */

import type { DispatchController, RawHeadersInput } from '../../../types/handler.ts'
import type { RawHeaders } from '../../../types/headers.ts'
import type { RequestPriority } from '../../../types/request.ts'
import { RequestAbortedError } from '../../errors.ts'

/** The same object for all attempts: it passes on what the caller wants to the controller of the present one. */
export abstract class UpstreamController implements DispatchController {
  /** Null until the dispatcher of the present attempt has begun it. */
  #controller: DispatchController | null = null
  #paused = false
  /** Why the caller aborted the call; null while the caller didn't. */
  #reason: Error | null = null

  /** Whether the handler has heard the end of the call. */
  protected abstract get isSettled(): boolean

  get aborted(): boolean {
    return this.#reason !== null
  }

  get reason(): Error | null {
    return this.#reason
  }

  get paused(): boolean {
    return this.#controller?.paused ?? this.#paused
  }

  get rawHeaders(): RawHeaders | null {
    return this.#controller?.rawHeaders ?? null
  }

  set rawHeaders(value: RawHeadersInput) {
    if (this.#controller !== null) this.#controller.rawHeaders = value
  }

  get rawTrailers(): RawHeaders | null {
    return this.#controller?.rawTrailers ?? null
  }

  set rawTrailers(value: RawHeadersInput) {
    if (this.#controller !== null) this.#controller.rawTrailers = value
  }

  get hasLastingRawHeaders(): boolean {
    return this.#controller?.hasLastingRawHeaders ?? false
  }

  get maxResponseSize(): number {
    return this.#controller?.maxResponseSize ?? -1
  }

  abort(reason?: Error): void {
    if (this.isSettled) {
      this.#controller?.abort(reason) // It may have become a tunnel.
      return
    }
    this.#reason ??= reason ?? new RequestAbortedError()
    this.#controller?.abort(this.#reason)
  }

  pause(): void {
    this.#paused = true
    this.#controller?.pause()
  }

  resume(): void {
    this.#paused = false
    this.#controller?.resume()
  }

  reprioritize(priority: RequestPriority): void {
    this.#controller?.reprioritize?.(priority)
  }

  /** An attempt has begun. @returns false when the caller aborted the call before that: the attempt is aborted, too */
  protected follow(controller: DispatchController): boolean {
    this.#controller = controller
    if (this.#reason !== null) controller.abort(this.#reason)
    else if (this.#paused) controller.pause()
    return this.#reason === null
  }

  /** The present attempt is over. */
  protected unfollow(): void {
    this.#controller = null
  }
}
