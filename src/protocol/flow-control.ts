/**
 * Flow control for what we receive (RFC 9113 §5.2, §6.9): how much the peer may send, and when we send WINDOW_UPDATE.
 *
 * @module
 */

import { BandwidthMeter } from './bandwidth.ts'
import { DEFAULT_WINDOW } from './frames.ts'
import type { Output } from './output.ts'
import type { PingLedger } from './ping-ledger.ts'
import type { ReceiveWindows } from './receive-windows.ts'
import type { Http2Stream } from './stream.ts'
import type { StreamTable } from './stream-table.ts'

/** WINDOW_UPDATE is sent when one in this many bytes of the window has been read. */
const UPDATE_PART = 2

/** The credit of one connection and its streams: what has been read, is unread, and has been given back. */
export class ReceiveFlow {
  readonly #windows: ReceiveWindows
  readonly #table: StreamTable
  readonly #output: Output
  readonly #pings: PingLedger
  readonly #now: () => number
  readonly #meter = new BandwidthMeter()
  readonly #onMeasured = (): void => this.#adapt()
  /** Whether the peer has acknowledged our first SETTINGS. */
  #hasAck = false
  /** The number of open streams without unread data. */
  #reading = 0

  /**
   * @param pings the PINGs that we have sent
   * @param now milliseconds since some fixed point
   */
  constructor(
    windows: ReceiveWindows,
    table: StreamTable,
    output: Output,
    pings: PingLedger,
    now: () => number,
  ) {
    this.#windows = windows
    this.#table = table
    this.#output = output
    this.#pings = pings
    this.#now = now
  }

  /** How many received bytes haven't been read yet, on all streams. */
  get held(): number {
    return this.#windows.connection.held
  }

  /**
   * The receive window of a stream that is opened now, in bytes. Before the first ACK, it is at least the protocol's
   * default, which the peer may still use (§6.9.2).
   */
  get #streamWindow(): number {
    const { usableWindow } = this.#windows
    return this.#hasAck ? usableWindow : Math.max(usableWindow, DEFAULT_WINDOW)
  }

  /** Announces the connection window if it has to be larger than the protocol's default (§6.9.2). */
  start(): void {
    this.#announceConnection()
  }

  /** A stream is opened. */
  open(stream: Http2Stream): void {
    stream.receiveWindow = this.#streamWindow
    stream.leastWindow = this.#windows.streamWindow
    this.#reading++
    this.#overcommit()
  }

  /** A stream is closed. Its unread data may still be read later. */
  close(stream: Http2Stream): void {
    if (stream.held === 0) this.#reading--
  }

  /**
   * Announces what has changed: the connection window first, so that no stream finds it used up. A changed
   * SETTINGS_INITIAL_WINDOW_SIZE is sent together with a WINDOW_UPDATE on each stream for the bytes that were read.
   *
   * A larger size counts at once, because the peer may use it before its ACK arrives. WINDOW_UPDATE is sent with it
   * because some peers that have used up their window continue only at WINDOW_UPDATE. It has no credit for the growth:
   * a peer that applies SETTINGS as RFC 9113 §6.9.2 says would get that twice. With a smaller size it is needed, too:
   * the bytes read under the larger window may exceed the whole smaller one, and no more data would arrive to trigger a
   * WINDOW_UPDATE.
   */
  announce(): void {
    const before = this.#streamWindow
    const size = this.#windows.announce()
    if (this.#windows.connection.isUpdateDue) this.#announceConnection()
    if (size === null) return
    this.#output.streamWindow(size)
    const growth = this.#streamWindow - before
    for (const stream of this.#table.values()) {
      stream.receiveWindow += growth
      stream.leastWindow = Math.min(stream.leastWindow, size)
      this.#update(stream)
    }
  }

  /**
   * The peer has acknowledged our first SETTINGS, so it no longer uses the protocol's default. They precede all
   * streams.
   *
   * A stream that was open before a later, smaller size was announced keeps its window: Bun's server (1.4) acknowledges
   * the size, but applies it only to streams that are opened later. The connection window limits what arrives.
   */
  onFirstAck(): void {
    const before = this.#streamWindow
    this.#hasAck = true
    const change = this.#streamWindow - before
    for (const stream of this.#table.values()) stream.receiveWindow += change
  }

  /**
   * Counts bytes received on any stream.
   *
   * @returns false if the peer has exceeded the connection window
   */
  receive(bytes: number): boolean {
    this.#meter.add(bytes)
    return this.#windows.connection.receive(bytes)
  }

  /** Received bytes were discarded, or were padding. */
  consumeOnConnection(bytes: number): void {
    const { connection } = this.#windows
    connection.consume(bytes)
    if (!connection.isUpdateDue) return
    this.#announceConnection()
    this.#measure()
  }

  /** The reader took a piece of the stream's data at once. */
  consume(stream: Http2Stream, bytes: number): void {
    this.consumeOnConnection(bytes)
    if (stream.phase !== 'whole') this.#credit(stream, bytes)
  }

  /** The reader hasn't taken a piece of the stream's data yet: it is buffered. */
  hold(stream: Http2Stream, bytes: number): void {
    const { connection } = this.#windows
    if (stream.held === 0 && stream.state !== 'closed') this.#reading--
    stream.held += bytes
    connection.hold(bytes)
    this.#overcommit()
    // Buffered bytes no longer count for the threshold, so WINDOW_UPDATE may be due now.
    if (connection.isUpdateDue) this.#announceConnection()
  }

  /** The reader has taken buffered data, or it was discarded. */
  release(stream: Http2Stream, bytes: number): void {
    const { connection } = this.#windows
    stream.held -= bytes
    connection.release(bytes)
    if (stream.held === 0 && stream.state !== 'closed') {
      this.#reading++
      this.#overcommit()
    }
    if (connection.isUpdateDue) this.#announceConnection()
    if (stream.phase !== 'whole' && stream.state !== 'closed' && !stream.isCancelled)
      this.#credit(stream, bytes)
  }

  #credit(stream: Http2Stream, bytes: number): void {
    stream.consumed += bytes
    // The smallest window that the peer may be using counts: Bun's server (1.4) acknowledges a larger one, but applies
    // it only to streams that are opened later.
    if (stream.consumed * UPDATE_PART < stream.leastWindow) return
    this.#update(stream)
    this.#measure()
  }

  /** Half a window has been read: only then does enough data arrive to measure the path. */
  #measure(): void {
    // The data that is read now may have arrived before the ACK of the last PING. Then another PING would be a strike.
    if (!this.#windows.mayGrow || !this.#pings.isFree) return
    const now = this.#now()
    if (!this.#meter.begin(now)) return
    this.#pings.onSent(now, true)
    this.#output.ping(this.#onMeasured)
  }

  /** Sends WINDOW_UPDATE for the bytes that were read. */
  #update(stream: Http2Stream): void {
    const { consumed } = stream
    if (consumed === 0 || stream.phase === 'whole' || stream.isCancelled) return
    this.#output.writer.windowUpdate(stream.id, consumed)
    stream.receiveWindow += consumed
    stream.consumed = 0
    this.#output.requestFlush()
  }

  /** Streams with readers that read must not wait for streams with readers that don't. */
  #overcommit(): void {
    const { connection } = this.#windows
    if (this.#reading === 0 || connection.held === 0) return
    if (connection.overcommit()) this.#announceConnection()
  }

  #announceConnection(): void {
    const increment = this.#windows.connection.announce()
    if (increment === 0) return
    this.#output.writer.windowUpdate(0, increment)
    this.#output.requestFlush()
  }

  #adapt(): void {
    const now = this.#now()
    this.#pings.onAck(now)
    const bytes = this.#meter.end(now)
    if (bytes === 0) return
    const hasGrown = this.#windows.adapt(bytes)
    if (hasGrown) this.announce()
    this.#meter.conclude(now, hasGrown)
  }
}
