/**
 * One connection's streams, by their ids.
 *
 * @module
 */

import { MAX_STREAM_ID } from './frames.ts'
import type { Http2Stream } from './stream.ts'
import { canSend } from './stream-state.ts'

/** The ring's initial size: most connections have few streams at once. A power of two, as after each doubling. */
const PLACES = 32

/** A pass over this many free places in the ring takes as long as over one stream. */
const FREE_PLACES = 8

/** How many streams are remembered as ended by the peer: at most one for each place in a ring. A power of two. */
const REMEMBERED = 128

/**
 * The streams that aren't closed. Ids only grow, so a stream's place in a ring follows from its id. When a new stream
 * needs a long-lived one's place, the old one moves to a map.
 *
 * A Map alone would work, but is slower for objects that live as briefly as a request: see `core/unordered-list.ts`.
 */
export class StreamTable {
  #ring: (Http2Stream | null)[] = new Array<Http2Stream | null>(PLACES).fill(null)
  readonly #old = new Map<number, Http2Stream>()
  #size = 0
  /**
   * The ids of streams that the peer has ended; 0 for none. The place follows from the id, so a stream is looked up in
   * one place. It is forgotten when a stream ends that was opened a multiple of `REMEMBERED` streams after it.
   */
  readonly #ended = new Uint32Array(REMEMBERED)
  /** The id of the stream that was opened last; -1 before the first. A client's ids are odd (RFC 9113 §5.1.1). */
  #lastId: number
  #lastAcceptedId = 0

  /** @param lastId the id before the first stream's; -1 for a new connection */
  constructor(lastId = -1) {
    this.#lastId = lastId
  }

  get size(): number {
    return this.#size
  }

  /** Whether there is an id left for another stream. */
  get hasIds(): boolean {
    return this.nextId <= MAX_STREAM_ID
  }

  /** The next stream's id. */
  get nextId(): number {
    return this.#lastId + 2
  }

  /** The highest stream on which the peer has sent a frame that shows that it has accepted the request; 0 for none. */
  get lastAcceptedId(): number {
    return this.#lastAcceptedId
  }

  /** The peer has sent such a frame, possibly on a stream that is closed here. */
  recordAccepted(streamId: number): void {
    if (streamId > this.#lastAcceptedId) this.#lastAcceptedId = streamId
  }

  /** Adds a stream, and gives it its id. */
  add(stream: Http2Stream): void {
    this.#lastId = this.nextId
    stream.id = this.#lastId
    this.#size++
    if (this.#size * 2 > this.#ring.length) this.#grow()
    const place = this.#toPlace(stream.id)
    const older = this.#ring[place] ?? null
    if (older !== null) this.#old.set(older.id, older)
    this.#ring[place] = stream
  }

  get(streamId: number): Http2Stream | null {
    const stream = this.#ring[this.#toPlace(streamId)] ?? null
    if (stream !== null && stream.id === streamId) return stream
    return this.#old.size === 0 ? null : (this.#old.get(streamId) ?? null)
  }

  /**
   * Removes a closed stream.
   *
   * @param isEnded whether the peer has sent END_STREAM
   * @returns false if it was removed before
   */
  delete(stream: Http2Stream, isEnded: boolean): boolean {
    const place = this.#toPlace(stream.id)
    if (this.#ring[place] === stream) this.#ring[place] = null
    else if (!this.#old.delete(stream.id)) return false
    this.#size--
    if (isEnded) this.#ended[toEndedPlace(stream.id)] = stream.id
    return true
  }

  /** Whether the stream was never opened, or not yet: RFC 9113 §5.1 calls it idle. */
  isIdle(streamId: number): boolean {
    return streamId > this.#lastId || streamId % 2 === 0
  }

  /**
   * Whether the peer has sent END_STREAM on it lately. A frame after that is the peer's error (RFC 9113 §5.1). A frame
   * after our own RST_STREAM was in flight, and must be ignored. For a stream that isn't remembered, the second case is
   * assumed.
   */
  hasEnded(streamId: number): boolean {
    return streamId !== 0 && this.#ended[toEndedPlace(streamId)] === streamId
  }

  /**
   * The oldest stream, from an id on, that we may still send data on; null for none.
   *
   * @param from an odd id
   */
  firstUpload(from: number): Http2Stream | null {
    // It is usually the first id, or one of the next.
    const end = Math.min(this.#lastId, from + 2 * this.#size)
    for (let id = from; id <= end; id += 2) {
      const stream = this.get(id)
      if (stream !== null && isUpload(stream)) return stream
    }
    let first: Http2Stream | null = null
    if (end < this.#lastId) {
      for (const stream of this.#toList(end)) {
        if (isUpload(stream) && (first === null || stream.id < first.id)) first = stream
      }
    }
    return first
  }

  /** How much a pass over all streams examines, in streams: a free place in the ring takes a fraction of the time. */
  get passSize(): number {
    return this.#size + this.#ring.length / FREE_PLACES
  }

  /** A new list of all streams, in no particular order. */
  values(): Http2Stream[] {
    return this.#toList(-1)
  }

  /** A new list of the streams above an id, in the order in which they were opened. */
  above(streamId: number): Http2Stream[] {
    return this.#toList(streamId).sort((one, other) => one.id - other.id)
  }

  #toList(above: number): Http2Stream[] {
    const streams: Http2Stream[] = []
    for (const stream of this.#old.values()) if (stream.id > above) streams.push(stream)
    for (const stream of this.#ring) if (stream !== null && stream.id > above) streams.push(stream)
    return streams
  }

  #toPlace(streamId: number): number {
    return (streamId >>> 1) & (this.#ring.length - 1)
  }

  #grow(): void {
    const streams = this.#ring
    this.#ring = new Array<Http2Stream | null>(streams.length * 2).fill(null)
    for (const stream of streams) if (stream !== null) this.#ring[this.#toPlace(stream.id)] = stream
  }
}

function isUpload({ state, isCancelled }: Http2Stream): boolean {
  return canSend(state) && !isCancelled
}

function toEndedPlace(streamId: number): number {
  return (streamId >>> 1) & (REMEMBERED - 1)
}
