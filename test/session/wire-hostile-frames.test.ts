import { describe, expect, it } from 'vitest'
import { errors } from '../../src/index.ts'
import type { FaultConnection } from '../../src/testing/fault-connection.ts'
import { Flag, frames, Type } from '../../src/testing/frames.ts'
import {
  COMPRESSION_ERROR,
  FLOW_CONTROL_ERROR,
  FRAME_SIZE_ERROR,
  NO_ERROR,
  PROTOCOL_ERROR,
} from '../support/peers/error-codes.ts'
import { ask, SERVE, startHarness, startPeer } from '../support/peers/peer-rig.ts'

const { frame } = frames

/** What the peer sends after two requests, on streams 1 and 3, have come. The response to the second is half sent. */
type Attack = readonly [name: string, code: number, bytes: readonly Buffer[]]

const MAX_WINDOW = 2 ** 31 - 1

const ON_CONNECTION: readonly Attack[] = [
  ['DATA on stream 0', PROTOCOL_ERROR, [frames.data(0, 'x')]],
  ['DATA above the largest size', FRAME_SIZE_ERROR, [frame(Type.DATA, 0, 3, Buffer.alloc(16_385))]],
  ['an ACK that nothing was sent for', PROTOCOL_ERROR, [frames.settingsAck(), frames.settingsAck()]],
  [
    'PUSH_PROMISE',
    PROTOCOL_ERROR,
    [frame(Type.PUSH_PROMISE, Flag.END_HEADERS, 1, Buffer.of(0, 0, 0, 2, 0x88))],
  ],
  [
    'a GOAWAY that raises the last stream',
    PROTOCOL_ERROR,
    [frames.goAway(5, NO_ERROR), frames.goAway(7, NO_ERROR)],
  ],
  ['the connection’s window beyond 2^31-1', FLOW_CONTROL_ERROR, [frames.windowUpdate(0, MAX_WINDOW)]],
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
  ['DATA ahead of its header', PROTOCOL_ERROR, [frames.data(1, 'x')]],
  ['a header without a status', PROTOCOL_ERROR, [header(['x', '1'])]],
  ['a value with a line end', PROTOCOL_ERROR, [header(STATUS, ['x', 'a\r\nb: c'])]],
  ['trailers that don’t end it', PROTOCOL_ERROR, [frames.response(1), frames.headers(1, [['x', '1']])]],
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
