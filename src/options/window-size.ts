/**
 * The sizes of receive windows that Dodici chooses.
 *
 * Node's HTTP/2 server ends a body without `content-length` by RST_STREAM(NO_ERROR) instead of END_STREAM when
 * the body's last byte uses a window up (Node 20 to 26). Lengths of bodies are often multiples of 1,024, so no
 * window here is one: neither the first, the largest and the smallest, nor a step in between. A window that the
 * caller gives is used as given.
 *
 * @module
 */

/** The largest window by default, of a stream and of a connection. Bytes. */
export const LARGEST_WINDOW = 16_777_259

/** The first window of a connection: four streams with the usual first window fill it. Bytes. */
export const FIRST_CONNECTION_WINDOW = 4_194_319

/** RFC 9113 §6.9.1: no window may be larger. Bytes. */
export const MAX_WINDOW_SIZE = 2 ** 31 - 1

/** The smallest window of a stream: one frame of the usual size. Bytes. */
export const SMALLEST_WINDOW = 16_385

/**
 * A window of about this size that is no multiple of 1,024. The remainders stay small and positive from step to step,
 * so that windows which are used up one after the other don't soon add up to a multiple either.
 *
 * @param size in bytes, at most {@link MAX_WINDOW_SIZE}
 */
export function toUneven(size: number): number {
  return Math.floor(size) | 1
}
