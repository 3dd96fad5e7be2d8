/**
 * Where an upload is written.
 *
 * @module
 */

/** An engine's stream, as an upload sees it. */
export interface UploadSink {
  /** How many bytes to write at once: more would only wait there. */
  readonly sliceSize: number
  /** Whether it will accept no more data. */
  readonly isGone: boolean
  /**
   * Sets the listener that is told when it accepts more data after `write` has returned false, and when some of the
   * waiting data was sent.
   */
  listen(listener: SinkListener): void
  /** The upload starts in the next turn of the event loop. {@link onTurn} follows, whatever happens until then. */
  onDue(): void
  /** That turn has come: the upload starts now, or is over. */
  onTurn(): void
  /**
   * Writes a slice, without a copy.
   *
   * @param isLast whether only `end()` follows, so that END_STREAM may be sent with it
   * @returns false if it accepts no more until `onDrain`
   */
  write(slice: Uint8Array, isLast: boolean): boolean
  /**
   * Ends the body: sends END_STREAM, or the trailer section with END_STREAM, unless END_STREAM was sent with the last
   * slice.
   */
  end(): void
  /** The upload is over: the listener is removed. */
  unlisten(): void
  /** Reports that the upload is stalled: data that was written a turn ago is still waiting. */
  reportStall(): void
}

/** Is told about a sink. */
export interface SinkListener {
  onDrain(): void
}
