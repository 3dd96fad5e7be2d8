/**
 * What an origin's dispatcher is told of its connections.
 *
 * @module
 */

/**
 * The dispatcher makes one, and all that is below it calls the same one: the set of sessions for connections, the
 * scheduler for `drain`. Each method is called when the caller's own state is settled, since a listener may dispatch,
 * close or destroy.
 */
export interface ConnectionEvents {
  /** A connection takes calls. */
  onConnect(): void
  /** A connection that took calls is gone. */
  onDisconnect(error: Error): void
  /** A connection could not be made. */
  onConnectionError(error: Error): void
  /** No call waits any more, after the scheduler's `add` had returned false. */
  onDrain(): void
}
