/**
 * The target of an upload.
 *
 * @module
 */

/** An engine's stream, as an upload sees it. */
export interface UploadSink {
  /** The bytes that are written at once: more would only wait there. */
  readonly sliceSize: number
  /** Whether it takes no more data, ever. */
  readonly isGone: boolean
  /**
   * Sets the listener that hears when it takes more data after `write` has returned false, and when some of the waiting
   * data was sent.
   */
  listen(listener: SinkListener): void
  /** The upload begins in the next turn of the event loop. {@link onTurn} follows, whatever happens until then. */
  onDue(): void
  /** That turn has come: the upload begins now, or is over. */
  onTurn(): void
  /**
   * Takes a slice, without a copy.
   *
   * @param isLast nothing follows but `end()`, so that END_STREAM may go with it
   * @returns false when it takes no more until `onDrain`
   */
  write(slice: Uint8Array, isLast: boolean): boolean
  /**
   * Ends the body: sends END_STREAM, or the trailer section with END_STREAM, unless END_STREAM went with the last
   * slice.
   */
  end(): void
  /** The upload is over: the listener is removed. */
  unlisten(): void
  /** Reports that the upload is stalled: data that was written a turn ago is still waiting. */
  reportStall(): void
}

/** Hears of a sink. */
export interface SinkListener {
  onDrain(): void
}
