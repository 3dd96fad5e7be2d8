/**
 * The events of an origin's connections, as the origin's dispatcher receives them.
 *
 * @module
 */

/**
 * Implemented by the dispatcher. The set of sessions calls it for connections, the scheduler for `drain`. They call a
 * method only when their own state is up to date, because a listener may dispatch, close or destroy.
 */
export interface ConnectionEvents {
  /** A connection takes calls. */
  onConnect(): void
  /** A connection that took calls is gone. */
  onDisconnect(error: Error): void
  /** The peer has sent a GOAWAY, so a connection takes no more calls. There is no event for it. */
  onGoaway?(): void
  /** A connection could not be made. */
  onConnectionError(error: Error): void
  /** After the scheduler's `add` had returned false, no call waits any more. */
  onDrain(): void
}
