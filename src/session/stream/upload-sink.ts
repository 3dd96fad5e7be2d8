/**
 * Where a request's body goes.
 *
 * @module
 */

/** A stream of an engine's, as an upload sees it. */
export interface UploadSink {
  /** Bytes that go into it at once: more would only wait there. */
  readonly sliceSize: number
  /** Nothing is taken any more. */
  readonly isGone: boolean
  /** Who is to hear that it takes more, after `write` has returned false; and that some of what waits has gone. */
  listen(listener: SinkListener): void
  /**
   * Takes a slice, which it doesn't copy.
   *
   * @param isLast nothing follows but `end()`, so that END_STREAM may go along with it
   * @returns false when it takes no more before `onDrain`
   */
  write(slice: Uint8Array, isLast: boolean): boolean
  /** The body is over: END_STREAM, or trailers and then END_STREAM, unless they went with the last slice. */
  end(): void
  /** The upload lets go of it. */
  release(): void
  /** Tells that an upload is held up: what was written a while ago is still there. */
  reportStall(): void
}

/** Who hears of a sink. */
export interface SinkListener {
  onDrain(): void
}
