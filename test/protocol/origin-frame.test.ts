import { describe, expect, it } from 'vitest'
import { FrameReader } from '../../src/protocol/frame-reader.ts'
import { MAX_ORIGIN_FRAME } from '../../src/protocol/frame-rules.ts'
import { frames } from '../../src/testing/frames.ts'
import { EventLog } from './support/event-log.ts'

const SETTINGS = frames.settings()
const PING = frames.ping()

function toPayload(origins: readonly string[]): Buffer {
  return Buffer.concat(
    origins.map((origin) => {
      const size = Buffer.alloc(2)
      size.writeUInt16BE(origin.length)
      return Buffer.concat([size, Buffer.from(origin, 'latin1')])
    }),
  )
}

/** What the reader tells of a frame that lies between SETTINGS and PING, read in such pieces. */
function readBetween(frame: Buffer, pieces: (bytes: Buffer) => Buffer[], maxFrameSize?: number): string[] {
  const log = new EventLog()
  const reader = new FrameReader(log, log, maxFrameSize)
  for (const piece of pieces(Buffer.concat([SETTINGS, frame, PING]))) reader.receive(piece)
  const lines = log.lines
  expect(lines.at(0)).toMatch(/^settings/)
  expect(lines.at(-1)).toMatch(/^ping/)
  return lines.slice(1, -1)
}

const whole = (bytes: Buffer): Buffer[] => [bytes]

const A = 'https://a.example'
const B = 'https://b.example:8443'

describe('ORIGIN (RFC 8336 §2.1)', () => {
  it.each([
    { what: 'no entry', payload: toPayload([]), told: 'origins' },
    { what: 'one', payload: toPayload([A]), told: `origins ${A}` },
    { what: 'several, in their order', payload: toPayload([B, A]), told: `origins ${B} ${A}` },
    { what: 'an empty one', payload: toPayload(['', A]), told: `origins  ${A}` },
    { what: 'one that is cut off', payload: toPayload([A, B]).subarray(0, -1), told: `origins ${A}` },
    {
      what: 'half of a length',
      payload: Buffer.concat([toPayload([A]), Buffer.from([0])]),
      told: `origins ${A}`,
    },
    { what: 'octets that are no ASCII', payload: toPayload(['\xff\x00']), told: 'origins \xff\x00' },
  ])('is told with $what, however it is cut', ({ payload, told }) => {
    const frame = frames.frame(0xc, 0, 0, payload)
    expect(readBetween(frame, whole)).toEqual([told])
    const bytes = SETTINGS.length + frame.length + PING.length
    for (let at = 1; at < bytes; at++)
      expect(readBetween(frame, (all) => [all.subarray(0, at), all.subarray(at)])).toEqual([told])
    expect(readBetween(frame, (all) => Array.from(all, (byte) => Buffer.from([byte])))).toEqual([told])
  })

  it('is told with 128 entries at most', () => {
    const [line = ''] = readBetween(frames.frame(0xc, 0, 0, toPayload(Array(200).fill(A))), whole)
    expect(line.split(' ').slice(1)).toEqual(Array(128).fill(A))
  })

  it.each([0x1, 0x2, 0x4, 0x8, 0xf])('is ignored with flag %i, which changes its meaning', (flag) => {
    expect(readBetween(frames.frame(0xc, flag, 0, toPayload([A])), whole)).toEqual(['ignored'])
  })

  it.each([0x10, 0x80, 0xf0])('is told with flag %i', (flag) => {
    expect(readBetween(frames.frame(0xc, flag, 0, toPayload([A])), whole)).toEqual([`origins ${A}`])
  })

  it.each([1, 2, 2 ** 31 - 1])('is ignored on stream %i', (streamId) => {
    expect(readBetween(frames.frame(0xc, 0, streamId, toPayload([A])), whole)).toEqual(['ignored'])
  })

  it('is ignored when it is larger than 64 KiB, and read when it is not', () => {
    const large = MAX_ORIGIN_FRAME + 1
    const toSized = (size: number): Buffer =>
      frames.frame(0xc, 0, 0, Buffer.concat([toPayload([A]), Buffer.alloc(size - A.length - 2)]))
    expect(readBetween(toSized(large), whole, 2 * large)).toEqual(['ignored'])
    const [line = ''] = readBetween(toSized(large - 1), whole, 2 * large)
    expect(line.startsWith(`origins ${A}`)).toBe(true)
  })
})
