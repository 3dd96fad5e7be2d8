import { describe, expect, it } from 'vitest'
import { errors } from '../../src/index.ts'
import type { FaultConnection } from '../../src/testing/fault-connection.ts'
import { Flag, frames, Setting, Type } from '../../src/testing/frames.ts'
import {
  CANCEL,
  COMPRESSION_ERROR,
  FLOW_CONTROL_ERROR,
  FRAME_SIZE_ERROR,
  NO_ERROR,
  PROTOCOL_ERROR,
} from '../support/peers/error-codes.ts'
import { ask, SERVE, startHarness, startPeer } from '../support/peers/peer-rig.ts'

const { frame } = frames

/** RFC 9113 §7. */

/** What the peer sends after two requests, on streams 1 and 3, have come. The response to the second is half sent. */
type Attack = readonly [name: string, code: number, bytes: readonly Buffer[]]

const MAX_WINDOW = 2 ** 31 - 1
const OK = Buffer.of(0x88)
const continuation = (streamId: number, flags = 0): Buffer => frame(Type.CONTINUATION, flags, streamId, OK)

const ON_CONNECTION: readonly Attack[] = [
  ['DATA on stream 0', PROTOCOL_ERROR, [frames.data(0, 'x')]],
  ['DATA on an idle stream', PROTOCOL_ERROR, [frames.data(99, 'x')]],
  ['DATA on a server’s stream', PROTOCOL_ERROR, [frames.data(2, 'x')]],
  [
    'DATA with more padding than payload',
    PROTOCOL_ERROR,
    [frame(Type.DATA, Flag.PADDED, 3, Buffer.of(9, 1))],
  ],
  ['padded DATA without a pad length', FRAME_SIZE_ERROR, [frame(Type.DATA, Flag.PADDED, 3)]],
  ['DATA above the largest size', FRAME_SIZE_ERROR, [frame(Type.DATA, 0, 3, Buffer.alloc(16_385))]],
  ['HEADERS on stream 0', PROTOCOL_ERROR, [frame(Type.HEADERS, Flag.END_HEADERS, 0, OK)]],
  ['HEADERS on an idle stream', PROTOCOL_ERROR, [frames.response(99)]],
  ['HEADERS on a server’s stream', PROTOCOL_ERROR, [frames.response(2)]],
  ['HEADERS that are shorter than their priority', FRAME_SIZE_ERROR, [frame(Type.HEADERS, 0x24, 1, OK)]],
  ['HEADERS with too much padding', PROTOCOL_ERROR, [frame(Type.HEADERS, 0x0c, 1, Buffer.of(7, 0x88))]],
  ['HEADERS within a header block', PROTOCOL_ERROR, [frame(Type.HEADERS, 0, 1, OK), frames.response(3)]],
  [
    'a frame of an unknown type within a block',
    PROTOCOL_ERROR,
    [frame(Type.HEADERS, 0, 1, OK), frame(0xbe, 0, 1)],
  ],
  ['CONTINUATION without HEADERS', PROTOCOL_ERROR, [continuation(1, Flag.END_HEADERS)]],
  ['CONTINUATION of another stream', PROTOCOL_ERROR, [frame(Type.HEADERS, 0, 1, OK), continuation(3)]],
  ['PRIORITY on stream 0', PROTOCOL_ERROR, [frame(Type.PRIORITY, 0, 0, Buffer.alloc(5))]],
  ['RST_STREAM on stream 0', PROTOCOL_ERROR, [frames.reset(0, CANCEL)]],
  ['RST_STREAM on an idle stream', PROTOCOL_ERROR, [frames.reset(99, CANCEL)]],
  ['RST_STREAM of 5 bytes', FRAME_SIZE_ERROR, [frame(Type.RST_STREAM, 0, 1, Buffer.alloc(5))]],
  ['SETTINGS on a stream', PROTOCOL_ERROR, [frame(Type.SETTINGS, 0, 1)]],
  ['SETTINGS of 5 bytes', FRAME_SIZE_ERROR, [frame(Type.SETTINGS, 0, 0, Buffer.alloc(5))]],
  [
    'an ACK of SETTINGS with settings',
    FRAME_SIZE_ERROR,
    [frame(Type.SETTINGS, Flag.ACK, 0, Buffer.alloc(6))],
  ],
  ['an ACK that nothing was sent for', PROTOCOL_ERROR, [frames.settingsAck(), frames.settingsAck()]],
  ['ENABLE_PUSH of a server', PROTOCOL_ERROR, [frames.settings([Setting.ENABLE_PUSH, 1])]],
  [
    'an INITIAL_WINDOW_SIZE of 2^31',
    FLOW_CONTROL_ERROR,
    [frames.settings([Setting.INITIAL_WINDOW_SIZE, 2 ** 31])],
  ],
  ['a MAX_FRAME_SIZE of 2^24', PROTOCOL_ERROR, [frames.settings([Setting.MAX_FRAME_SIZE, 2 ** 24])]],
  ['a MAX_FRAME_SIZE of 16,383', PROTOCOL_ERROR, [frames.settings([Setting.MAX_FRAME_SIZE, 16_383])]],
  [
    'an ENABLE_CONNECT_PROTOCOL of 2',
    PROTOCOL_ERROR,
    [frames.settings([Setting.ENABLE_CONNECT_PROTOCOL, 2])],
  ],
  [
    'PUSH_PROMISE',
    PROTOCOL_ERROR,
    [frame(Type.PUSH_PROMISE, Flag.END_HEADERS, 1, Buffer.of(0, 0, 0, 2, 0x88))],
  ],
  ['PING on a stream', PROTOCOL_ERROR, [frame(Type.PING, 0, 1, Buffer.alloc(8))]],
  ['PING of 9 bytes', FRAME_SIZE_ERROR, [frame(Type.PING, 0, 0, Buffer.alloc(9))]],
  ['GOAWAY on a stream', PROTOCOL_ERROR, [frame(Type.GOAWAY, 0, 1, Buffer.alloc(8))]],
  ['GOAWAY of 7 bytes', FRAME_SIZE_ERROR, [frame(Type.GOAWAY, 0, 0, Buffer.alloc(7))]],
  [
    'a GOAWAY that raises the last stream',
    PROTOCOL_ERROR,
    [frames.goAway(5, NO_ERROR), frames.goAway(7, NO_ERROR)],
  ],
  ['WINDOW_UPDATE of 3 bytes', FRAME_SIZE_ERROR, [frame(Type.WINDOW_UPDATE, 0, 0, Buffer.alloc(3))]],
  ['WINDOW_UPDATE on an idle stream', PROTOCOL_ERROR, [frames.windowUpdate(99, 1)]],
  ['a WINDOW_UPDATE of 0 on the connection', PROTOCOL_ERROR, [frames.windowUpdate(0, 0)]],
  ['the connection’s window beyond 2^31-1', FLOW_CONTROL_ERROR, [frames.windowUpdate(0, MAX_WINDOW)]],
  [
    'SETTINGS that open a window beyond 2^31-1',
    FLOW_CONTROL_ERROR,
    [frames.windowUpdate(1, 1_000_000), frames.settings([Setting.INITIAL_WINDOW_SIZE, MAX_WINDOW])],
  ],
  ['bytes that are no HTTP/2', FRAME_SIZE_ERROR, [Buffer.from('HTTP/1.1 400 Bad Request\r\n\r\n')]],
  [
    'an index of no table',
    COMPRESSION_ERROR,
    [frame(Type.HEADERS, Flag.END_HEADERS, 1, Buffer.of(0xff, 0xff, 0x03))],
  ],
]

const header = (...fields: (readonly [string, string])[]): Buffer => frames.headers(1, fields)
const STATUS = [':status', '200'] as const

const ON_STREAM: readonly Attack[] = [
  ['a WINDOW_UPDATE of 0', PROTOCOL_ERROR, [frames.windowUpdate(1, 0)]],
  ['a window beyond 2^31-1', FLOW_CONTROL_ERROR, [frames.windowUpdate(1, MAX_WINDOW)]],
  ['PRIORITY of 4 bytes', FRAME_SIZE_ERROR, [frame(Type.PRIORITY, 0, 1, Buffer.alloc(4))]],
  ['DATA ahead of its header', PROTOCOL_ERROR, [frames.data(1, 'x')]],
  ['a header without a status', PROTOCOL_ERROR, [header(['x', '1'])]],
  ['an empty header', PROTOCOL_ERROR, [header()]],
  ['a status of four digits', PROTOCOL_ERROR, [header([':status', '2000'])]],
  ['a status that isn’t first', PROTOCOL_ERROR, [header(['x', '1'], STATUS)]],
  ['two statuses', PROTOCOL_ERROR, [header(STATUS, STATUS)]],
  ['a request’s pseudo-header', PROTOCOL_ERROR, [header(STATUS, [':path', '/'])]],
  ['an unknown pseudo-header field', PROTOCOL_ERROR, [header(STATUS, [':x', '1'])]],
  ['a status of 101', PROTOCOL_ERROR, [header([':status', '101'])]],
  ['a name in upper case', PROTOCOL_ERROR, [header(STATUS, ['X-Upper', '1'])]],
  ['a name with a space', PROTOCOL_ERROR, [header(STATUS, ['x y', '1'])]],
  ['an empty name', PROTOCOL_ERROR, [header(STATUS, ['', '1'])]],
  ['a value with a line end', PROTOCOL_ERROR, [header(STATUS, ['x', 'a\r\nb: c'])]],
  ['a value with NUL', PROTOCOL_ERROR, [header(STATUS, ['x', 'a\0'])]],
  ['a value that begins with a space', PROTOCOL_ERROR, [header(STATUS, ['x', ' a'])]],
  ['connection', PROTOCOL_ERROR, [header(STATUS, ['connection', 'close'])]],
  ['transfer-encoding', PROTOCOL_ERROR, [header(STATUS, ['transfer-encoding', 'chunked'])]],
  ['a content-length that is no number', PROTOCOL_ERROR, [header(STATUS, ['content-length', '0x10'])]],
  ['two content-lengths', PROTOCOL_ERROR, [header(STATUS, ['content-length', '1'], ['content-length', '2'])]],
  ['an end after 103 alone', PROTOCOL_ERROR, [frames.headers(1, [[':status', '103']], Flag.END_STREAM)]],
  ['trailers that don’t end it', PROTOCOL_ERROR, [frames.response(1), frames.headers(1, [['x', '1']])]],
  ['trailers with a status', PROTOCOL_ERROR, [frames.response(1), frames.response(1, Flag.END_STREAM)]],
]

/** The codes of the frames of one type, on one stream, that the client has sent. */
function toCodes(connection: FaultConnection, type: number, streamId: number): number[] {
  return connection.of(type, streamId).map(({ payload }) => payload.readUInt32BE(payload.length >= 8 ? 4 : 0))
}

describe('a peer that breaks a rule of the connection', () => {
  it.each(
    ON_CONNECTION,
  )('by %s › is told why, and all its calls fail; the next one has another connection', async (_name, code, bytes) => {
    const peer = await startPeer([
      {
        onRequest: (stream, connection) => {
          if (stream.id === 3) connection.write(frames.response(3), frames.data(3, 'half'), ...bytes)
        },
      },
      SERVE,
    ])
    const harness = startHarness(peer, { engine: 'wire', connections: 1 })
    const calls = [ask(harness, 'POST /1'), ask(harness, 'POST /3')]
    await Promise.all(calls.map((call) => call.settled))
    for (const call of calls) {
      expect(call.error).toBeInstanceOf(errors.SocketError)
      const processed = call.statuses.length === 0 ? 'maybe' : 'yes'
      expect(call.error).toMatchObject({ processed, http2ErrorCode: code, attempts: 1 })
      expect(call.error.message).toMatch(/RFC (9113|7541|8441|9218) §/)
    }
    expect(calls.map(({ text }) => text)).toEqual(['', 'half'])
    const next = ask(harness, 'GET /next')
    await next.settled
    expect(next.text).toBe('GET /next')
    await peer.waitFor(() => peer.connection(0).isClosed)
    const [goAway, ...more] = toCodes(peer.connection(0), Type.GOAWAY, 0)
    expect([goAway, more]).toEqual([code, []])
    // RFC 9113 §5.4.1: nothing comes behind it.
    expect(peer.connection(0).frames.at(-1)?.type).toBe(Type.GOAWAY)
    expect(peer.ledger).toEqual(['0/1 POST /1', '0/3 POST /3', '1/1 GET /next'])
  })
})

describe('a peer that breaks a rule of a stream', () => {
  /** A stream with a complete request, and another one that gets its response afterwards. */
  async function play(code: number, bytes: readonly Buffer[]): Promise<void> {
    const peer = await startPeer({
      onRequest: (stream, connection) => {
        if (stream.id === 3) connection.write(frames.response(3), frames.data(3, 'all '), ...bytes)
      },
    })
    const harness = startHarness(peer, { engine: 'wire', connections: 1 })
    const call = ask(harness, 'POST /1')
    const sibling = ask(harness, 'POST /3')
    await call.settled
    await peer.waitFor(() => peer.request('/1').resetCode !== null)
    peer.request('/3').end('is well')
    await sibling.settled
    expect(sibling.text).toBe('all is well')
    expect(toCodes(peer.connection(0), Type.RST_STREAM, 1)).toEqual([code])
    expect(peer.connection(0).of(Type.GOAWAY)).toEqual([])
    expect(call.error).toBeInstanceOf(errors.DodiciError)
    expect(call.error).toMatchObject({ http2ErrorCode: code, attempts: 1, streamId: 1 })
  }

  it.each(
    ON_STREAM,
  )('by %s › is a stream error: RST_STREAM is sent, its call fails, and a sibling gets its response', (_name, code, bytes) =>
    play(code, bytes))

  it('by more content than announced › is a stream error, and its call fails by its own check', async () => {
    const peer = await startPeer({
      onRequest: ({ id }, connection) => connection.write(frames.response(id, 0, 3), frames.data(id, 'four')),
    })
    const call = ask(startHarness(peer, { engine: 'wire' }), 'POST /')
    await call.settled
    expect(call.error).toBeInstanceOf(errors.ResponseContentLengthMismatchError)
    await peer.waitFor(() => peer.request('/').resetCode === PROTOCOL_ERROR)
  })

  it('by less content than announced › gets no RST_STREAM, as the stream is closed; its call fails', async () => {
    const peer = await startPeer({
      onRequest: ({ id }, connection) =>
        connection.write(frames.response(id, 0, 30), frames.data(id, 'four', Flag.END_STREAM)),
    })
    const call = ask(startHarness(peer, { engine: 'wire' }), 'POST /')
    await call.settled
    expect(call.error).toBeInstanceOf(errors.ResponseContentLengthMismatchError)
    expect(call.error).toMatchObject({ processed: 'yes' })
    expect(peer.connection(0).of(Type.RST_STREAM)).toEqual([])
  })
})
