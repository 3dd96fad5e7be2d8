/**
 * A call's controller: the part of it that handlers and interceptors see.
 *
 * @module
 */

import type { ConnectionInfo, TransportInfo } from '../../types/connection.ts'
import type { DispatchController } from '../../types/handler.ts'
import type { RequestPriority } from '../../types/request.ts'
import { RawFields } from '../handler/raw-fields.ts'
import type { Request } from '../request/request.ts'

/** The key of the method that `util.inspect()`, and so `console.log()`, calls. */
const INSPECT = Symbol.for('nodejs.util.inspect.custom')

/** A call, as its controller sees it. */
export interface ControlledCall {
  readonly request: Pick<Request, 'limits'>
  readonly paused: boolean
  /** Why the call was aborted; null if it wasn't. */
  readonly reason: Error | null
  readonly connection: ConnectionInfo | null
  readonly transport: TransportInfo | null
  readonly isHeaderOnly: boolean
  abort(reason?: Error): void
  pause(): void
  resume(): void
  reprioritize(priority: RequestPriority): void
}

/**
 * A separate object, because interceptors may log, wrap or enumerate it. It has only the members of
 * DispatchController, so that neither the request nor the call's internals can be reached through it.
 */
export class CallController extends RawFields implements DispatchController {
  readonly #call: ControlledCall

  constructor(call: ControlledCall) {
    super()
    this.#call = call
  }

  get aborted(): boolean {
    return this.#call.reason !== null
  }

  get paused(): boolean {
    return this.#call.paused
  }

  get reason(): Error | null {
    return this.#call.reason
  }

  get connection(): ConnectionInfo | null {
    return this.#call.connection
  }

  get transport(): TransportInfo | null {
    return this.#call.transport
  }

  get isHeaderOnly(): boolean {
    return this.#call.isHeaderOnly
  }

  /** Always true: a call has one final response, and its fields are kept. */
  get hasLastingRawHeaders(): boolean {
    return true
  }

  get maxResponseSize(): number {
    return this.#call.request.limits.maxResponseSize
  }

  abort(reason?: Error): void {
    this.#call.abort(reason)
  }

  pause(): void {
    this.#call.pause()
  }

  resume(): void {
    this.#call.resume()
  }

  reprioritize(priority: RequestPriority): void {
    this.#call.reprioritize(priority)
  }

  /**
   * What `util.inspect()` and `console.log()` show, whatever their options: no data that the call sends or receives.
   */
  [INSPECT](_depth: number, options: object, inspect: (value: unknown, options: object) => string): string {
    const { aborted, paused } = this
    return `DispatchController ${inspect({ aborted, paused }, options)}`
  }
}
