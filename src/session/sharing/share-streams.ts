/**
 * The session, as seen by the streams of one of its origins.
 *
 * @module
 */

import type { IncomingHttpHeaders } from '../../../types/headers.ts'
import type { EndReason } from '../../../types/stats.ts'
import type { Carrier } from '../../call/attempt.ts'
import type { DodiciError } from '../../errors/errors.ts'
import type { Request } from '../../request/request.ts'
import type { EngineStream, StreamOwner } from '../engine.ts'
import type { Http2Session } from '../http2-session.ts'
import type { Goaway } from '../loss.ts'
import type { Transport } from '../transport.ts'

/** The share that the streams belong to. */
interface StreamsShare {
  readonly carrier: Carrier
  readonly shared: { readonly session: Http2Session }
  responded: number
  /** A stream is gone. The session is told next. */
  onStreamGone(stream: EngineStream): void
  /** The session has been told. */
  onFewer(): void
  close(reason: EndReason): void
  onMisdirected(request: Request): void
}

/** Passes its streams' reports on to the session, and to the share if they concern only its origin. */
export class ShareStreams implements StreamOwner {
  readonly #share: StreamsShare

  constructor(share: StreamsShare) {
    this.#share = share
  }

  get #session(): Http2Session {
    return this.#share.shared.session
  }

  get carrier(): Carrier {
    return this.#share.carrier
  }

  get socket(): Transport | null {
    return this.#session.socket
  }

  get maxHeaderListSize(): number {
    return this.#session.maxHeaderListSize
  }

  get hasSettings(): boolean {
    return this.#session.hasSettings
  }

  get goaway(): Goaway | null {
    return this.#session.goaway
  }

  isLost(): boolean {
    return this.#session.isLost()
  }

  isLeftOut(streamId: number | null): boolean {
    return this.#session.isLeftOut(streamId)
  }

  toLossError(streamId: number | null, error: Error | null): DodiciError {
    return this.#session.toLossError(streamId, error)
  }

  /** The connection has no stream ids left, which ends the session itself. */
  close(reason: EndReason): void {
    this.#share.close(reason)
  }

  onResponded(headers: IncomingHttpHeaders): void {
    this.#share.responded++
    this.#session.onResponded(headers)
  }

  onMisdirected(request: Request): void {
    this.#share.onMisdirected(request)
  }

  onStall(streamId: number, sessionWindow: number): void {
    this.#session.onStall(streamId, sessionWindow)
  }

  reset(stream: EngineStream): void {
    this.#session.reset(stream)
  }

  onStreamClosed(stream: EngineStream): void {
    this.#share.onStreamGone(stream)
    this.#session.onStreamClosed(stream)
    this.#share.onFewer()
  }

  updateRef(): void {
    this.#session.updateRef()
  }
}
