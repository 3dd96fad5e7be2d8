/**
 * `captureStack`: errors with their caller's stack.
 *
 * @module
 */

import type { DispatchController, DispatchHandler } from '../../types/handler.ts'
import { AT_THE_CALL } from '../errors/awaited-stack.ts'
import { DodiciError } from '../errors/errors.ts'
import { ForwardingHandler } from './forwarding-handler.ts'

/** How many of Dodici's own frames there are at most between `dispatch()` and the caller of `fetch()`. */
const OWN_FRAMES = 20

/** Where `dispatch()` was called: the lines of a stack. @param below the function whose caller is in the first line */
function toCallerStack(below: (...args: never[]) => unknown): string {
  const { stackTraceLimit } = Error
  const holder = { stack: '' }
  try {
    Error.stackTraceLimit = stackTraceLimit + OWN_FRAMES
    Error.captureStackTrace(holder, below)
  } finally {
    Error.stackTraceLimit = stackTraceLimit
  }
  return holder.stack.slice(holder.stack.indexOf('\n') + 1)
}

/** Appends the caller's stack to the error of the call. */
export class CallerStackHandler extends ForwardingHandler {
  readonly #stack: string

  constructor(handler: DispatchHandler, below: (...args: never[]) => unknown) {
    super(handler)
    this.#stack = toCallerStack(below)
  }

  override onResponseError(controller: DispatchController, error: Error): void {
    // The caller's own errors, such as the reason of a signal, are left as they are. If two dispatchers stand one
    // behind the other, the inner one has appended it already.
    if (error instanceof DodiciError) {
      const own = error.stack ?? error.message
      if (!own.includes(AT_THE_CALL)) error.stack = own + AT_THE_CALL + this.#stack
    }
    super.onResponseError(controller, error)
  }
}
