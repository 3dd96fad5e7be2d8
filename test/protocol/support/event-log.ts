/** What a frame reader tells, so that it can be compared however the bytes were cut. */

import type { ConnectionFrameListener, StreamFrameListener } from '../../../src/protocol/frame-reader.ts'
import { FrameReader } from '../../../src/protocol/frame-reader.ts'
import { ConnectionFault } from '../../../src/protocol/protocol-error.ts'
import type { Random } from '../hpack/support.ts'

/**
 * One line for each event. DATA that comes in several pieces is one line, with what all of them have in all; where an
 * event of another kind, or of another stream, comes between two DATA frames, they are two.
 */
export class EventLog implements StreamFrameListener, ConnectionFrameListener {
  readonly #lines: string[] = []
  #dataOf = 0
  #text = ''
  #flow = 0

  /** All so far. */
  get lines(): readonly string[] {
    this.#endData(false)
    return this.#lines
  }

  onData(streamId: number, bytes: Buffer, start: number, end: number, flow: number, isEnd: boolean): void {
    if (streamId !== this.#dataOf) this.#endData(false)
    this.#dataOf = streamId
    this.#text += bytes.toString('latin1', start, end)
    this.#flow += flow
    if (isEnd) this.#endData(true)
  }

  onHeaderBlock(streamId: number, bytes: Buffer, start: number, end: number, isEnd: boolean): void {
    this.#add(`block ${streamId} isEnd=${isEnd} ${bytes.toString('latin1', start, end)}`)
  }

  onReset(streamId: number, code: number): void {
    this.#add(`reset ${streamId} ${code}`)
  }

  onSettings(bytes: Buffer, start: number, end: number): void {
    this.#add(`settings ${bytes.toString('hex', start, end)}`)
  }

  onSettingsAck(): void {
    this.#add('settings ack')
  }

  onPing(bytes: Buffer, start: number, isAck: boolean): void {
    this.#add(`ping isAck=${isAck} ${bytes.toString('hex', start, start + 8)}`)
  }

  onGoaway(lastStreamId: number, code: number, debugData: Buffer | null): void {
    this.#add(`goaway ${lastStreamId} ${code} ${debugData?.toString('latin1') ?? 'nothing'}`)
  }

  onWindowUpdate(streamId: number, increment: number): void {
    this.#add(`window ${streamId} ${increment}`)
  }

  onConnectionWindowUpdate(increment: number): void {
    this.#add(`window 0 ${increment}`)
  }

  onPriority(streamId: number, size: number): void {
    this.#add(`priority ${streamId} of ${size}`)
  }

  onOrigins(origins: readonly string[]): void {
    this.#add(['origins', ...origins].join(' '))
  }

  onIgnored(_size: number): void {
    this.#add('ignored')
  }

  #add(line: string): void {
    this.#endData(false)
    this.#lines.push(line)
  }

  #endData(isEnd: boolean): void {
    if (this.#dataOf === 0) return
    this.#lines.push(`data ${this.#dataOf} flow=${this.#flow} isEnd=${isEnd} ${this.#text}`)
    this.#dataOf = 0
    this.#text = ''
    this.#flow = 0
  }
}

/** What a reader tells of these chunks; a fault is the last line. */
export function read(chunks: Iterable<Buffer>): readonly string[] {
  const log = new EventLog()
  const reader = new FrameReader(log, log)
  try {
    for (const chunk of chunks) reader.receive(chunk)
  } catch (thrown) {
    if (!(thrown instanceof ConnectionFault)) throw thrown
    return [...log.lines, `fault ${thrown.code}`]
  }
  return log.lines
}

/** Pieces that end at these offsets; the rest is the last of them. */
export function cutAt(bytes: Buffer, offsets: readonly number[]): Buffer[] {
  const pieces: Buffer[] = []
  let start = 0
  for (const end of offsets) {
    pieces.push(bytes.subarray(start, end))
    start = end
  }
  return [...pieces, bytes.subarray(start)]
}

/** Pieces of random sizes: many of them tiny, some large. */
export function cutAtRandom(bytes: Buffer, random: Random): Buffer[] {
  const pieces: Buffer[] = []
  for (let at = 0; at < bytes.length; ) {
    const size = 1 + random.below(random.pick([2, 12, 200, 5_000, 70_000]))
    pieces.push(bytes.subarray(at, at + size))
    at += size
  }
  return pieces
}
