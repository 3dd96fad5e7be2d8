/**
 * The controller for a call that several upstreams may get.
 *
 * @module
 */

import type { ConnectionInfo, TransportInfo } from '../../../types/connection.ts'
import type { DispatchController, RawHeadersInput } from '../../../types/handler.ts'
import type { RawHeaders } from '../../../types/headers.ts'
import type { RequestPriority } from '../../../types/request.ts'
import { RequestAbortedError } from '../../errors/errors.ts'

/** A call, as its controller sees it. */
export interface ControlledUpstreamCall {
  /** Whether the handler has been told the end of the call. */
  readonly isSettled: boolean
  /** How many streams it had at upstreams before the current one. */
  readonly formerAttempts: number
  /** The priority for further attempts. */
  onReprioritize(priority: RequestPriority): void
  /** The caller aborts the call while no upstream has it. */
  onAbort(reason: Error): void
}

/**
 * The same object for all attempts: it passes what the caller wants to the current attempt's controller. The caller's
 * handler gets it, so it has DispatchController's members and no others; what the call does with it is static.
 */
export class UpstreamController implements DispatchController {
  readonly #call: ControlledUpstreamCall
  /** Null until the current attempt's dispatcher has begun it. */
  #controller: DispatchController | null = null
  #paused = false
  /** Why the caller aborted the call; null if the caller hasn't. */
  #reason: Error | null = null

  constructor(call: ControlledUpstreamCall) {
    this.#call = call
  }

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

  get connection(): ConnectionInfo | null {
    const info = this.#controller?.connection ?? null
    return info && { ...info, attempts: info.attempts + this.#call.formerAttempts }
  }

  get transport(): TransportInfo | null {
    return this.#controller?.transport ?? null
  }

  get isHeaderOnly(): boolean {
    return this.#controller?.isHeaderOnly ?? false
  }

  get hasLastingRawHeaders(): boolean {
    return this.#controller?.hasLastingRawHeaders ?? false
  }

  get maxResponseSize(): number {
    return this.#controller?.maxResponseSize ?? -1
  }

  abort(reason?: Error): void {
    if (this.#call.isSettled) {
      this.#controller?.abort(reason) // It may have become a tunnel.
      return
    }
    this.#reason ??= reason ?? new RequestAbortedError()
    if (this.#controller === null) this.#call.onAbort(this.#reason)
    else this.#controller.abort(this.#reason)
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
    this.#call.onReprioritize(priority)
  }

  /**
   * An attempt has begun.
   *
   * @returns false if the caller aborted the call before that: the attempt is aborted, too
   */
  static follow(it: UpstreamController, controller: DispatchController): boolean {
    it.#controller = controller
    if (it.#reason !== null) controller.abort(it.#reason)
    else if (it.#paused) controller.pause()
    return it.#reason === null
  }

  /** The current attempt is over. */
  static unfollow(it: UpstreamController): void {
    it.#controller = null
  }
}
