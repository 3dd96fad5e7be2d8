/**
 * Looks over the streams of a session.
 *
 * @module
 */

/** Whatever has a stream's id; null before it has one. */
interface Numbered {
  readonly streamId: number | null
}

/** Looks whether somebody waits for one of a session's streams. */
export class IdleLook {
  /** Where somebody was found last. From there on the next look goes, so that it seldom has to see them all. */
  #at = 0

  /** Whether nobody waits for any of them. */
  areIdle(streams: readonly { readonly isIdle: boolean }[]): boolean {
    const { length } = streams
    if (this.#at >= length) this.#at = 0
    for (let seen = 0; seen < length; seen++) {
      if (streams[this.#at]?.isIdle !== true) return false
      this.#at = (this.#at + 1) % length
    }
    return true
  }
}

/** As they were opened: in that order calls shall hear of their common end. */
export function byStreamId(a: Numbered, b: Numbered): number {
  return (a.streamId ?? 0) - (b.streamId ?? 0)
}
