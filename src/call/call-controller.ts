/**
 * The controller of a call: what handlers and interceptors get of it.
 *
 * @module
 */

import type { ConnectionInfo, TransportInfo } from '../../types/connection.ts'
import type { DispatchController } from '../../types/handler.ts'
import type { RequestPriority } from '../../types/request.ts'
import { RawFields } from '../handler/raw-fields.ts'
import type { Request } from '../request/request.ts'

/** The key of the method that `util.inspect()`, and with it `console.log()`, calls. */
const INSPECT = Symbol.for('nodejs.util.inspect.custom')

/** A call, as its controller sees it. */
export interface ControlledCall {
  readonly request: Pick<Request, 'limits'>
  readonly paused: boolean
  /** Why the call was aborted; null while it wasn't. */
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
 * An object of its own: interceptors may log, wrap or enumerate it. It has the members of DispatchController and no
 * others, so that neither the request nor what drives the call can be reached by it.
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

  /** What `util.inspect()` and `console.log()` show, whatever their options: no data that the call sends or gets. */
  [INSPECT](_depth: number, options: object, inspect: (value: unknown, options: object) => string): string {
    const { aborted, paused } = this
    return `DispatchController ${inspect({ aborted, paused }, options)}`
  }
}
