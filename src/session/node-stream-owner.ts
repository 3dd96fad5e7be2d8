/**
 * The session, as a stream of node:http2 sees it.
 *
 * @module
 */

import type { UploadBuffer } from './node-upload.ts'
import type { StreamOwner } from './stream-owner.ts'

/** @typeParam TStream what a stream is to it */
export interface NodeStreamOwner<TStream> extends StreamOwner<TStream> {
  readonly uploadBuffer: UploadBuffer
  /** The receive window that each stream has, in bytes. */
  readonly streamWindow: number
  /** A stream has received more than one window: it might go faster with a larger one. */
  onLargeAnswer(): void
}
