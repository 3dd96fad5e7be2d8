import { describe, expect, it } from 'vitest'
import { errors } from '../../src/index.ts'
import { Setting, Type, toContent } from '../../src/testing/frames.ts'
import type { PoolOptions } from '../../types/index.ts'
import { ENGINES } from '../support/clients/engines.ts'
import { FakeClock } from '../support/clocks/fake-clock.ts'
import { ask, startHarness, startPeer, toOutcomes } from '../support/peers/peer-rig.ts'

const { INITIAL_WINDOW_SIZE, MAX_FRAME_SIZE } = Setting
const DEFAULT_WINDOW = 65_535
const DEFAULT_FRAME = 16_384

describe.each(ENGINES)('an upload, on engine %s', (engine) => {
  const options: PoolOptions = { engine, connections: 1 }

  it('to a peer with a window of 0 waits, bounded by uploadTimeout, and a sibling gets its response meanwhile', async () => {
    const clock = new FakeClock()
    const peer = await startPeer({
      settings: [[INITIAL_WINDOW_SIZE, 0]],
      onComplete: (stream) => stream.respond(),
    })
    const harness = startHarness(peer, options, clock)
    await ask(harness, 'GET /').settled
    const upload = ask(harness, 'POST /stuck', { body: 'x'.repeat(100), uploadTimeout: 5_000 })
    const large = ask(harness, 'POST /large', { body: 'x'.repeat(100_000), uploadTimeout: 60_000 })
    await peer.waitFor(() => peer.requests.length === 3)
    expect(await toOutcomes([ask(harness, 'GET /sibling')])).toEqual(['GET /sibling'])
    expect(peer.connection(0).of(Type.DATA)).toEqual([])
    clock.advance(4_999)
    expect(upload.errors).toEqual([])
    clock.advance(101)
    expect(upload.error).toBeInstanceOf(errors.UploadTimeoutError)
    expect(upload.error).toMatchObject({ processed: 'maybe', attempts: 1 })
    await peer.waitFor(() => peer.request('/stuck').resetCode === 8)
    // The other one goes on as soon as it may.
    await peer.connection(0).settings([INITIAL_WINDOW_SIZE, 100_000])
    expect(await toOutcomes([large])).toEqual(['POST /large'])
    expect(peer.request('/large').length).toBe(100_000)
    expect(peer.counts).toEqual({ 'GET /': 1, 'POST /stuck': 1, 'POST /large': 1, 'GET /sibling': 1 })
  })

  it('waits when the connection window is used up, and a sibling gets its response meanwhile', async () => {
    const peer = await startPeer({
      settings: [[INITIAL_WINDOW_SIZE, 1_000_000]],
      grantsCredit: false,
      onComplete: (stream) => stream.respond(),
    })
    const harness = startHarness(peer, options)
    const upload = ask(harness, 'POST /upload', { body: Buffer.alloc(100_000) })
    await peer.waitFor(() => peer.requests[0]?.length === DEFAULT_WINDOW)
    expect(await toOutcomes([ask(harness, 'GET /sibling')])).toEqual(['GET /sibling'])
    const connection = peer.connection(0)
    await connection.ping()
    expect(peer.request('/upload').length).toBe(DEFAULT_WINDOW)
    connection.grant(0, 100_000)
    expect(await toOutcomes([upload])).toEqual(['POST /upload'])
    expect(peer.request('/upload').length).toBe(100_000)
  })

  it('follows a window that grows, shrinks below what was used, and comes back', async () => {
    const peer = await startPeer({
      settings: [[INITIAL_WINDOW_SIZE, 10]],
      grantsCredit: false,
      onComplete: (stream) => stream.respond(),
    })
    const harness = startHarness(peer, options)
    await ask(harness, 'GET /').settled
    const body = 'abcdefghijklmnopqrstuvwxyz'
    const upload = ask(harness, 'POST /upload', { body })
    const connection = peer.connection(0)
    /** So much comes, and no more once the client has heard everything. */
    const expectReceived = async (length: number): Promise<void> => {
      await peer.waitFor(() => (peer.requests[1]?.length ?? 0) >= length)
      await connection.ping()
      expect(peer.request('/upload').length).toBe(length)
    }
    await expectReceived(10)
    await connection.settings([INITIAL_WINDOW_SIZE, 15])
    await expectReceived(15)
    // RFC 9113 §6.9.2: the stream's window is -10 now.
    await connection.settings([INITIAL_WINDOW_SIZE, 5])
    connection.grant(3, 10)
    await expectReceived(15)
    connection.grant(3, 1)
    await expectReceived(16)
    await connection.settings([INITIAL_WINDOW_SIZE, 100])
    expect(await toOutcomes([upload])).toEqual(['POST /upload'])
    expect(peer.request('/upload').text).toBe(body)
  })

  it('is cut into frames of the size that the peer permits: 16 KiB, and larger ones once it permits them', async () => {
    const peer = await startPeer({
      settings: [[INITIAL_WINDOW_SIZE, 1_000_000]],
      onConnection: (connection) => connection.grant(0, 10_000_000),
      onComplete: (stream) => stream.respond(),
    })
    const harness = startHarness(peer, options)
    const upload = async (path: string): Promise<number> => {
      const body = Buffer.alloc(300_000, 'x')
      expect(await toOutcomes([ask(harness, `POST ${path}`, { body })])).toEqual([`POST ${path}`])
      const stream = peer.request(path)
      expect(stream.length).toBe(body.length)
      const lengths = peer
        .connection(0)
        .of(Type.DATA, stream.id)
        .map((frame) => toContent(frame).length)
      return Math.max(...lengths)
    }
    expect(await upload('/before')).toBe(DEFAULT_FRAME)
    await peer.connection(0).settings([MAX_FRAME_SIZE, 100_000])
    const largest = await upload('/after')
    // node:http2 makes no use of it (nghttp2's own bound); another engine may.
    expect(largest).toBeGreaterThanOrEqual(DEFAULT_FRAME)
    expect(largest).toBeLessThanOrEqual(100_000)
    await peer.connection(0).settings([MAX_FRAME_SIZE, DEFAULT_FRAME])
    expect(await upload('/again')).toBe(DEFAULT_FRAME)
    expect(peer.connections).toHaveLength(1)
  })

  it('with a header section larger than a frame is sent in several frames, none larger than the peer permits', async () => {
    const peer = await startPeer({ onComplete: (stream) => stream.respond() })
    const harness = startHarness(peer, options)
    const headers = { 'x-large': '~'.repeat(40_000) }
    expect(await toOutcomes([ask(harness, 'POST /', { headers })])).toEqual(['POST /'])
    expect(peer.request('/').field('x-large')).toBe(headers['x-large'])
    const connection = peer.connection(0)
    expect(connection.of(Type.CONTINUATION).length).toBeGreaterThan(0)
    for (const { payload } of connection.frames) expect(payload.length).toBeLessThanOrEqual(DEFAULT_FRAME)
  })
})
