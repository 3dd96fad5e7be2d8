/**
 * The session, as a stream of node:http2 sees it.
 *
 * @module
 */

import type { StreamOwner } from '../stream/stream-owner.ts'
import type { UploadBuffer } from './node-upload.ts'

/** @typeParam TStream what a stream is to it */
export interface NodeStreamOwner<TStream> extends StreamOwner<TStream> {
  readonly uploadBuffer: UploadBuffer
  /** The receive window that each stream has, in bytes. */
  readonly streamWindow: number
  /** DATA has come. @param received bytes of that stream so far: above one window it might go faster with a larger one */
  onData(received: number): void
  /** HEADERS have come that are trailers. */
  onTrailers(): void
}
