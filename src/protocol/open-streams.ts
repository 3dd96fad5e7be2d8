/**
 * A connection's open streams: opening, changing and closing them.
 *
 * @module
 */

import { ErrorCode } from '../errors/error-codes.ts'
import { ReceiveFlow } from './flow-control.ts'
import { DEFAULT_WINDOW, MAX_WINDOW } from './frames.ts'
import type { FrameBudget } from './limits.ts'
import type { Output } from './output.ts'
import type { PingLedger } from './ping-ledger.ts'
import { ConnectionFault } from './protocol-error.ts'
import type { ReceiveWindows } from './receive-windows.ts'
import type { Http2Stream } from './stream.ts'
import { afterLocalEnd, afterRemoteEnd } from './stream-state.ts'
import { StreamTable } from './stream-table.ts'
import type { UploadOwner } from './upload-queue.ts'
import { UploadQueue } from './upload-queue.ts'

/** Changes each stream's state together with its flow control in both directions. */
export class OpenStreams implements UploadOwner {
  readonly table = new StreamTable()
  /** The data that streams have to send. */
  readonly uploads: UploadQueue
  /** The credit for the data that streams receive. */
  readonly flow: ReceiveFlow
  readonly #output: Output
  readonly #budget: FrameBudget

  /**
   * @param pings the PINGs that we have sent
   * @param now milliseconds since some fixed point
   */
  constructor(
    windows: ReceiveWindows,
    output: Output,
    budget: FrameBudget,
    pings: PingLedger,
    now: () => number,
  ) {
    this.#output = output
    this.#budget = budget
    this.uploads = new UploadQueue(output.writer, this.table, DEFAULT_WINDOW, this)
    this.flow = new ReceiveFlow(windows, this.table, output, pings, now)
  }

  /**
   * HEADERS was sent.
   *
   * @param sendWindow the peer's SETTINGS_INITIAL_WINDOW_SIZE, in bytes
   */
  open(stream: Http2Stream, isEnd: boolean, sendWindow: number): void {
    this.table.add(stream)
    stream.state = isEnd ? 'half-closed (local)' : 'open'
    stream.sendWindow = sendWindow
    this.flow.open(stream)
  }

  /** END_STREAM was sent. */
  endLocal(stream: Http2Stream): void {
    stream.state = afterLocalEnd(stream.state)
    this.onLocalEnd(stream)
  }

  /** END_STREAM has arrived. */
  endRemote(stream: Http2Stream): void {
    stream.phase = 'whole'
    if (stream.state === 'half-closed (local)') this.close(stream, true)
    else stream.state = afterRemoteEnd(stream.state)
  }

  /**
   * The stream's send window grows.
   *
   * @param increment in bytes; below 0 after a smaller SETTINGS_INITIAL_WINDOW_SIZE
   */
  grant(stream: Http2Stream, increment: number): void {
    this.uploads.grant(stream, increment)
    this.#sendOn()
  }

  /** The stream sends no more of its data. */
  cancelUpload(stream: Http2Stream): void {
    this.uploads.close(stream, false)
    this.#sendOn()
  }

  /**
   * The peer has changed SETTINGS_INITIAL_WINDOW_SIZE: the send windows of all open streams change (RFC 9113 §6.9.2).
   *
   * @param change in bytes, may be below 0
   * @throws ConnectionFault
   */
  moveSendWindows(change: number): void {
    for (const stream of this.table.values()) {
      if (stream.sendWindow + change > MAX_WINDOW) {
        const message =
          'SETTINGS_INITIAL_WINDOW_SIZE enlarges a stream window beyond 2^31-1 (RFC 9113 §6.9.2)'
        throw new ConnectionFault(ErrorCode.FLOW_CONTROL_ERROR, message)
      }
      this.grant(stream, change)
    }
  }

  /** Sends RST_STREAM, and closes the stream. What the peer sends on it until it receives that arrives late. */
  reset(stream: Http2Stream, code: number): void {
    if (stream.state !== 'closed' && stream.phase !== 'whole') this.#budget.expectLate(stream.receiveWindow)
    this.#output.writer.reset(stream.id, code)
    this.#output.requestFlush()
    this.close(stream, false)
  }

  /**
   * Closes the stream: the only place where a stream leaves the table.
   *
   * @param isEnded whether both sides have sent END_STREAM
   */
  close(stream: Http2Stream, isEnded: boolean): void {
    stream.state = 'closed'
    // A caller may have closed it already, in the callback that says the last byte was sent.
    if (!this.table.delete(stream, isEnded)) return
    stream.isEndedEarly = !isEnded
    this.uploads.close(stream, isEnded)
    this.#sendOn()
    this.flow.close(stream)
    if (stream.upload !== null) this.#budget.expectLateCredit(stream.upload.unreturned)
    if (stream.isCancelled) stream.listener.onOver()
  }

  onFrame(): void {
    this.#budget.earn()
  }

  onLocalEnd(stream: Http2Stream): void {
    if (stream.state === 'closed') this.close(stream, true)
  }

  /** Waiting uploads may be sent now: after a window's change, or another upload's end. */
  #sendOn(): void {
    if (this.uploads.canSend) this.#output.requestFlush()
  }
}
