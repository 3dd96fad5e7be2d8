/**
 * The events of an origin's connections, as the origin's dispatcher gets them.
 *
 * @module
 */

/**
 * The dispatcher makes one object. The set of sessions calls it for connections, and the scheduler for `drain`. Each
 * calls a method only when its own state is up to date, since a listener may dispatch, close or destroy.
 */
export interface ConnectionEvents {
  /** A connection takes calls. */
  onConnect(): void
  /** A connection that took calls is gone. */
  onDisconnect(error: Error): void
  /** The peer has sent a GOAWAY, by which a connection takes no more calls. There is no event for it. */
  onGoaway?(): void
  /** A connection could not be made. */
  onConnectionError(error: Error): void
  /** No call waits any more, after the scheduler's `add` had returned false. */
  onDrain(): void
}
