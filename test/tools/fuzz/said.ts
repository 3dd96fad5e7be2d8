/** The frames of a peer on a connection, as any client must read them: the data of its streams, and its limits. */

import type { Frame } from '../../../src/testing/frames.ts'
import { Flag, FrameParser, Setting, Type, toContent, toSettings } from '../../../src/testing/frames.ts'

/** RFC 9113 §6.5.2: before the first SETTINGS. */
const WINDOW = 65_535
const FRAME_SIZE = 16_384
const TABLE_SIZE = 4_096

/** The settings after one SETTINGS frame and all before it. */
export interface Allowed {
  readonly streams: number
  readonly window: number
  readonly frameSize: number
  readonly tableSize: number
}

const AT_FIRST: Allowed = {
  streams: Number.POSITIVE_INFINITY,
  window: WINDOW,
  frameSize: FRAME_SIZE,
  tableSize: TABLE_SIZE,
}

/** The frames of a peer on one stream. */
export class SaidStream {
  /** The content of DATA up to END_STREAM, or RST_STREAM. */
  readonly chunks: Buffer[] = []
  /** By WINDOW_UPDATE. */
  credit = 0
  hasEnded = false
  /** Null without RST_STREAM. */
  resetCode: number | null = null

  get isOver(): boolean {
    return this.hasEnded || this.resetCode !== null
  }
}

/**
 * Reads the bytes of a peer, as long as they are frames. If they can be read in two ways, it takes the more permissive
 * one.
 */
export class Said {
  /** After each SETTINGS frame, in order; the first entry is what holds without any. */
  readonly allowed: Allowed[] = [AT_FIRST]
  readonly streams = new Map<number, SaidStream>()
  /** Credit of the connection. */
  credit = WINDOW
  /** PINGs so far, when the first GOAWAY was said; null without one. */
  pingsAtGoaway: number | null = null
  pings = 0
  readonly #parser = new FrameParser((frame) => this.#take(frame), 'server')

  write(bytes: Buffer): void {
    this.#parser.push(bytes)
  }

  stream(id: number): SaidStream {
    const known = this.streams.get(id)
    if (known !== undefined) return known
    const stream = new SaidStream()
    this.streams.set(id, stream)
    return stream
  }

  #take(frame: Frame): void {
    const { type, flags, streamId, payload } = frame
    const isAck = (flags & Flag.ACK) !== 0
    switch (type) {
      case Type.DATA:
        this.#onData(frame)
        break
      case Type.HEADERS:
        if ((flags & Flag.END_STREAM) !== 0) this.stream(streamId).hasEnded = true
        break
      case Type.RST_STREAM:
        if (payload.length === 4) this.stream(streamId).resetCode ??= payload.readUInt32BE(0)
        break
      case Type.SETTINGS:
        if (!isAck) this.#onSettings(frame)
        break
      case Type.PING:
        if (!isAck && payload.length === 8) this.pings++
        break
      case Type.GOAWAY:
        if (payload.length >= 8 && streamId === 0) this.pingsAtGoaway ??= this.pings
        break
      case Type.WINDOW_UPDATE:
        if (payload.length === 4) this.#onCredit(streamId, payload.readUInt32BE(0) & (2 ** 31 - 1))
    }
  }

  #onData(frame: Frame): void {
    const stream = this.stream(frame.streamId)
    if (stream.isOver) return
    try {
      stream.chunks.push(Buffer.from(toContent(frame)))
    } catch (thrown) {
      // PADDED, and no room for the pad length: the client must not read on.
      if (!(thrown instanceof RangeError)) throw thrown
    }
    if ((frame.flags & Flag.END_STREAM) !== 0) stream.hasEnded = true
  }

  #onCredit(streamId: number, increment: number): void {
    if (streamId === 0) this.credit += increment
    else this.stream(streamId).credit += increment
  }

  #onSettings(frame: Frame): void {
    const latest = this.allowed.at(-1) ?? AT_FIRST
    const entries = new Map(toSettings(frame))
    this.allowed.push({
      streams: entries.get(Setting.MAX_CONCURRENT_STREAMS) ?? latest.streams,
      window: entries.get(Setting.INITIAL_WINDOW_SIZE) ?? latest.window,
      frameSize: entries.get(Setting.MAX_FRAME_SIZE) ?? latest.frameSize,
      tableSize: entries.get(Setting.HEADER_TABLE_SIZE) ?? latest.tableSize,
    })
  }
}
