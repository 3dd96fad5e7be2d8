import { describe, expect, it, onTestFinished } from 'vitest'
import { MAX_BLOCK_SIZE } from '../../src/protocol/field-block.ts'
import type { ConnectionFrameListener } from '../../src/protocol/frame-reader.ts'
import { FrameReader } from '../../src/protocol/frame-reader.ts'
import { ConnectionFault } from '../../src/protocol/protocol-error.ts'
import { Flag, frames, Type, toFrames } from '../../src/testing/frames.ts'
import { CANCEL, NO_ERROR } from '../support/peers/error-codes.ts'
import { lacksNghttpd, startNghttpd } from '../support/servers/nghttpd.ts'
import { Random } from './hpack/support.ts'
import { cutAt, cutAtRandom, EventLog, read } from './support/event-log.ts'
import { HAND_MADE, record, recordNode } from './support/recording.ts'

/**
 * Compares what is told of all that cuts make of some bytes. Stops at the first that differs: there may be thousands.
 */
function expectSame(bytes: Buffer, expected: readonly string[], cuts: Iterable<readonly Buffer[]>): number {
  const text = expected.join('\n')
  let count = 0
  for (const pieces of cuts) {
    const told = read(pieces)
    if (told.join('\n') !== text) {
      const sizes = pieces.map(({ length }) => length).slice(0, 20)
      expect.soft(sizes, `of ${bytes.length} bytes`).toBeNull()
      expect(told).toEqual(expected)
    }
    count++
  }
  return count
}

function* inTwo(bytes: Buffer): Generator<Buffer[]> {
  for (let at = 1; at < bytes.length; at++) yield cutAt(bytes, [at])
}

function* atRandom(bytes: Buffer, count: number, seed: number): Generator<Buffer[]> {
  const random = new Random(seed)
  for (let i = 0; i < count; i++) yield cutAtRandom(bytes, random)
}

/** With an empty chunk before each byte: a Duplex that serves as a socket may emit empty chunks. */
function inBytes(bytes: Buffer): Buffer[] {
  const offsets = Array.from({ length: bytes.length * 2 - 1 }, (_none, at) => (at + 1) >> 1)
  return cutAt(bytes, offsets)
}

function expectSameOfCuts(bytes: Buffer, cuts: readonly (readonly Buffer[])[]): void {
  const expected = read([bytes])
  expect(expected.at(-1)).not.toMatch(/^fault/)
  expect(expectSame(bytes, expected, cuts)).toBe(cuts.length)
}

/** How many frames there are of a type, with all of these flags. */
function countFrames(bytes: Buffer, type: number, flags: number): number {
  return toFrames(bytes).filter((frame) => frame.type === type && (frame.flags & flags) === flags).length
}

describe('the events of a frame reader', () => {
  it('for a session with every type of frame and flag › are the same at any cut', () => {
    const { bytes } = HAND_MADE
    expectSameOfCuts(bytes, [inBytes(bytes), ...inTwo(bytes), ...atRandom(bytes, 500, 20)])
  })

  it('for that session › match its frames', () => {
    const lines = read([HAND_MADE.bytes]).map((line) => (line.length > 60 ? `${line.slice(0, 57)}...` : line))
    expect(lines).toEqual([
      'settings 00030000006400040001117000fa00000007',
      'settings ack',
      'window 0 1000000',
      'ignored',
      'ignored',
      'block 1 isEnd=false \0\x07:status\x03103\0\x04link\x08</a.css>',
      'block 1 isEnd=false \x88@\x01x\x011',
      'data 1 flow=6 isEnd=false plain ',
      'ping isAck=false 3132333435363738',
      'data 1 flow=207 isEnd=false padded',
      'ping isAck=false 6162636465666768',
      'data 1 flow=256 isEnd=false ',
      'ping isAck=false 0000000000000000',
      'data 1 flow=1 isEnd=false ',
      'ping isAck=false 0000000000000000',
      'data 1 flow=0 isEnd=false ',
      'ping isAck=false 0000000000000000',
      'data 1 flow=18 isEnd=false a pad length of 0',
      'priority 3 of 5',
      'data 1 flow=0 isEnd=true ',
      'block 3 isEnd=false \x88@\x01x\x011',
      'data 3 flow=700 isEnd=false xxxxxxxxxxxxxxxxxxxxxxxxxxxxx...',
      'window 7 10',
      'block 3 isEnd=true \xbe',
      'block 5 isEnd=true \x88\xbe',
      'block 7 isEnd=true \x88',
      'block 9 isEnd=false \x88',
      'data 9 flow=10 isEnd=false half of it',
      'reset 9 8',
      'goaway 9 0 nothing',
      'goaway 9 0 and why',
      'data 9 flow=21 isEnd=true it was on its way',
    ])
  })

  it('for a session of node’s server › are the same however it is cut', async () => {
    const { bytes } = await recordNode()
    const lines = read([bytes])
    // The session contains all of this: padding, CONTINUATION, an informational response, trailers, a reset, a GOAWAY.
    expect(countFrames(bytes, Type.DATA, Flag.PADDED)).toBeGreaterThan(0)
    expect(countFrames(bytes, Type.CONTINUATION, 0)).toBeGreaterThan(0)
    expect(lines.filter((line) => line.startsWith('block 9 '))).toHaveLength(2)
    expect(lines.filter((line) => line.startsWith('block 7 '))).toHaveLength(2)
    expect(lines).toContain('reset 15 2')
    expect(lines).toContain('goaway 17 0 leaving')
    expectSameOfCuts(bytes, [inBytes(bytes), ...atRandom(bytes, 500, 20)])
  })

  it.skipIf(lacksNghttpd)('for a session of nghttpd › are the same however it is cut', async () => {
    const files = { small: 'small', large: 'L'.repeat(7_000) }
    const args = ['--padding=100', '--trailer=x-sum: abc', '--early-response']
    const server = await startNghttpd({ files, args })
    onTestFinished(async () => void (await server.stop()))
    const port = Number(new URL(server.origin).port)
    const { bytes } = await record(port, [
      ['GET', '/small'],
      ['GET', '/large'],
      ['HEAD', '/large'],
      ['GET', '/missing'],
    ])
    const lines = read([bytes])
    expect(lines.filter((line) => /^block \d+ isEnd=true/.test(line)).length).toBeGreaterThan(1)
    expect(lines.filter((line) => /^data 3 .* L+$/.test(line)).join('').length).toBeGreaterThan(7_000)
    expectSameOfCuts(bytes, [inBytes(bytes), ...atRandom(bytes, 500, 20)])
  })

  it('when a frame breaks a rule › end with a fault, wherever the bytes are cut', () => {
    const bad = [
      frames.frame(Type.DATA, 0, 0, Buffer.from('x')),
      frames.frame(Type.DATA, Flag.PADDED, 1, Buffer.of(4, 1, 1, 1)),
      frames.frame(Type.PING, 0, 0, Buffer.alloc(7)),
      Buffer.concat([frames.frame(Type.HEADERS, 0, 1, Buffer.of(0x88)), frames.ping()]),
    ]
    for (const bytes of bad) {
      const all = Buffer.concat([frames.settings(), frames.data(1, 'good'), bytes, frames.ping()])
      const expected = read([all])
      expect(expected.at(-1)).toMatch(/^fault [16]$/)
      expect(expected.filter((line) => line.startsWith('ping'))).toEqual([])
      // A piece of a padded frame is told as it comes; only a whole session says more.
      expect(expectSame(all, expected, inTwo(all))).toBe(all.length - 1)
      expect(expectSame(all, expected, [inBytes(all)])).toBe(1)
    }
  })
})

describe('the bytes that a reader hands on', () => {
  /** Keeps what it is given. */
  class Keeper extends EventLog {
    readonly pieces: { readonly bytes: Buffer; readonly start: number; readonly end: number }[] = []
    readonly debugData: Buffer[] = []

    override onData(
      id: number,
      bytes: Buffer,
      start: number,
      end: number,
      flow: number,
      isEnd: boolean,
    ): void {
      this.pieces.push({ bytes, start, end })
      super.onData(id, bytes, start, end, flow, isEnd)
    }

    override onGoaway(lastStreamId: number, code: number, debugData: Buffer | null): void {
      if (debugData !== null) this.debugData.push(debugData)
      super.onGoaway(lastStreamId, code, debugData)
    }
  }

  it('of DATA › are views of the chunk, in one piece and in several', () => {
    const text = 'abcdefghij'.repeat(1_000)
    const bytes = Buffer.concat([frames.settings(), frames.data(1, text)])
    const several: Buffer[] = cutAt(bytes, [18, 100, 5_000]).map((piece) => Buffer.from(piece))
    for (const chunks of [[bytes], several]) {
      const keeper = new Keeper()
      const reader = new FrameReader(keeper, keeper)
      for (const chunk of chunks) reader.receive(chunk)
      const given = keeper.pieces.map((piece) => piece.bytes)
      expect(given.every((piece) => chunks.includes(piece))).toBe(true)
      const got = keeper.pieces.map((piece) => piece.bytes.toString('latin1', piece.start, piece.end))
      expect(got.join('')).toBe(text)
    }
  })

  it('of a GOAWAY’s debug data › are a copy, which pins no chunk', () => {
    const chunk = Buffer.concat([frames.settings(), frames.goAway(1, NO_ERROR, 'why')])
    const keeper = new Keeper()
    new FrameReader(keeper, keeper).receive(chunk)
    chunk.fill(0)
    expect(keeper.debugData.map(String)).toEqual(['why'])
  })
})

describe('the two listeners of a reader', () => {
  it('get the frames of streams, and the frames of the connection', () => {
    const streams = new EventLog()
    const connection = new EventLog()
    const reader = new FrameReader(streams, connection)
    reader.receive(
      Buffer.concat([
        frames.settings(),
        frames.settingsAck(),
        frames.frame(Type.HEADERS, Flag.END_HEADERS, 1, Buffer.of(0x88)),
        frames.windowUpdate(0, 10),
        frames.windowUpdate(1, 20),
        frames.data(1, 'x'),
        frames.frame(Type.PRIORITY, 0, 1, Buffer.alloc(5)),
        frames.ping(Buffer.from('12345678')),
        frames.frame(0xbe, 0, 1),
        frames.reset(1, CANCEL),
        frames.goAway(1, NO_ERROR),
      ]),
    )
    expect(streams.lines).toEqual([
      'block 1 isEnd=false \x88',
      'window 1 20',
      'data 1 flow=1 isEnd=false x',
      'priority 1 of 5',
      'reset 1 8',
    ])
    expect(connection.lines).toEqual([
      'settings ',
      'settings ack',
      'window 0 10',
      'ping isAck=false 3132333435363738',
      'ignored',
      'goaway 1 0 nothing',
    ])
  })
})

describe('a reader that is stopped by its listener', () => {
  it('when it is in the middle of a chunk › emits no further event, and reads no further chunk', () => {
    const log = new EventLog()
    const stopper: ConnectionFrameListener = Object.assign(log, { onPing: () => reader.stop() })
    const reader = new FrameReader(log, stopper)
    reader.receive(Buffer.concat([frames.settings(), frames.ping(), frames.data(1, 'late')]))
    reader.receive(frames.data(1, 'later'))
    expect(log.lines).toEqual(['settings '])
  })
})

describe('a header block', () => {
  const start = Buffer.concat([frames.settings(), frames.frame(Type.HEADERS, 0, 1, Buffer.of(0x88))])
  const more = (size: number, flags = 0): Buffer =>
    frames.frame(Type.CONTINUATION, flags, 1, Buffer.alloc(size, 0x88))

  it('of HEADERS and 128 CONTINUATION frames › is passed on', () => {
    const many = Array.from({ length: 127 }, () => more(0))
    expect(read([start, ...many, more(1, Flag.END_HEADERS)])).toEqual([
      'settings ',
      'block 1 isEnd=false \x88\x88',
    ])
  })

  it('of one more frame › is a flood', () => {
    const many = Array.from({ length: 128 }, () => more(0))
    expect(read([start, ...many, more(1, Flag.END_HEADERS)])).toEqual(['settings ', 'fault 11'])
  })

  it('of 1 MiB › is passed on, and one of one more byte is a flood', () => {
    const full = Array.from({ length: 63 }, () => more(16_384))
    const last = MAX_BLOCK_SIZE - 1 - 63 * 16_384
    const lines = read([start, ...full, more(last, Flag.END_HEADERS)])
    expect(lines[1]?.length).toBe('block 1 isEnd=false '.length + MAX_BLOCK_SIZE)
    expect(read([start, ...full, more(last), more(1, Flag.END_HEADERS)])).toEqual(['settings ', 'fault 11'])
  })

  it('after another one › is counted from 0', () => {
    const block = [
      frames.frame(Type.HEADERS, 0, 1, Buffer.of(0x88)),
      ...Array.from({ length: 128 }, (_none, at) => more(8_000, at === 127 ? Flag.END_HEADERS : 0)),
    ]
    expect(read([frames.settings(), ...block, ...block, ...block]).at(-1)).toMatch(/^block 1/)
  })
})

describe('a field block in several fragments', () => {
  it.each([1, 100, 3_000])('of %i bytes › is copied: it keeps none of the chunks', (size) => {
    const log = new EventLog()
    const reader = new FrameReader(log, log)
    const fragments = Array.from({ length: 100 }, (_none, at) => Buffer.alloc(size, 97 + (at % 26)))
    reader.receive(frames.settings())
    for (const [at, fragment] of fragments.entries()) {
      const type = at === 0 ? Type.HEADERS : Type.CONTINUATION
      const chunk = frames.frame(type, at === 99 ? Flag.END_HEADERS : 0, 1, fragment)
      reader.receive(chunk)
      // A fragment that was kept as a view would change.
      chunk.fill('-')
    }
    expect(log.lines.at(-1)).toBe(`block 1 isEnd=false ${Buffer.concat(fragments).toString('latin1')}`)
  })
})

/** How a reader fails by these chunks; empty when it doesn't. */
function toFault(pieces: readonly Buffer[]): string {
  const log = new EventLog()
  const reader = new FrameReader(log, log)
  try {
    for (const piece of pieces) reader.receive(piece)
  } catch (thrown) {
    return thrown instanceof ConnectionFault ? thrown.message : String(thrown)
  }
  return ''
}

describe('the first bytes of a peer that speaks something else', () => {
  it.each([
    {
      what: 'a response of HTTP/1.1',
      bytes: Buffer.from('HTTP/1.1 400 Bad Request\r\n\r\n'),
      found: 'with HTTP/1.1',
    },
    { what: 'an alert of TLS', bytes: Buffer.from('15030100020228', 'hex'), found: 'with TLS' },
    { what: 'a handshake of TLS', bytes: Buffer.from('160303007a020000760303', 'hex'), found: 'with TLS' },
    { what: 'the greeting of SSH', bytes: Buffer.from('SSH-2.0-OpenSSH_9.2\r\n'), found: 'without SETTINGS' },
  ])('are told, wherever they are cut: $what', ({ bytes, found }) => {
    const cuts = [[bytes], inBytes(bytes), ...inTwo(bytes)]
    for (const pieces of cuts) expect(toFault(pieces)).toBe(`The peer began ${found} (RFC 9113 §3.4)`)
  })
})
