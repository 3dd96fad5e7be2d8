/**
 * Moves a request body from its source into a stream.
 *
 * @module
 */

import type { Readable } from 'node:stream'
import type { Call } from '../../call/call.ts'
import { sessionChannels } from '../../core/diagnostics.ts'
import { originalSetImmediate, throwUncaught } from '../../core/original-timers.ts'
import { toError } from '../../errors/errors.ts'
import type { BytesBody, StreamBody } from '../../request/body-source.ts'
import { toChunk } from '../../request/chunk-source.ts'
import { toMismatch } from '../../request/kept-source.ts'
import { toLostMemoryError } from './stream-failure.ts'
import type { SinkListener, UploadSink } from './upload-sink.ts'

const NOTHING = new Uint8Array(0)

/**
 * Reads the source only as fast as the peer's windows allow. The end of the source ends the stream. If the source
 * fails, the body itself tells the call. A body whose length differs from the announced one fails the call before the
 * peer would.
 *
 * Pieces aren't copied. Pieces that arrive during a write are written together.
 */
export class BodyWriter implements SinkListener {
  readonly #body: BytesBody | StreamBody
  readonly #sink: UploadSink
  readonly #call: Call
  /** Null for a body of bytes, and before `start()`. */
  #source: Readable | null = null
  /** The piece that is being written; null between pieces. */
  #piece: Uint8Array | null = null
  /** How many bytes of the piece were written. */
  #offset = 0
  /**
   * Pieces that have arrived although the source was told to pause, because other code reads the source, too. Null
   * for none.
   */
  #backlog: Uint8Array[] | null = null
  /** How many bytes have arrived from the source. */
  #received = 0
  /** How many bytes were taken from the pieces: fewer, if the memory of a piece is gone. */
  #taken = 0
  #isSourceEnded = false
  /** Whether the sink accepts no more until `onDrain`. */
  #isBlocked = false
  #isOver = false

  readonly #onData = (chunk: unknown): void => this.#receive(chunk)
  readonly #onEnd = (): void => {
    this.#isSourceEnded = true
    if (!this.#isBlocked) this.#write()
  }

  constructor(body: BytesBody | StreamBody, sink: UploadSink, call: Call) {
    this.#body = body
    this.#sink = sink
    this.#call = call
  }

  /** Starts to send. */
  start(): void {
    this.#sink.listen(this)
    if (this.#body.kind === 'bytes') {
      this.#piece = this.#body.bytes
      this.#received = this.#body.length
      this.#isSourceEnded = true
      this.#write()
      return
    }
    try {
      this.#source = this.#body.open()
    } catch (thrown) {
      this.#fail(toError(thrown))
      return
    }
    // The code that makes the source may have ended the call.
    if (this.#isOver) {
      this.#body.destroy(this.#call.reason)
      return
    }
    this.#source.on('data', this.#onData)
    this.#source.on('end', this.#onEnd)
    // The code that made the source may have paused it.
    this.#source.resume()
  }

  /** Stops reading the source. Idempotent; does nothing once everything was written. */
  stop(): void {
    if (this.#isOver) return
    this.#detach()
    try {
      // Without a listener, it would continue.
      this.#source?.pause()
    } catch (thrown) {
      // A listener of the caller's has thrown: the call must hear its end all the same.
      throwUncaught(thrown)
    }
  }

  onDrain(): void {
    if (this.#isOver) return
    this.#isBlocked = false
    this.#call.sent(null)
    // In the context of the caller, whose source is asked for more.
    this.#call.runInAsyncScope(this.#write, this)
  }

  #receive(chunk: unknown): void {
    let piece: Uint8Array
    try {
      piece = toChunk(chunk)
    } catch (thrown) {
      this.#fail(toError(thrown))
      return
    }
    const { contentLength } = this.#call.request
    this.#received += piece.byteLength
    if (contentLength !== null && this.#received > contentLength) {
      this.#fail(toMismatch(this.#received, contentLength))
    } else if (this.#isBlocked) {
      if (this.#backlog === null) this.#backlog = [piece]
      else this.#backlog.push(piece)
      this.#source?.pause()
    } else {
      this.#piece = piece
      this.#write()
    }
  }

  /**
   * Writes the pieces that have arrived, as far as the sink accepts them. Then asks the source for more, or ends the
   * body.
   */
  #write(): void {
    while (!this.#isOver) {
      this.#piece ??= this.#backlog?.shift() ?? null
      if (this.#piece === null) break
      const slice = this.#takeSlice(this.#piece)
      if (slice.byteLength === 0) continue
      const isLast = this.#isSourceEnded && this.#piece === null && (this.#backlog?.length ?? 0) === 0
      if (isLast && this.#isMismatch()) return
      this.#isBlocked = !this.#sink.write(slice, isLast)
      this.#call.sent(slice)
      if (!this.#isBlocked || this.#isOver) continue
      this.#source?.pause()
      if (sessionChannels.stall.hasSubscribers) originalSetImmediate(reportStall, this)
      return
    }
    if (this.#isOver) return
    if (this.#isSourceEnded) this.#end()
    else this.#source?.resume()
  }

  #takeSlice(piece: Uint8Array): Uint8Array {
    const start = this.#offset
    const end = start + this.#sink.sliceSize
    const isLast = end >= piece.byteLength
    this.#offset = isLast ? 0 : end
    if (isLast) this.#piece = null
    const isWhole = start === 0 && isLast
    const slice = isWhole ? piece : start < piece.byteLength ? piece.subarray(start, end) : NOTHING
    this.#taken += slice.byteLength
    return slice
  }

  #end(): void {
    if (this.#isMismatch()) return
    this.#detach()
    this.#sink.end()
  }

  /**
   * Whether the body's length differs from the announced one, or some of its memory is gone; then the call has failed.
   */
  #isMismatch(): boolean {
    if (this.#taken < this.#received) {
      this.#fail(toLostMemoryError())
      return true
    }
    const { contentLength } = this.#call.request
    if (contentLength === null || this.#received === contentLength) return false
    this.#fail(toMismatch(this.#received, contentLength))
    return true
  }

  #fail(error: Error): void {
    if (this.#isOver) return
    this.stop()
    this.#call.fail(error)
  }

  /** Reports a stall if the sink is still blocked a turn later: then the data isn't just waiting for its turn. */
  reportStall(): void {
    if (this.#isBlocked && !this.#isOver && !this.#sink.isGone) this.#sink.reportStall()
  }

  #detach(): void {
    this.#isOver = true
    this.#piece = null
    this.#backlog = null
    this.#source?.off('data', this.#onData)
    this.#source?.off('end', this.#onEnd)
    this.#sink.unlisten()
  }
}

function reportStall(writer: BodyWriter): void {
  writer.reportStall()
}
