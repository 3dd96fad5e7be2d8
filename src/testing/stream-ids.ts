/**
 * Which stream a frame names.
 *
 * @module
 */

/**
 * The stream that frames name: the newest one, unless a script names another.
 *
 * @param what has a parameter if it names a stream
 * @throws Error if there is no stream yet: on stream 0, most frames would be wrong in another way
 */
export function toStreamId(
  what: (streamId: number) => Buffer,
  wanted: number | undefined,
  newest: number,
): number {
  if (wanted === undefined && newest === 0 && what.length > 0)
    throw new Error('These frames need a stream, and there is none yet: pass a streamId')
  return wanted ?? newest
}
