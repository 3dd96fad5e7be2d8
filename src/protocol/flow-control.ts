/**
 * Flow control of what we receive (RFC 9113 §5.2, §6.9): how much the peer may send, and when we send WINDOW_UPDATE.
 *
 * @module
 */

import { toUneven } from '../options/window-size.ts'
import { BandwidthMeter } from './bandwidth.ts'
import { DEFAULT_WINDOW } from './frames.ts'
import type { Output } from './output.ts'
import type { PingLedger } from './ping-ledger.ts'
import { ReceiveWindow } from './receive-window.ts'
import type { Http2Stream } from './stream.ts'

/** Sizes of the receive windows. Bytes. */
export interface WindowSizes {
  /** The stream window at first: SETTINGS_INITIAL_WINDOW_SIZE. */
  readonly streamWindow: number
  /** The size to which the stream window may grow. */
  readonly maxStreamWindow: number
  /** The connection window at first. */
  readonly connectionWindow: number
  /** The size to which the connection window may grow. */
  readonly maxConnectionWindow: number
  /** How much may be buffered unread for all streams together. */
  readonly maxBuffer: number
}

/** Gives the time, and sends PINGs. */
export interface FlowOwner {
  /** The PINGs that we have sent, as a server that counts them would count. */
  readonly pings: PingLedger
  /** Milliseconds since some fixed point. */
  now(): number
  /** Sends a PING. @param onAck isn't called when the connection ends first */
  ping(onAck: () => void): void
  /** The bandwidth-delay product was measured: streams may go faster with windows of this many bytes. */
  onBandwidth(bytes: number): void
}

/**
 * A window slows the sender down when this part of it is in flight, as a fraction. The part can't be much more than a
 * half: WINDOW_UPDATE goes out when half of the window was read, and the data that it allows for comes one round trip
 * later.
 */
const FULL = 0.4
/** The factor by which a window grows then. */
const GROWTH = 2

/** WINDOW_UPDATE goes out when one part of this many of the window was read. */
const UPDATE_PART = 2

/** The windows of one connection and its streams. */
export class ReceiveFlow {
  readonly #output: Output
  readonly #owner: FlowOwner
  readonly #connection: ReceiveWindow
  readonly #maxConnectionWindow: number
  readonly #maxStreamWindow: number
  readonly #meter = new BandwidthMeter()
  readonly #onMeasured = (): void => this.#grow()
  /**
   * The receive window of a stream that is opened now. Bytes. Before the first ACK it is at least the protocol's
   * default, which the peer may still use (§6.9.2).
   */
  #streamWindow: number
  /** The SETTINGS_INITIAL_WINDOW_SIZE that was announced last. Bytes. */
  #announced: number
  /** The peer has acknowledged our first SETTINGS. */
  #hasAck = false
  /** The number of open streams that have no unread data. */
  #reading = 0

  constructor(sizes: WindowSizes, output: Output, owner: FlowOwner) {
    this.#output = output
    this.#owner = owner
    this.#announced = sizes.streamWindow
    this.#streamWindow = Math.max(sizes.streamWindow, DEFAULT_WINDOW)
    this.#maxConnectionWindow = sizes.maxConnectionWindow
    this.#maxStreamWindow = sizes.maxStreamWindow
    this.#connection = new ReceiveWindow(DEFAULT_WINDOW, sizes.maxBuffer)
    this.#connection.grow(sizes.connectionWindow)
  }

  /** Bytes that were received and not read yet, of all streams. */
  get held(): number {
    return this.#connection.held
  }

  /** Announces the connection window, where it is to be larger than the protocol's default (§6.9.2). */
  start(): void {
    this.#announceConnection()
  }

  /** A stream is opened. */
  open(stream: Http2Stream): void {
    stream.receiveWindow = this.#streamWindow
    stream.leastWindow = this.#announced
    this.#reading++
    this.#overcommit()
  }

  /** A stream is closed. Its unread data may still be read later. */
  close(stream: Http2Stream): void {
    if (stream.held === 0) this.#reading--
  }

  /**
   * Another SETTINGS_INITIAL_WINDOW_SIZE goes out, together with a WINDOW_UPDATE of each stream for the bytes that were
   * read.
   *
   * A larger size counts at once, since the peer may use it before its ACK comes. WINDOW_UPDATE goes along because some
   * peers that have used their window up continue at WINDOW_UPDATE only. It has no credit for the growth: a peer that
   * applies SETTINGS as RFC 9113 §6.9.2 says would have that twice. With a smaller size it is needed, too: the bytes
   * read under the larger window may be more than the whole smaller one, and no further data would come in to trigger a
   * WINDOW_UPDATE.
   */
  announce(size: number, streams: Iterable<Http2Stream>): void {
    this.#announced = size
    const growth = Math.max(0, size - this.#streamWindow)
    this.#streamWindow += growth
    for (const stream of streams) {
      stream.receiveWindow += growth
      stream.leastWindow = Math.min(stream.leastWindow, size)
      this.#update(stream)
    }
  }

  /**
   * The peer has acknowledged this size. On streams that are opened from now on it sends within this size, or within
   * one that was announced since.
   *
   * A stream that was open before a smaller size was announced keeps its window: Bun's server (1.4) acknowledges the
   * size, and gives it only to streams that are opened later. The connection window bounds what comes. The first
   * SETTINGS precede all streams.
   */
  acknowledge(size: number, streams: Iterable<Http2Stream>): void {
    const change = Math.max(size, this.#announced) - this.#streamWindow
    this.#streamWindow += change
    if (!this.#hasAck) for (const stream of streams) stream.receiveWindow += change
    this.#hasAck = true
  }

  /** Grows the connection window. @param size bytes; no effect unless it is larger than before */
  growConnection(size: number): void {
    this.#connection.grow(size)
    this.#announceConnection()
  }

  /** Counts bytes that were received on any stream. @returns false when the peer has exceeded the connection window */
  receive(bytes: number): boolean {
    this.#meter.add(bytes)
    return this.#connection.receive(bytes)
  }

  /** Received bytes were thrown away, or were padding. */
  discard(bytes: number): void {
    this.#connection.consume(bytes)
    if (!this.#connection.isUpdateDue) return
    this.#announceConnection()
    this.#measure()
  }

  /** The reader has taken a piece of the stream's data at once. */
  consume(stream: Http2Stream, bytes: number): void {
    this.discard(bytes)
    if (stream.phase !== 'whole') this.#credit(stream, bytes)
  }

  /** The reader has not taken a piece of the stream's data yet: it is buffered. */
  hold(stream: Http2Stream, bytes: number): void {
    if (stream.held === 0 && stream.state !== 'closed') this.#reading--
    stream.held += bytes
    this.#connection.hold(bytes)
    this.#overcommit()
    // Buffered bytes don't count for the threshold any more, so that WINDOW_UPDATE may be due now.
    if (this.#connection.isUpdateDue) this.#announceConnection()
  }

  /** The reader has taken buffered data, or it was thrown away. */
  release(stream: Http2Stream, bytes: number): void {
    stream.held -= bytes
    this.#connection.release(bytes)
    if (stream.held === 0 && stream.state !== 'closed') {
      this.#reading++
      this.#overcommit()
    }
    if (this.#connection.isUpdateDue) this.#announceConnection()
    if (stream.phase !== 'whole' && stream.state !== 'closed' && !stream.isAbandoned)
      this.#credit(stream, bytes)
  }

  #credit(stream: Http2Stream, bytes: number): void {
    stream.consumed += bytes
    // By the window that each peer knows of: Bun's server (1.4) acknowledges a larger one, and gives it only to streams
    // that are opened later.
    if (stream.consumed * UPDATE_PART < stream.leastWindow) return
    this.#update(stream)
    this.#measure()
  }

  /** Half a window was read: only then enough data comes in to measure the path. */
  #measure(): void {
    const mayGrow =
      this.#announced < this.#maxStreamWindow || this.#connection.size < this.#maxConnectionWindow
    const { pings } = this.#owner
    // The data that is read now may have come before the ACK of the last PING. Then another PING would be a strike.
    if (!mayGrow || !pings.isFree) return
    const now = this.#owner.now()
    if (!this.#meter.begin(now)) return
    pings.onSent(now, true)
    this.#owner.ping(this.#onMeasured)
  }

  /** Sends WINDOW_UPDATE for the bytes that were read. */
  #update(stream: Http2Stream): void {
    const { consumed } = stream
    if (consumed === 0 || stream.phase === 'whole' || stream.isAbandoned) return
    this.#output.writer.windowUpdate(stream.id, consumed)
    stream.receiveWindow += consumed
    stream.consumed = 0
    this.#output.requestFlush()
  }

  /** Streams whose readers read must not wait for streams whose readers don't. */
  #overcommit(): void {
    if (this.#reading === 0 || this.#connection.held === 0) return
    if (this.#connection.overcommit()) this.#announceConnection()
  }

  #announceConnection(): void {
    const increment = this.#connection.announce()
    if (increment === 0) return
    this.#output.writer.windowUpdate(0, increment)
    this.#output.requestFlush()
  }

  #grow(): void {
    const now = this.#owner.now()
    this.#owner.pings.onAck(now)
    const bytes = this.#meter.end(now)
    if (bytes === 0) return
    const before = this.#connection.size + this.#announced
    if (bytes >= this.#connection.size * FULL) {
      const larger = this.#connection.size * GROWTH
      this.#connection.grow(larger < this.#maxConnectionWindow ? toUneven(larger) : this.#maxConnectionWindow)
      this.#announceConnection()
    }
    if (bytes >= this.#announced * FULL) this.#owner.onBandwidth(this.#announced * GROWTH)
    this.#meter.conclude(now, this.#connection.size + this.#announced > before)
  }
}
