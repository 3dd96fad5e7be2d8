/**
 * The budget of a dispatcher in front for what is sent twice.
 *
 * @module
 */

/** The scheduler asks for it before it sends a call again that a server may have acted on. */
export interface RepeatPermit {
  /** Whether that is allowed now. If so, the call is sent again. */
  mayRepeat(): boolean
}
