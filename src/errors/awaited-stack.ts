/**
 * The stack of a call that has failed: the code that awaits it.
 *
 * @module
 */

import { DodiciError } from './errors.ts'
import { PeerFault } from './peer-fault.ts'

/** What stands between an error's own stack and the one that `captureStack` has taken when the call was made. */
export const AT_THE_CALL = '\n    at the call:\n'

/** Where V8 writes a frame of an async function that awaits. */
const ASYNC_FRAME = /^ {4}at async /

/**
 * Rejects the promise of a call a few microtasks later, once the stack of its error names the async functions that
 * await it. A network error begins in a socket's callback, so that its own stack has only frames of Dodici.
 *
 * V8 can follow a promise to the functions that await it, but only from inside an async function. A call that fails
 * gets one; a call that succeeds costs nothing more.
 *
 * @param resolve of the promise, which has to be V8's own
 * @param error left as it is unless it is Dodici's: the reason of a signal belongs to the caller
 */
export function rejectAwaited(
  resolve: (rejected: Promise<never>) => void,
  reject: (reason: unknown) => void,
  error: unknown,
): void {
  if (isOwn(error)) resolve(failAwaited(error))
  else reject(error)
}

/** An error of ours, or one of `fetch()` that has it as its cause. */
function isOwn(error: unknown): error is Error {
  return error instanceof DodiciError || (error instanceof TypeError && error.cause instanceof DodiciError)
}

async function failAwaited(error: Error): Promise<never> {
  // The promise follows this one after the first; then V8 sees what awaits it.
  await undefined
  await undefined
  const holder = { stack: '' }
  Error.captureStackTrace(holder)
  const awaiting = String(holder.stack)
    .split('\n')
    .filter((line) => ASYNC_FRAME.test(line))
  if (awaiting.length > 0) leadTo(error, awaiting)
  throw error
}

/** Puts the caller's frames in place of ours, and leaves those of a cause out: they are the same, or of Dodici. */
function leadTo(error: Error, awaiting: readonly string[]): void {
  // With `captureStack` the caller's frames are there already.
  if (typeof error.stack !== 'string' || error.stack.includes(AT_THE_CALL)) return
  error.stack = [toHead(error.stack), ...awaiting].join('\n')
  for (let { cause } = error; cause instanceof DodiciError || cause instanceof PeerFault; { cause } = cause) {
    if (typeof cause.stack === 'string' && !cause.stack.includes(AT_THE_CALL))
      cause.stack = toHead(cause.stack)
  }
}

/** The name and the message, which may have several lines. */
function toHead(stack: string): string {
  const frames = stack.search(/\n {4}at /)
  return frames === -1 ? stack : stack.slice(0, frames)
}
