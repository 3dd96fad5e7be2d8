import type { Socket } from 'node:net'
import { connect as connectSocket } from 'node:net'
import { describe, expect, it } from 'vitest'
import { errors } from '../../src/index.ts'
import type { ConnectionScript, FaultConnection } from '../../src/testing/fault-connection.ts'
import { Flag, frames, Setting, Type } from '../../src/testing/frames.ts'
import type { ClientOptions } from '../../types/index.ts'
import { ENHANCE_YOUR_CALM, FLOW_CONTROL_ERROR } from '../support/peers/error-codes.ts'
import { ask, SERVE, startHarness, startPeer } from '../support/peers/peer-rig.ts'

const { frame } = frames

const OK = Buffer.of(0x88)
/** Of a flood, and of one write. Bytes. */
const WRITE = 65_536
/**
 * What arrives together: 10,000 of the smallest frames have 90,000 bytes, and a few more chunks may have been read
 * already.
 */
const FEW = 300_000

/** Writes one frame over and over, as fast as the other side reads, until the connection is gone. */
function pour(connection: FaultConnection, bytes: Buffer): void {
  const { socket } = connection
  const round = Buffer.concat(Array.from({ length: Math.ceil(WRITE / bytes.length) }, () => bytes))
  const write = (): void => {
    if (connection.isClosed || socket.destroyed) return
    socket.write(round, (error) => {
      if (error === null || error === undefined) setImmediate(write)
    })
  }
  write()
}

/** A connector that keeps the client's own end of each connection. */
function toWatched(sockets: Socket[]): NonNullable<ClientOptions['connect']> {
  return ({ hostname, port }, callback) => {
    const socket = connectSocket(Number(port), hostname)
    sockets.push(socket)
    socket.once('connect', () => callback(null, socket))
    socket.once('error', (error) => callback(error, null))
  }
}

/** One attack on the first connection, of which a call waits; and a second connection that serves. */
async function suffer(script: ConnectionScript, what = 'POST /1') {
  const sockets: Socket[] = []
  // Credit for the request's body would come within the flood.
  const peer = await startPeer([{ grantsCredit: false, ...script }, SERVE])
  const harness = startHarness(peer, { engine: 'wire', connections: 1, connect: toWatched(sockets) })
  const call = ask(harness, what)
  await call.settled
  await peer.waitFor(() => peer.connection(0).isClosed)
  const [socket] = sockets
  if (socket === undefined) throw new Error('No connection was made')
  const goAways = peer.connection(0).of(Type.GOAWAY)
  return {
    call,
    read: socket.bytesRead,
    harness,
    codes: goAways.map(({ payload }) => payload.readUInt32BE(4)),
  }
}

interface Flood {
  readonly name: string
  /** Bytes that may be read of it. @default FEW */
  readonly most?: number
  /** What is written over and over. */
  readonly bytes: Buffer
  /** What comes once, ahead of it. */
  readonly ahead?: Buffer
}

const BLOCK = frame(Type.HEADERS, 0, 1, OK)
const WINDOWS = [1, 2].map((size) => frames.settings([Setting.INITIAL_WINDOW_SIZE, size]))

const FLOODS: readonly Flood[] = [
  { name: 'SETTINGS', bytes: frames.settings() },
  { name: 'SETTINGS that change a window to and fro', bytes: Buffer.concat(WINDOWS) },
  { name: 'PING', bytes: frames.ping() },
  { name: 'empty DATA', bytes: frames.data(1, ''), ahead: frames.response(1) },
  // 5,000 of them, and what they bring is skipped, not kept.
  { name: 'large frames of an unknown type', bytes: frame(0xbe, 0, 0, Buffer.alloc(16_384)), most: 1e8 },
  { name: 'CONTINUATION of one byte', bytes: frame(Type.CONTINUATION, 0, 1, OK), ahead: BLOCK },
  {
    name: 'large CONTINUATION',
    bytes: frame(Type.CONTINUATION, 0, 1, Buffer.alloc(16_384)),
    ahead: BLOCK,
    most: 1_048_576 + FEW,
  },
]

describe('a flood', () => {
  it.each(FLOODS)('of $name › ends the connection, before much of it was read', async (flood) => {
    const { bytes, ahead, most = FEW } = flood
    const { call, read, harness, codes } = await suffer({
      onRequest: (_stream, connection) => {
        if (ahead !== undefined) connection.write(ahead)
        pour(connection, bytes)
      },
    })
    expect(call.error).toBeInstanceOf(errors.SocketError)
    expect(call.error).toMatchObject({ http2ErrorCode: ENHANCE_YOUR_CALM, attempts: 1 })
    expect(read).toBeLessThan(most)
    // A flood may keep the peer's own ears shut: where it has heard of the end, it has heard why.
    if (codes.length > 0) expect(codes).toEqual([ENHANCE_YOUR_CALM])
    const next = ask(harness, 'GET /next')
    await next.settled
    expect(next.text).toBe('GET /next')
  })

  it('of informational responses › fails the call that they are for, and no other', async () => {
    const early = Buffer.concat(Array.from({ length: 400 }, () => frames.headers(1, [[':status', '103']])))
    const peer = await startPeer({
      onRequest: (stream, connection) => {
        if (stream.id === 1) connection.write(early)
        else stream.respond('sibling')
      },
    })
    const harness = startHarness(peer, { engine: 'wire', connections: 1 })
    const [call, sibling] = [ask(harness, 'POST /1'), ask(harness, 'POST /3')]
    await Promise.all([call.settled, sibling.settled])
    expect(call.error).toBeInstanceOf(errors.HeadersCountError)
    expect(sibling.text).toBe('sibling')
  })

  it('of PINGs of a peer that reads no ACK › is ended by the number of ACKs that wait', async () => {
    const { call, read } = await suffer({
      onRequest: (_stream, connection) => {
        connection.socket.pause()
        pour(connection, frames.ping())
      },
    })
    expect(call.error).toMatchObject({ http2ErrorCode: ENHANCE_YOUR_CALM })
    expect(read).toBeLessThan(FEW)
  })
})

describe('more data than was asked for', () => {
  it('on a stream whose reader is paused › resets it, and a sibling gets its response', async () => {
    const piece = frame(Type.DATA, 0, 1, Buffer.alloc(16_384))
    const peer = await startPeer({
      onRequest: (stream, connection) => {
        if (stream.id === 1) connection.write(frames.response(1), ...Array.from({ length: 5 }, () => piece))
        else stream.respond('sibling')
      },
    })
    const harness = startHarness(peer, { engine: 'wire', connections: 1, initialWindowSize: 65_536 })
    const held = ask(harness, 'POST /1')
    held.controller?.pause()
    await held.settled
    expect(held.error).toBeInstanceOf(errors.StreamError)
    expect(held.error).toMatchObject({ http2ErrorCode: FLOW_CONTROL_ERROR, streamId: 1 })
    const sibling = ask(harness, 'GET /3')
    await sibling.settled
    expect(sibling.text).toBe('sibling')
    await peer.waitFor(() => peer.request('/1').resetCode === FLOW_CONTROL_ERROR)
  })

  it('on the connection, by streams that are held › ends it, with no more than its window read', async () => {
    const sockets: Socket[] = []
    const peer = await startPeer({
      onRequest: (stream, connection) => {
        connection.write(frames.response(stream.id))
        if (stream.id === 5)
          pour(connection, Buffer.concat([1, 3, 5].map((id) => frame(Type.DATA, 0, id, Buffer.alloc(1_000)))))
      },
    })
    const harness = startHarness(peer, {
      engine: 'wire',
      connections: 1,
      connect: toWatched(sockets),
      initialWindowSize: 1_000_000,
      connectionWindowSize: 200_000,
    })
    const calls = ['POST /1', 'POST /3', 'POST /5'].map((what) => ask(harness, what))
    for (const { controller } of calls) controller?.pause()
    await Promise.all(calls.map((call) => call.settled))
    for (const call of calls) expect(call.error).toMatchObject({ http2ErrorCode: FLOW_CONTROL_ERROR })
    expect(sockets[0]?.bytesRead).toBeLessThan(200_000 + FEW)
  })
})

describe('traffic that is legal, and odd', () => {
  it('of GREASE, CONTINUATION, padding and unknown settings › gets its response like any other', async () => {
    const fields = frames
      .headers(1, [
        [':status', '200'],
        ['x-long', 'v'.repeat(100)],
      ])
      .subarray(9)
    const bytes = Buffer.from(fields)
    const peer = await startPeer({
      settings: [
        [0x1a, 5],
        [Setting.MAX_CONCURRENT_STREAMS, 100],
        [0xfa, 2 ** 32 - 1],
      ],
      onComplete: (stream, connection) => {
        connection.write(
          frame(0x0b, 0xff, 0, Buffer.from('GREASE')),
          frame(0x2a, 0, stream.id),
          frame(Type.HEADERS, 0, stream.id, bytes.subarray(0, 1)),
          ...Array.from({ length: 50 }, () => frame(Type.CONTINUATION, 0, stream.id)),
          frame(Type.CONTINUATION, 0, stream.id, bytes.subarray(1, 50)),
          frame(Type.CONTINUATION, Flag.END_HEADERS, stream.id, bytes.subarray(50)),
          frame(
            Type.DATA,
            Flag.PADDED,
            stream.id,
            Buffer.concat([Buffer.of(255), Buffer.from('text'), Buffer.alloc(255)]),
          ),
          frame(0xfa, 0, stream.id, Buffer.alloc(1_000)),
          frame(Type.PRIORITY, 0, stream.id, Buffer.alloc(5)),
          ...Array.from({ length: 300 }, () => frames.data(stream.id, '')),
          frames.ping(),
          frames.data(stream.id, '', Flag.END_STREAM),
        )
      },
    })
    const harness = startHarness(peer, { engine: 'wire', connections: 1 })
    for (let count = 0; count < 5; count++) {
      const call = ask(harness, `GET /${count}`)
      await call.settled
      expect(call.text).toBe('text')
      expect(call.headers?.['x-long']).toBe('v'.repeat(100))
    }
    expect(peer.connections).toHaveLength(1)
  })
})
