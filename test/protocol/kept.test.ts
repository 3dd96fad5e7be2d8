import { describe, expect, it, onTestFinished, vi } from 'vitest'
import { HpackDecoder } from '../../src/protocol/hpack/decoder.ts'
import { toResponseHeaders } from '../../src/request/header-object.ts'
import { Random } from './hpack/support.ts'
import { cutAtRandom } from './support/event-log.ts'
import type { Recording } from './support/recording.ts'
import { HAND_MADE, recordNode } from './support/recording.ts'
import type { Rig } from './support/rig.ts'
import { startRig } from './support/rig.ts'

/** Where chunks come from. */
type Allocate = (bytes: Buffer) => Buffer

const SLAB = 65_536

/** As a socket does it: each chunk is a new part of a buffer, behind those before it. */
function toSocketLike(): Allocate {
  let slab = Buffer.alloc(SLAB)
  let used = 0
  return (bytes) => {
    if (bytes.length > slab.length - used) {
      slab = Buffer.alloc(Math.max(SLAB, bytes.length))
      used = 0
    }
    const chunk = slab.subarray(used, used + bytes.length)
    used += bytes.copy(chunk)
    return chunk
  }
}

/** What must not be: one buffer for all chunks. */
function toReusing(): Allocate {
  const buffer = Buffer.alloc(2 * SLAB)
  return (bytes) => buffer.subarray(0, bytes.copy(buffer))
}

/** Until the test ends, decoders fill one list again and again: what must not be. */
function reuseLists(): void {
  const { decode } = HpackDecoder.prototype
  const list: string[] = []
  const spy = vi.spyOn(HpackDecoder.prototype, 'decode').mockImplementation(function (
    this: HpackDecoder,
    ...block
  ) {
    list.splice(0, Number.POSITIVE_INFINITY, ...decode.apply(this, block))
    return list
  })
  onTestFinished(() => spy.mockRestore())
}

/** Something that was handed out, and what it was at the time. */
interface Kept {
  readonly given: unknown
  readonly before: string
}

/** All that a value has in it, as text. */
function toText(value: unknown): string {
  return Buffer.isBuffer(value) ? value.toString('latin1') : JSON.stringify(value)
}

/** Plays a recording, and keeps everything that comes out of it until the end. */
function play(recording: Recording, random: Random, allocate: Allocate): Kept[] {
  const kept: Kept[] = []
  const keep = (given: unknown): void => void kept.push({ given, before: toText(given) })
  const rig: Rig = startRig(recording.methods)
  for (const stream of rig.streams) {
    stream.onEvent = (event) => {
      const isBytes = event.startsWith('bytes')
      const last = isBytes ? stream.pieces.at(-1) : stream.lists.at(-1)
      if (!isBytes && !/^(informational|response|trailers)/.test(event)) return
      keep(last)
      // What a handler is given of it.
      if (Array.isArray(last)) keep(toResponseHeaders(last))
    }
  }
  for (const piece of cutAtRandom(recording.bytes, random)) rig.receive(allocate(piece))
  for (const debugData of rig.debugData) kept.push({ given: debugData, before: debugData.toString('latin1') })
  // The recording was taken for what it is: nothing was lost on the way.
  expect(rig.faults.map(String)).toEqual([])
  return kept
}

/** How many of all that was handed out in 100 sessions is not what it was. */
function count(recordings: readonly Recording[], toAllocate: () => Allocate) {
  const random = new Random(77)
  const kept: Kept[] = []
  for (let round = 0; round < 50; round++) {
    for (const recording of recordings) kept.push(...play(recording, random, toAllocate()))
  }
  return { all: kept.length, changed: kept.filter(({ given, before }) => toText(given) !== before).length }
}

describe('the values that a connection has handed out', () => {
  it('when the session goes on, cut anywhere › stay the same: fields, header objects, data, debug data', async () => {
    const { all, changed } = count([HAND_MADE, await recordNode()], toSocketLike)
    expect(all).toBeGreaterThan(2_000)
    expect(changed).toBe(0)
  })

  it('when all chunks are read into one buffer › change, and the same check notices it', () => {
    // Fields are strings by now; only data is left to be written over.
    expect(count([HAND_MADE], toReusing).changed).toBeGreaterThan(10)
  })

  it('when a decoder reuses one list › change, and the same check notices it', () => {
    reuseLists()
    const { all, changed } = count([HAND_MADE], toSocketLike)
    expect(changed).toBeGreaterThan(all / 10)
  })

  it('when data comes in two pieces › share no memory with later data', () => {
    const random = new Random(3)
    const rig = startRig(HAND_MADE.methods)
    const allocate = toSocketLike()
    const chunks = cutAtRandom(HAND_MADE.bytes, random).map(allocate)
    for (const chunk of chunks) rig.receive(chunk)
    // Each piece lies within the chunk that it came in: no other code writes there.
    const pieces = rig.streams.flatMap((stream) => stream.pieces).filter(({ length }) => length > 0)
    const isWithin = (piece: Buffer): boolean =>
      chunks.some(
        (chunk) =>
          chunk.buffer === piece.buffer &&
          chunk.byteOffset <= piece.byteOffset &&
          chunk.byteOffset + chunk.length >= piece.byteOffset + piece.length,
      )
    expect(pieces.length).toBeGreaterThan(4)
    expect(pieces.filter((piece) => !isWithin(piece))).toEqual([])
  })
})
