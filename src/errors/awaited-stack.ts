/**
 * The stack of a call that has failed: the code that awaits it.
 *
 * @module
 */

import { DodiciError } from './errors.ts'
import { PeerFault } from './peer-fault.ts'

/** What stands between an error's own stack and the one that `captureStack` has taken when the call was made. */
export const AT_THE_CALL = '\n    at the call:\n'

/** A line of a stack. */
const FRAME = /^ {4}at /

/**
 * What runs microtasks, below the function that one has continued. It may be a line of Node's; an async function of
 * Node's awaits like any other.
 */
const RUNNER = /^ {4}at (?!async ).*node:internal\//

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
export function isOwn(error: unknown): error is Error {
  return error instanceof DodiciError || (error instanceof TypeError && error.cause instanceof DodiciError)
}

/**
 * A promise that is rejected in the same way: to be returned, or to resolve the caller's promise with.
 *
 * @param error Dodici's, or made for this call alone: its stack may change
 */
export async function failAwaited(error: unknown): Promise<never> {
  // The promise follows this one after the first; then V8 sees what awaits it.
  await undefined
  await undefined
  throw leadToAwaiting(error)
}

/**
 * Puts the functions that await the caller of this one into the stack of an error. Call it from an async function, or
 * an async generator, that has awaited something before: then all of its callers await.
 *
 * @returns the error
 */
export function leadToAwaiting(error: unknown): unknown {
  const holder = { stack: '' }
  Error.captureStackTrace(holder, leadToAwaiting)
  // The first frame is the function that calls this one. The word "async" doesn't count: a formatter of stacks, such as
  // a test runner's, may leave it out.
  const [, ...frames] = String(holder.stack)
    .split('\n')
    .filter((line) => FRAME.test(line))
  const awaiting = frames.filter((line) => !RUNNER.test(line))
  if (awaiting.length > 0 && error instanceof Error) leadTo(error, awaiting)
  return error
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
