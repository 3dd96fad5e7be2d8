/**
 * The fields of a call: its own, and the scheduler's notes.
 *
 * @module
 */

import type { Duplex } from 'node:stream'
import type { DispatchHandler } from '../../types/handler.ts'
import type { RequestPriority } from '../../types/request.ts'
import { CallerContext } from '../core/caller-context.ts'
import type { Queued } from '../core/pending-queue.ts'
import type { DodiciError } from '../errors/errors.ts'
import type { SendableBody } from '../request/body-source.ts'
import { NO_BODY } from '../request/body-source.ts'
import { toPriorityField } from '../request/priority.ts'
import type { Request } from '../request/request.ts'
import type { WireHeaders } from '../request/wire-headers.ts'
import { deleteField, setField } from '../request/wire-headers.ts'
import type { FailureNotes, SchedulerNotes } from './scheduler-notes.ts'
import { NO_FAILURES } from './scheduler-notes.ts'

/** The request and the scheduler's notes are fields of the call itself. */
export abstract class CallRecord<TCall> implements Queued<TCall>, SchedulerNotes {
  readonly request: Request
  /** The caller's code runs in it: callbacks of the handler, sources of the body, what listens to a tunnel. */
  readonly context = new CallerContext()
  queueNext: TCall | null = null
  queuePrevious: TCall | null = null
  readonly sequence: number
  /** How many attempts have begun. */
  protected attempts = 0
  failures: FailureNotes = NO_FAILURES
  sessionMark = 0

  /** The handler of the outer call when this call is an attempt of it; null for a call of the caller's own. */
  outer: DispatchHandler | null = null
  /** The tunnel that the call has become; null for none. */
  protected tunnel: Duplex | null = null
  #body: SendableBody = NO_BODY
  /** What the request's priority was changed to; null while it wasn't. */
  #priority: string | null = null
  /** Why the call was aborted; null while it wasn't. */
  #reason: Error | null = null

  constructor(request: Request, sequence: number) {
    this.request = request
    this.sequence = sequence
  }

  get reason(): Error | null {
    return this.#reason
  }

  protected noteAbort(reason: Error): Error {
    this.#reason = reason
    return reason
  }

  /** Changes the priority of the present attempt, and of each later one. @throws InvalidArgumentError */
  reprioritize(priority: RequestPriority): void {
    this.#priority = toPriorityField(priority)
    this.tellPriority(this.#priority)
  }

  /** Tells the present attempt. @param value of the `priority` field */
  protected abstract tellPriority(value: string): void

  /** What the attempt sends that is under way: the request's own body, or what a factory has made for this attempt. */
  get body(): SendableBody {
    return this.#body
  }

  /** Makes the body of another attempt. Returns the fields that go with it. @throws what a body factory throws */
  protected makeBody(): WireHeaders {
    const { body, wire } = this.request
    this.#body = body.kind === 'factory' ? body.make() : body
    return this.#toWire(body.kind === 'factory' ? this.request.toWireFor(this.#body) : wire)
  }

  /** The fields of an attempt, with the priority that the request has by now. */
  #toWire(wire: WireHeaders): WireHeaders {
    if (this.#priority === null) return wire
    const changed = [...wire]
    if (this.#priority === '') deleteField(changed, 'priority')
    else setField(changed, 'priority', this.#priority)
    return changed
  }

  /** Writes onto an error whose it is; its tunnel's, too. */
  mark(error: DodiciError, streamId: number | null): void {
    if (this.failures.wasRepeated && error.processed === 'no') error.processed = 'maybe' // By an earlier attempt.
    error.attempts = this.attempts
    error.streamId = streamId
  }

  /** The rest of the body isn't sent, and the call doesn't fail for it. */
  protected forgoBody(): void {
    if (this.#body.kind === 'stream') this.context.runInAsyncScope(this.#body.forgo, this.#body)
  }

  /**
   * No attempt will read the body, or read on.
   *
   * @param error null when another attempt follows, which has it where it wasn't opened
   */
  protected dropBody(error: Error | null): void {
    const { body } = this.request
    if (error === null && !body.replayable && !body.isSpent) return
    if ('destroy' in body) this.context.runInAsyncScope(body.destroy, body, error)
  }
}
