/**
 * The receive window sizes that Dodici chooses.
 *
 * Node's HTTP/2 server ends a body without `content-length` with RST_STREAM(NO_ERROR) instead of END_STREAM if the
 * body's last byte exhausts a window (Node 20 to 26). Body lengths are often multiples of 1,024, so no window here is
 * one: not the first, largest or smallest, and no step in between. A window that the caller sets is used unchanged.
 *
 * @module
 */

/** The largest default window of a stream and of a connection, in bytes. */
export const LARGEST_WINDOW = 16_777_259

/** The first window of a connection, in bytes: four streams with the usual first window fill it. */
export const FIRST_CONNECTION_WINDOW = 4_194_319

/** RFC 9113 §6.9.1: the largest possible window, in bytes. */
export const MAX_WINDOW_SIZE = 2 ** 31 - 1

/** The smallest window of a stream, in bytes: one frame of the usual size. */
export const SMALLEST_WINDOW = 16_385

/**
 * A window of about this size that isn't a multiple of 1,024. The remainders stay small and positive from step to
 * step, so that consecutive windows don't soon add up to a multiple either.
 *
 * @param size in bytes, at most {@link MAX_WINDOW_SIZE}
 */
export function toUneven(size: number): number {
  return Math.floor(size) | 1
}
