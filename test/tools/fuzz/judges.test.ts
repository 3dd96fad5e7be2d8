import { PassThrough } from 'node:stream'
import { describe, expect, it } from 'vitest'
import { Flag, frames, Setting, Type } from '../../../src/testing/frames.ts'
import { encodeFields } from '../../../src/testing/hpack.ts'
import { CANCEL, NO_ERROR, PROTOCOL_ERROR } from '../../support/peers/error-codes.ts'
import { ClientLedger } from './client-ledger.ts'
import { Said } from './said.ts'
import { VirtualTime } from './virtual-time.ts'
import { Endings } from './watch.ts'

const PREFACE = Buffer.from('PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n')

/** The violations in the frames of a client, given the frames of its peer. */
function judge(sent: readonly Buffer[], peer: readonly Buffer[] = [], isOfNode = false): string[] {
  const said = new Said()
  for (const bytes of peer) said.write(bytes)
  const violations: string[] = []
  const ledger = new ClientLedger(said, {
    isOfNode,
    onRequest: () => {},
    onFrame: () => {},
    onViolation: (what) => violations.push(what),
  })
  ledger.receive(Buffer.concat([PREFACE, frames.settings(), ...sent]))
  return violations
}

function request(streamId: number, flags = 0): Buffer {
  return frames.headers(streamId, [[':method', 'POST']], flags)
}

function data(streamId: number, size: number): Buffer {
  return frames.frame(Type.DATA, 0, streamId, Buffer.alloc(size))
}

describe("the judge of a client's frames", () => {
  it('when all frames are valid › reports nothing', () => {
    const upload = Array.from({ length: 4 }, () => data(1, 16_383))
    const end = frames.data(1, '', Flag.END_STREAM)
    expect(judge([request(1), ...upload, end, request(3, Flag.END_STREAM), frames.reset(3, CANCEL)])).toEqual(
      [],
    )
  })

  const windows = [frames.settings([Setting.INITIAL_WINDOW_SIZE, 10]), frames.windowUpdate(0, 100_000)]

  it.each([
    [
      'DATA beyond the stream’s window',
      [request(1), ...Array.from({ length: 5 }, () => data(1, 16_384))],
      windows,
    ],
    ['DATA beyond the connection’s', [request(1), ...Array.from({ length: 5 }, () => data(1, 16_384))], []],
    ['DATA after END_STREAM', [request(1, Flag.END_STREAM), data(1, 1)], []],
    ['DATA after RST_STREAM', [request(1), frames.reset(1, CANCEL), data(1, 1)], []],
    ['DATA on an idle stream', [data(1, 1)], []],
    ['a frame after GOAWAY', [frames.goAway(0, PROTOCOL_ERROR), data(1, 1)], []],
    ['an id that goes back', [request(3), request(1)], []],
    ['a frame that is too large', [request(1), data(1, 16_385)], []],
    ['a window that is opened by 0', [frames.windowUpdate(0, 0)], []],
    ['a block that is interrupted', [frames.frame(Type.HEADERS, 0, 1, Buffer.of(0x82)), data(1, 1)], []],
    ['a block that can’t be decoded', [frames.frame(Type.HEADERS, Flag.END_HEADERS, 1, Buffer.of(0xff))], []],
    ['an ACK of SETTINGS that weren’t sent', [frames.settingsAck()], []],
    ['an ACK of a PING that wasn’t sent', [frames.ping(Buffer.alloc(8), Flag.ACK)], []],
    [
      'more streams than are allowed',
      [frames.settingsAck(), request(1), request(3)],
      [frames.settings([Setting.MAX_CONCURRENT_STREAMS, 1])],
    ],
    [
      'a stream after the peer’s GOAWAY',
      [frames.ping(Buffer.alloc(8), Flag.ACK), request(1)],
      [frames.goAway(0, NO_ERROR), frames.ping()],
    ],
    [
      'a table larger than is allowed',
      [
        frames.settingsAck(),
        frames.frame(Type.HEADERS, 5, 1, Buffer.concat([Buffer.of(0x3f, 0xe1, 1), encodeFields([])])),
      ],
      [frames.settings([Setting.HEADER_TABLE_SIZE, 64])],
    ],
  ])('when the client sends %s › reports it', (_what, sent, peer) => {
    expect(judge(sent, peer).length).toBeGreaterThan(0)
  })
})

describe('the judge of a session that nghttp2 has ended on its own', () => {
  const goaway = frames.goAway(0, PROTOCOL_ERROR)

  it('when SETTINGS follow GOAWAY › permits them, and nothing else', () => {
    expect(judge([goaway, frames.settings()], [], true)).toEqual([])
    expect(judge([goaway, frames.settings()])).toHaveLength(1)
    expect(judge([goaway, frames.settings([Setting.INITIAL_WINDOW_SIZE, 1])], [], true)).toEqual([])
    expect(judge([goaway, frames.settings([Setting.INITIAL_WINDOW_SIZE, 1])])).toHaveLength(1)
    expect(judge([goaway, data(1, 1)], [], true).length).toBeGreaterThan(0)
  })
})

describe("the judge of a reader's events", () => {
  function hear(...events: string[]): Endings {
    const stream = new PassThrough()
    const endings = new Endings('it', stream)
    for (const event of events) stream.emit(event, new Error('of the test'))
    return endings
  }

  it.each([
    ['end', 'close'],
    ['error', 'close'],
    ['end', 'error', 'close'],
  ])('when the reader gets %s, %s › reports nothing', (...events) => {
    expect(hear(...events).fault).toBeNull()
  })

  it.each([
    ['nothing', []],
    ['no close', ['end']],
    ['no end, and no error', ['close']],
    ['two errors', ['error', 'error', 'close']],
    ['two closes', ['end', 'close', 'close']],
    ['an end after an error', ['error', 'end', 'close']],
    ['an error after close', ['end', 'close', 'error']],
  ])('when the reader gets %s › reports it', (_what, events) => {
    expect(hear(...events).fault).not.toBeNull()
  })

  it('when the reader itself has destroyed it › a close is enough', () => {
    const endings = hear('close')
    endings.isGivenUp = true
    expect(endings.fault).toBeNull()
  })
})

describe('virtual time', () => {
  it('when nothing else happens › passes to the next alarm, in their order', async () => {
    const time = new VirtualTime()
    const rung: string[] = []
    time.after(300_000, () => rung.push(`late at ${time.now}`))
    time.after(10, () => rung.push(`soon at ${time.now}`))
    expect(await time.until(() => rung.length === 2, 1_000_000)).toBe(true)
    expect(rung).toEqual(['soon at 1010', 'late at 301000'])
  })

  it('while something goes on happening › passes all the same, in the order of the alarms', async () => {
    const time = new VirtualTime()
    const rung: string[] = []
    time.after(3, () => rung.push(`late at ${time.now}`))
    time.after(2, () => rung.push(`soon at ${time.now}`))
    const keepHappening = (): void => {
      time.touch()
      if (rung.length < 2) setImmediate(keepHappening)
    }
    keepHappening()
    expect(await time.until(() => rung.length === 2, 1_000_000)).toBe(true)
    expect(rung).toEqual(['soon at 1002', 'late at 1003'])
  })

  it('when an alarm lies beyond the limit › reports that the condition doesn’t hold', async () => {
    const time = new VirtualTime()
    let hasRung = false
    time.after(101, () => {
      hasRung = true
    })
    await time.pass(100, () => hasRung)
    expect(hasRung).toBe(false)
  })
})
