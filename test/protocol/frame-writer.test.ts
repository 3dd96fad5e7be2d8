import { describe, expect, it } from 'vitest'
import { FrameWriter } from '../../src/protocol/frame-writer.ts'
import { HpackEncoder } from '../../src/protocol/hpack/encoder.ts'
import type { Frame } from '../../src/testing/frames.ts'
import { Flag, FrameParser, Type } from '../../src/testing/frames.ts'
import { Random, startDecoder } from './hpack/support.ts'

const DEFAULT_FRAME = 16_384

function start(maxFrameSize = DEFAULT_FRAME): FrameWriter {
  return new FrameWriter(new HpackEncoder(), maxFrameSize)
}

/** One that has written so much that its buffers have their full size. */
function startWarm(): FrameWriter {
  const writer = start()
  for (let frames = 0; frames < 900; frames++) writer.ping(0, frames, false)
  flush(writer)
  return writer
}

/** What a writer hands over: the pieces themselves. */
function flush(writer: FrameWriter): Uint8Array[] {
  const pieces: Uint8Array[] = []
  writer.flush({ write: (bytes) => pieces.push(bytes) })
  return pieces
}

function toHex(writer: FrameWriter): string {
  return Buffer.concat(flush(writer)).toString('hex')
}

function toFrames(pieces: readonly Uint8Array[]): Frame[] {
  const frames: Frame[] = []
  const parser = new FrameParser((frame) => frames.push(frame), 'server')
  for (const piece of pieces) parser.push(Buffer.from(piece))
  return frames
}

describe('a frame', () => {
  it.each<[name: string, write: (writer: FrameWriter) => void, hex: string]>([
    [
      'SETTINGS',
      (writer) => writer.settings([2, 0, 4, 2 ** 31 - 1]),
      '00000c040000000000 000200000000 00047fffffff',
    ],
    ['SETTINGS with nothing in it', (writer) => writer.settings([]), '000000040000000000'],
    ['an ACK of SETTINGS', (writer) => writer.settingsAck(), '000000040100000000'],
    ['PING', (writer) => writer.ping(0x01020304, 0xfffefdfc, false), '000008060000000000 01020304fffefdfc'],
    ['an ACK of PING', (writer) => writer.ping(0xffffffff, 0, true), '000008060100000000 ffffffff00000000'],
    ['RST_STREAM', (writer) => writer.reset(2 ** 31 - 1, 8), '00000403007fffffff 00000008'],
    ['WINDOW_UPDATE', (writer) => writer.windowUpdate(3, 2 ** 31 - 1), '000004080000000003 7fffffff'],
    ['GOAWAY', (writer) => writer.goaway(11, 'calm'), '00000c070000000000 00000000 0000000b 63616c6d'],
    [
      'GOAWAY with debug data beyond ASCII',
      (writer) => writer.goaway(1, '§5'),
      '00000b070000000000 00000000 00000001 c2a735',
    ],
    [
      'PRIORITY_UPDATE',
      (writer) => writer.priorityUpdate(5, 'u=1, i'),
      '00000a100000000000 00000005 753d312c2069',
    ],
    ['DATA', (writer) => writer.data(7, Buffer.from('-data-'), 1, 5, false), '000004000000000007 64617461'],
    ['the last DATA', (writer) => writer.data(7, Buffer.from('ab'), 0, 2, true), '000002000100000007 6162'],
    ['an empty last DATA', (writer) => writer.data(7, Buffer.alloc(0), 0, 0, true), '000000000100000007'],
    ['HEADERS', (writer) => writer.headers(1, [':method', 'GET'], false), '000001010400000001 82'],
    [
      'HEADERS that are all',
      (writer) => writer.headers(1, [':method', 'GET'], true),
      '000001010500000001 82',
    ],
    [
      'HEADERS with a field that is sensitive',
      (writer) => writer.headers(1, ['x', '1'], true, new Set(['x'])),
      // Never indexed (RFC 7541 §6.2.3).
      '000005010500000001 10 01 78 01 31',
    ],
  ])('%s › is written as RFC 9113 §6 has it', (_name, write, hex) => {
    const writer = start()
    write(writer)
    expect(writer.size).toBe(hex.replaceAll(' ', '').length / 2)
    expect(writer.pieces).toBe(1)
    expect(toHex(writer)).toBe(hex.replaceAll(' ', ''))
    expect([writer.size, writer.pieces]).toEqual([0, 0])
    expect(toHex(writer)).toBe('')
  })

  it('the preface › is that of RFC 9113 §3.4', () => {
    const writer = start()
    writer.preface()
    expect(Buffer.concat(flush(writer)).toString()).toBe('PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n')
  })
})

describe('a header block', () => {
  const fields = [':method', 'GET', 'x-long', '~{}'.repeat(7_000), 'x-b', 'b']

  it('above the peer’s frame size › continues in CONTINUATION frames, with no frame between them', () => {
    const writer = start()
    writer.ping(0, 1, false)
    writer.headers(5, fields, true)
    writer.ping(0, 2, false)
    const frames = toFrames(flush(writer))
    expect(frames.map(({ type, flags, streamId }) => [type, flags, streamId])).toEqual([
      [Type.PING, 0, 0],
      [Type.HEADERS, Flag.END_STREAM, 5],
      [Type.CONTINUATION, Flag.END_HEADERS, 5],
      [Type.PING, 0, 0],
    ])
    expect(frames[1]?.payload.length).toBe(DEFAULT_FRAME)
    const block = Buffer.concat(frames.slice(1, 3).map(({ payload }) => payload))
    expect(startDecoder().decode(block, 0, block.length)).toEqual(fields)
  })

  it.each([
    { size: DEFAULT_FRAME, frames: 1 },
    { size: DEFAULT_FRAME + 1, frames: 2 },
    { size: 2 * DEFAULT_FRAME, frames: 2 },
    { size: 2 * DEFAULT_FRAME + 1, frames: 3 },
  ])('of $size bytes › takes $frames', ({ size, frames }) => {
    // Octets that the Huffman code would make longer. In front of them: the pattern, the name, and the value's length
    // (RFC 7541 §5.1).
    const head = 1 + 1 + 'x-a'.length + (size > 127 + 16_384 ? 4 : 3)
    const writer = start()
    writer.headers(1, ['x-a', '\xff'.repeat(size - head)], false)
    const sent = toFrames(flush(writer))
    expect(sent.reduce((sum, { payload }) => sum + payload.length, 0)).toBe(size)
    expect(sent.map(({ flags }) => flags)).toEqual([
      ...Array.from({ length: frames - 1 }, () => 0),
      Flag.END_HEADERS,
    ])
  })

  it('when the peer allows larger frames › is one frame', () => {
    const writer = start()
    writer.maxFrameSize = 100_000
    writer.headers(5, fields, true)
    expect(toFrames(flush(writer)).map(({ type }) => type)).toEqual([Type.HEADERS])
  })
})

describe('the output of a frame writer', () => {
  it('for many small frames › is one piece', () => {
    const writer = startWarm()
    for (let id = 1; id < 200; id += 2) {
      writer.headers(id, [':method', 'GET', ':path', `/${id}`], false)
      writer.data(id, Buffer.alloc(20), 0, 20, true)
      writer.windowUpdate(0, 1)
    }
    expect(writer.pieces).toBe(1)
    expect(toFrames(flush(writer))).toHaveLength(300)
  })

  it.each([
    { size: 2_048, isCopied: true },
    { size: 2_049, isCopied: false },
    { size: 16_384, isCopied: false },
  ])('with a payload of $size bytes › has it copied: $isCopied', ({ size, isCopied }) => {
    const writer = startWarm()
    const payload = Buffer.alloc(size, 'p')
    writer.ping(0, 1, false)
    writer.data(1, payload, 0, size, false)
    writer.ping(0, 2, false)
    expect(writer.pieces).toBe(isCopied ? 1 : 3)
    expect(writer.size).toBe(17 + 9 + size + 17)
    const pieces = flush(writer)
    expect(pieces.includes(payload)).toBe(!isCopied)
    expect(toFrames(pieces).map(({ type }) => type)).toEqual([Type.PING, Type.DATA, Type.PING])
  })

  it('for a part of a large payload › shares its memory', () => {
    const writer = start()
    const payload = Buffer.alloc(40_000)
    writer.data(1, payload, 16_384, 32_768, false)
    const [, part] = flush(writer)
    expect(part?.buffer).toBe(payload.buffer)
    expect([part?.byteOffset, part?.byteLength]).toEqual([payload.byteOffset + 16_384, 16_384])
  })

  it('when the sink itself writes frames › keeps these for the next flush', () => {
    const writer = start()
    writer.data(1, Buffer.alloc(5_000), 0, 5_000, false)
    writer.ping(0, 1, false)
    const pieces: Uint8Array[] = []
    writer.flush({
      write: (bytes) => {
        pieces.push(bytes)
        if (pieces.length === 1) writer.ping(0, 2, false)
      },
    })
    expect(toFrames(pieces).map(({ payload }) => payload.length)).toEqual([5_000, 8])
    expect(toFrames(flush(writer)).map(({ payload }) => payload.readUInt32BE(4))).toEqual([2])
  })
})

/** Writes one frame of any kind. */
function writeAny(writer: FrameWriter, random: Random): void {
  const id = 1 + 2 * random.below(1_000)
  const size = random.below(random.pick([10, 100, 2_100, 30_000]))
  switch (random.below(6)) {
    case 0:
      writer.headers(id, [':path', `/${id}`, 'x-some', 'v'.repeat(size)], false)
      break
    case 1:
      writer.data(id, Buffer.alloc(size, id), 0, size, false)
      break
    case 2:
      writer.settings(Array.from({ length: 2 * random.below(8) }, () => random.below(2 ** 16)))
      break
    case 3:
      writer.goaway(1, 'r'.repeat(random.below(80)))
      break
    default:
      writer.windowUpdate(id, 1 + random.below(2 ** 31 - 1))
  }
}

/** How many of the pieces that a sink was given are what they were, when all else is written. */
function countKept(write: (bytes: Uint8Array) => Uint8Array): { pieces: number; same: number } {
  const random = new Random(5)
  const writer = start()
  const kept: { readonly piece: Uint8Array; readonly copy: Buffer }[] = []
  for (let turn = 0; turn < 2_000; turn++) {
    for (let count = random.below(6); count >= 0; count--) writeAny(writer, random)
    writer.flush({
      write: (bytes) => {
        const piece = write(bytes)
        kept.push({ piece, copy: Buffer.from(piece) })
      },
    })
  }
  return { pieces: kept.length, same: kept.filter(({ piece, copy }) => copy.equals(piece)).length }
}

describe('the bytes that a sink was given', () => {
  it('when 2,000 more turns have been written › are unchanged', () => {
    const { pieces, same } = countKept((bytes) => bytes)
    expect(pieces).toBeGreaterThan(2_000)
    expect(same).toBe(pieces)
  })

  it('when a buffer is used again › change, and the same check notices it', () => {
    const buffer = Buffer.alloc(100_000)
    const { pieces, same } = countKept((bytes) => {
      buffer.set(bytes)
      return buffer.subarray(0, bytes.length)
    })
    expect(same).toBeLessThan(pieces / 2)
  })
})

describe('the memory that frames are written into', () => {
  it('is 2 KiB at first, and twice as much each time, up to 16 KiB', () => {
    const writer = start()
    const sizes = new Set<number>()
    for (let frames = 0; frames < 6_000; frames++) {
      writer.ping(0, frames, false)
      for (const { buffer } of flush(writer)) sizes.add(buffer.byteLength)
    }
    expect([...sizes]).toEqual([2_048, 4_096, 8_192, DEFAULT_FRAME])
  })

  it('has room for a header block that is larger', () => {
    const writer = start(1_000_000)
    writer.headers(1, [':method', 'GET', 'x-long', 'a'.repeat(100_000)], true)
    writer.ping(0, 0, false)
    const [frame] = toFrames(flush(writer))
    expect(frame?.type).toBe(Type.HEADERS)
    expect(writer.size).toBe(0)
  })
})
