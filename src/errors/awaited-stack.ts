/**
 * Adds the code that awaits a failed call to its error's stack.
 *
 * @module
 */

import { DodiciError } from './errors.ts'
import { PeerFault } from './peer-fault.ts'

/** The line between an error's own stack and the one that `captureStack` took when the call was made. */
export const AT_THE_CALL = '\n    at the call:\n'

/** A line of a stack. */
const FRAME = /^ {4}at /

/**
 * A frame that runs microtasks, below the function that it has continued. It may be Node's; but Node's async
 * functions await like any other.
 */
const RUNNER = /^ {4}at (?!async ).*node:internal\//

/**
 * Rejects a call's promise a few microtasks later, once its error's stack names the async functions that await it. A
 * network error begins in a socket's callback, so its own stack contains only Dodici's frames.
 *
 * V8 can follow a promise to the functions that await it, but only from inside an async function. A failing call gets
 * one; a successful call costs nothing more.
 *
 * @param resolve the promise's, which has to be V8's own
 * @param error unchanged unless it is Dodici's: a signal's reason belongs to the caller
 */
export function rejectAwaited(
  resolve: (rejected: Promise<never>) => void,
  reject: (reason: unknown) => void,
  error: unknown,
): void {
  if (isOwn(error)) resolve(failAwaited(error))
  else reject(error)
}

/** Whether it is Dodici's error, or an error from `fetch()` with one as its cause. */
export function isOwn(error: unknown): error is Error {
  return error instanceof DodiciError || (error instanceof TypeError && error.cause instanceof DodiciError)
}

/**
 * A promise that rejects in the same way: return it, or resolve the caller's promise with it.
 *
 * @param error Dodici's, or created for this call alone: its stack may change
 */
export async function failAwaited(error: unknown): Promise<never> {
  // The promise follows this one after the first; then V8 sees what awaits it.
  await undefined
  await undefined
  throw leadToAwaiting(error)
}

/**
 * Adds the functions that await this function's caller to an error's stack. Call it from an async function, or an
 * async generator, that has awaited something before: then all its callers await.
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

/** Replaces Dodici's frames with the caller's, and omits a cause's frames: they are the same, or Dodici's. */
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
