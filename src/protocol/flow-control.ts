/**
 * Flow control of what comes (RFC 9113 §5.2, §6.9): who may send how much, and when it is told of more.
 *
 * @module
 */

import { toUneven } from '../core/window-size.ts'
import { BandwidthMeter } from './bandwidth.ts'
import { DEFAULT_WINDOW } from './frames.ts'
import type { Output } from './output.ts'
import type { PingLedger } from './ping-ledger.ts'
import { ReceiveWindow } from './receive-window.ts'
import type { Http2Stream } from './stream.ts'

/** How large the receive windows are. Bytes. */
export interface WindowSizes {
  /** That of each stream, at first: SETTINGS_INITIAL_WINDOW_SIZE. */
  readonly streamWindow: number
  /** What that may grow to. */
  readonly maxStreamWindow: number
  /** That of the connection, at first. */
  readonly connectionWindow: number
  /** What the connection's may grow to. */
  readonly maxConnectionWindow: number
  /** How much may lie unread for all streams together. */
  readonly maxBuffer: number
}

/** Who knows the time, and sends PINGs. */
export interface FlowOwner {
  /** What the peer may think of PINGs. */
  readonly pings: PingLedger
  /** Milliseconds since some fixed point. */
  now(): number
  /** Sends a PING; `onAck` isn't called when the connection ends first. */
  ping(onAck: () => void): void
  /** The path holds so many bytes: streams may go faster with windows of that size. */
  onBandwidth(bytes: number): void
}

/**
 * A window is what holds the sender up when so large a part of it is on its way, as a fraction. It can't be much more
 * than the half: credit goes out when half of the window was read, and what that lets the sender send comes a round
 * trip later.
 */
const FULL = 0.4
/** By how much a window grows then. */
const GROWTH = 2

/** A stream, or the connection, is told of new credit once this part of its window has come back. */
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
   * What streams are opened with: before the first ACK the peer may take the protocol's own default for it (§6.9.2).
   */
  #streamWindow: number
  /** What was announced last. */
  #announced: number
  /** Open streams none of whose data lies unread. */
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

  /** Bytes that lie unread. */
  get held(): number {
    return this.#connection.held
  }

  /** What the connection's window was before anything was said, and is to be from now on (§6.9.2). */
  start(): void {
    this.#announceConnection()
  }

  /** A stream is opened. */
  open(stream: Http2Stream): void {
    stream.receiveWindow = this.#streamWindow
    stream.toldWindow = this.#announced
    this.#reading++
    this.#overcommit()
  }

  /** A stream is closed: what lies unread of it may be read later. */
  close(stream: Http2Stream): void {
    if (stream.held === 0) this.#reading--
  }

  /**
   * Another SETTINGS_INITIAL_WINDOW_SIZE goes out, and with it what was read of each stream, as WINDOW_UPDATE.
   *
   * A larger one counts at once, since the peer may use it before its ACK comes; but there are peers that have used
   * their window up, and go on at WINDOW_UPDATE alone. Of a smaller one, what was read of the larger may be more than
   * all of it: nothing would come that could bring it up again.
   */
  announce(size: number, streams: Iterable<Http2Stream>): void {
    this.#announced = size
    const growth = Math.max(0, size - this.#streamWindow)
    this.#streamWindow += growth
    for (const stream of streams) {
      stream.receiveWindow += growth
      this.#update(stream)
    }
  }

  /** The peer has acknowledged this size: what it sends from now on keeps to it, or to one that was announced since. */
  acknowledge(size: number, streams: Iterable<Http2Stream>): void {
    this.#resize(Math.max(size, this.#announced), streams)
  }

  #resize(size: number, streams: Iterable<Http2Stream>): void {
    const change = size - this.#streamWindow
    this.#streamWindow = size
    if (change !== 0) for (const stream of streams) stream.receiveWindow += change
  }

  /** The connection's own window becomes larger. @param size in bytes; a smaller one than before changes nothing */
  growConnection(size: number): void {
    this.#connection.grow(size)
    this.#announceConnection()
  }

  /** So much has come, on whatever stream. @returns false when that was more than allowed */
  receive(bytes: number): boolean {
    this.#meter.add(bytes)
    return this.#connection.receive(bytes)
  }

  /** It was thrown away, or was padding. */
  discard(bytes: number): void {
    this.#connection.consume(bytes)
    if (!this.#connection.isUpdateDue) return
    this.#announceConnection()
    this.#measure()
  }

  /** A piece of its data was read as it came. */
  consume(stream: Http2Stream, bytes: number): void {
    this.discard(bytes)
    if (stream.phase !== 'whole') this.#credit(stream, bytes)
  }

  /** A piece of its data lies unread. */
  hold(stream: Http2Stream, bytes: number): void {
    if (stream.held === 0 && stream.state !== 'closed') this.#reading--
    stream.held += bytes
    this.#connection.hold(bytes)
    this.#overcommit()
    // What is tied up is no part of it any more: less is enough to be told of.
    if (this.#connection.isUpdateDue) this.#announceConnection()
  }

  /** What lay unread was read, or thrown away. */
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
    if (stream.consumed * UPDATE_PART < Math.min(this.#announced, stream.toldWindow)) return
    this.#update(stream)
    this.#measure()
  }

  /** Half a window was read: only where so much comes it can be told how much the path holds. */
  #measure(): void {
    const mayGrow =
      this.#announced < this.#maxStreamWindow || this.#connection.size < this.#maxConnectionWindow
    const { pings } = this.#owner
    // What is read now may have come before the last PING was answered: then this one would be a strike.
    if (!mayGrow || !pings.isFree) return
    const now = this.#owner.now()
    if (!this.#meter.begin(now)) return
    pings.onSent(now, true)
    this.#owner.ping(this.#onMeasured)
  }

  /** Tells the peer of what was read. */
  #update(stream: Http2Stream): void {
    const { consumed } = stream
    if (consumed === 0 || stream.phase === 'whole' || stream.isAbandoned) return
    this.#output.writer.windowUpdate(stream.id, consumed)
    stream.receiveWindow += consumed
    stream.toldWindow = this.#announced
    stream.consumed = 0
    this.#output.requestFlush()
  }

  /** Who reads shall not wait for those that don't. */
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
    this.#owner.pings.onResponded(now)
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
