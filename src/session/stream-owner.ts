/**
 * The session, as its streams see it.
 *
 * @module
 */

import type { Socket } from 'node:net'
import type { IncomingHttpHeaders } from '../../types/headers.ts'
import type { FailureContext } from './stream-failure.ts'

/** @typeParam TStream what a stream is to it */
export interface StreamOwner<TStream> extends FailureContext {
  /** Resets the stream, soon or as soon as the peer won't mind. */
  reset(stream: TStream): void
  /** The stream no longer counts against the peer's limit. */
  onStreamClosed(stream: TStream): void
  /** Null until it is connected. */
  readonly socket: Socket | null
  /** A call has got the header of its final answer. */
  onAnswered(headers: IncomingHttpHeaders): void
}

/** Whatever has a stream's id; null before it has one. */
interface Numbered {
  readonly streamId: number | null
}

/** Whether nobody waits for any of them. */
export function areIdle(streams: readonly { readonly isIdle: boolean }[]): boolean {
  return streams.every((stream) => stream.isIdle)
}

/** As they were opened: in that order calls shall hear of their common end. */
export function byStreamId(a: Numbered, b: Numbered): number {
  return (a.streamId ?? 0) - (b.streamId ?? 0)
}
