/** Sessions that go wrong at random, and what must hold for a client's connection whatever a peer says. */

import type { Frame } from '../../../src/testing/frames.ts'
import { Flag, frames, Type, toContent } from '../../../src/testing/frames.ts'
import { HpackDecoder } from '../../../src/testing/hpack.ts'
import { mutate } from '../../tools/fuzz/mutate.ts'
import { Random } from '../hpack/support.ts'
import { cutAtRandom } from './event-log.ts'
import type { Recording } from './recording.ts'
import type { HeardStream, Reading } from './rig.ts'
import { Rig } from './rig.ts'

/** What many rounds have come to. */
export interface FuzzCounts {
  rounds: number
  bytes: number
  /** By the code of GOAWAY. */
  readonly faults: Map<number, number>
  /** Events of streams. */
  events: number
}

const MAX_BUFFER = 268_435_456
/** Nothing is heard of a stream after one of these. */
const LAST = /^(reset|refused|breach|forgotten)/
const MAX_FRAME_SIZE = 16_384

/** Plays one round of a seed. @throws Error that names the seed, when anything but a fault comes of it */
export function fuzzOnce(recordings: readonly Recording[], seed: number, counts: FuzzCounts): void {
  try {
    new Round(recordings, seed).play(counts)
  } catch (thrown) {
    throw new Error(`Seed ${seed}: ${thrown instanceof Error ? thrown.stack : String(thrown)}`)
  }
  counts.rounds++
}

/** No round was played. */
export function toCounts(): FuzzCounts {
  return { rounds: 0, bytes: 0, faults: new Map(), events: 0 }
}

/** One session, of one seed. */
class Round {
  readonly #random: Random
  readonly #rig: Rig
  readonly #bytes: Buffer
  readonly #decoder = new HpackDecoder()
  #block: Frame[] = []

  constructor(recordings: readonly Recording[], seed: number) {
    this.#random = new Random(seed)
    const recording = recordings[this.#random.below(recordings.length)]
    if (recording === undefined) throw new Error('There is nothing to play')
    this.#rig = new Rig()
    for (const method of recording.methods) this.#open(method === 'HEAD')
    this.#bytes = this.#mutate(recording.bytes)
  }

  play(counts: FuzzCounts): void {
    const rig = this.#rig
    for (const chunk of cutAtRandom(this.#bytes, this.#random)) {
      rig.receive(chunk)
      if (rig.faults.length === 0) this.#act()
      this.#check(rig.take())
      if (rig.faults.length > 0) break
    }
    // After a fault nothing is heard, and nothing is said.
    if (rig.faults.length > 0) {
      rig.receive(frames.ping(), this.#bytes)
      require(rig.take().length === 0, 'something was said after GOAWAY')
    }
    this.#checkStreams()
    require(rig.late === 0, 'something was heard after the fault')
    const [fault] = rig.faults
    if (fault !== undefined) counts.faults.set(fault.code, (counts.faults.get(fault.code) ?? 0) + 1)
    counts.bytes += this.#bytes.length
    counts.events += rig.streams.reduce((sum, { events }) => sum + events.length, 0)
  }

  #open(isHead: boolean): HeardStream {
    const reading: Reading = this.#random.below(2) === 0 ? 'reads' : 'holds'
    return this.#rig.open({ isHead, reading, hasBody: this.#random.below(4) === 0 })
  }

  /** Something that a client does meanwhile. */
  #act(): void {
    const { http2, streams } = this.#rig
    const stream = streams[this.#random.below(streams.length)]
    if (stream === undefined) return
    // Who has abandoned a stream sends nothing more on it.
    const canWrite = !stream.isSending && !stream.isCancelled
    switch (this.#random.below(12)) {
      case 0:
        http2.reset(stream, 8)
        break
      case 1:
        if (canWrite)
          http2.send(stream, Buffer.alloc(this.#random.below(40_000)), this.#random.below(3) === 0)
        break
      case 2:
        http2.flow.release(stream, this.#random.below(stream.held + 1))
        break
      case 3:
        this.#rig.setStreamWindow(1 + this.#random.below(2_000_000))
        break
      case 4:
        http2.ping(() => {})
        break
      case 5:
        if (http2.canTake) this.#open(false)
        break
      case 6:
        http2.cancel(stream)
        break
      case 7:
        if (canWrite) http2.sendTrailers(stream, ['x-end', '1'])
    }
  }

  #mutate(bytes: Buffer): Buffer {
    return Buffer.concat(mutate(toFrameList(bytes), this.#random, this.#random.below(6)))
  }

  /** What the client has said is HTTP/2, whatever it was told (RFC 9113 §4). */
  #check(sent: readonly Frame[]): void {
    for (const [at, frame] of sent.entries()) {
      const limit = Math.max(MAX_FRAME_SIZE, this.#rig.http2.server.maxFrameSize)
      require(frame.payload.length <= limit, `a frame of ${frame.payload.length} bytes was sent`)
      require(frame.type !== Type.GOAWAY || at === sent.length - 1, 'frames were sent after GOAWAY')
      require(frame.type !== Type.WINDOW_UPDATE ||
        frame.payload.readUInt32BE(0) > 0, 'a window was opened by 0')
      const isBlock = frame.type === Type.HEADERS || frame.type === Type.CONTINUATION
      require(isBlock || this.#block.length === 0, 'a header block was interrupted')
      if (isBlock) this.#takeBlock(frame)
    }
  }

  #takeBlock(frame: Frame): void {
    this.#block.push(frame)
    if ((frame.flags & Flag.END_HEADERS) === 0) return
    this.#decoder.decode(Buffer.concat(this.#block.map(toContent)))
    this.#block = []
  }

  #checkStreams(): void {
    for (const stream of this.#rig.streams) {
      const end = stream.events.findIndex((event) => LAST.test(event))
      require(end === -1 ||
        end === stream.events.length - 1, `stream ${stream.id}: ${stream.events.join(', ')}`)
      const responses = stream.events.filter((event) => event.startsWith('response') || event === 'trailers')
      require(responses.length <= 2, `stream ${stream.id} was answered twice: ${stream.events.join(', ')}`)
      require(stream.held >= 0, `stream ${stream.id} holds ${stream.held} bytes`)
    }
    const { held } = this.#rig.http2.flow
    const sum = this.#rig.streams.reduce((all, stream) => all + stream.held, 0)
    require(held === sum && held <= MAX_BUFFER, `${held} bytes are held, ${sum} by streams`)
  }
}

function require(condition: boolean, message: string): void {
  if (!condition) throw new Error(message)
}

/** The frames of a recording, each with its header. */
function toFrameList(bytes: Buffer): Buffer[] {
  const list: Buffer[] = []
  for (let at = 0; at + 9 <= bytes.length; ) {
    const end = at + 9 + bytes.readUIntBE(at, 3)
    list.push(bytes.subarray(at, end))
    at = end
  }
  return list
}
