/**
 * The controller for a request that never becomes a call.
 *
 * @module
 */

import type { DispatchController } from '../../types/handler.ts'

/** The controller for a request that was refused before it became a call. */
export class RefusedController implements DispatchController {
  readonly aborted = true
  readonly paused = false
  readonly reason: Error
  rawHeaders: string[] | null = null
  rawTrailers: string[] | null = null

  constructor(reason: Error) {
    this.reason = reason
  }

  abort(): void {}
  pause(): void {}
  resume(): void {}
}
