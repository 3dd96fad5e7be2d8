/**
 * A caller's async context (`AsyncLocalStorage`).
 *
 * @module
 */

import { AsyncResource } from 'node:async_hooks'

/** Shared by all: without options, AsyncResource's constructor would create an object each time. */
const OPTIONS = Object.freeze({})

/**
 * The async context in which it was created. `runInAsyncScope()` runs the caller's code in it, whatever has led there:
 * reading a socket that another caller opened, a timer, or the end of another call.
 *
 * As a call's own context, it takes some 100 bytes (`bench/allocations.mjs`) and some 25 ns, and a scope some 6 ns.
 * `AsyncLocalStorage.snapshot()` and `AsyncResource.bind()` take microseconds (`bench/micro/caller-context.mjs`).
 */
export class CallerContext extends AsyncResource {
  constructor() {
    super('DODICI_CALL', OPTIONS)
  }
}
