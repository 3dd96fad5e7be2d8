/**
 * The async context of a caller (`AsyncLocalStorage`).
 *
 * @module
 */

import { AsyncResource } from 'node:async_hooks'

/** One for all: AsyncResource's constructor would make an object for each that is given none. */
const OPTIONS = Object.freeze({})

/**
 * The async context in which it was made. `runInAsyncScope()` runs the caller's code in it, whatever has led there: a
 * read of a socket that another caller has opened, a timer, or the end of another call.
 *
 * For a call that is its own context that is some 100 bytes (`bench/allocations.mjs`) and some 25 ns, and a scope some
 * 6 ns. `AsyncLocalStorage.snapshot()` and `AsyncResource.bind()` take microseconds (`bench/micro/caller-context.mjs`).
 */
export class CallerContext extends AsyncResource {
  constructor() {
    super('DODICI_CALL', OPTIONS)
  }
}
