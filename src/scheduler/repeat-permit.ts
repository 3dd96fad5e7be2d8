/**
 * The retry budget of a dispatcher in front.
 *
 * @module
 */

/** Before the scheduler resends a call that a server may have acted on, it asks for permission. */
export interface RepeatPermit {
  /** Whether that is allowed now. If so, the call is sent again. */
  mayRepeat(): boolean
}
