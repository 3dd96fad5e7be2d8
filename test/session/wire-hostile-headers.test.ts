import { afterEach, describe, expect, it, vi } from 'vitest'
import { errors } from '../../src/index.ts'
import { toResponseHeaders } from '../../src/request/header-object.ts'
import { Flag, frames, Type } from '../../src/testing/frames.ts'
import { toBlock, toLength, toLiteral, toText } from '../../src/testing/header-blocks.ts'
import type { PoolOptions } from '../../types/index.ts'
import { COMPRESSION_ERROR, ENHANCE_YOUR_CALM } from '../support/peers/error-codes.ts'
import { ask, SERVE, startHarness, startPeer } from '../support/peers/peer-rig.ts'

vi.mock('../../src/request/header-object.ts', { spy: true })

/** `:status: 200`. */
const OK = 0x88

/**
 * The call of stream 1 gets a header section that is a decompression bomb; then the call of stream 3 gets its response.
 */
async function explode(block: Buffer, options: PoolOptions = {}) {
  const peer = await startPeer({
    onRequest: (stream, connection) => {
      if (stream.id === 3)
        connection.write(toBlock(1, block), frames.response(3), frames.data(3, 'well', Flag.END_STREAM))
    },
  })
  const harness = startHarness(peer, { engine: 'wire', connections: 1, ...options })
  const calls = [ask(harness, 'POST /1'), ask(harness, 'POST /3')] as const
  const before = performance.now()
  await Promise.all(calls.map(({ settled }) => settled))
  return { peer, call: calls[0], sibling: calls[1], took: performance.now() - before }
}

describe('a header section that is a decompression bomb', () => {
  it('of a value of 4 KB that is named 16,000 times › fails its call, and is soon decoded', async () => {
    const value = 'v'.repeat(4_000)
    const block = Buffer.concat([Buffer.of(OK), toLiteral(0x40, 'x', value), Buffer.alloc(16_000, 0xbe)])
    const { call, sibling, took } = await explode(block)
    expect(call.error).toBeInstanceOf(errors.DodiciError)
    expect(['HeadersOverflowError', 'HeadersCountError']).toContain(call.error.name)
    expect(sibling.text).toBe('well')
    expect(took).toBeLessThan(5_000)
  })

  it('of a list of nearly 1 MiB › fails its call; of as much as the caller allows › is handed on', async () => {
    const block = Buffer.concat([Buffer.of(OK), toLiteral(0, 'x', 'v'.repeat(1_000_000))])
    const refused = await explode(block)
    expect(refused.call.error).toBeInstanceOf(errors.HeadersOverflowError)
    expect(refused.sibling.text).toBe('well')
    const taken = await startPeer({
      onRequest: ({ id }, connection) => connection.write(toBlock(id, block, Flag.END_STREAM)),
    })
    const call = ask(startHarness(taken, { engine: 'wire', maxHeaderSize: 1_048_576 }), 'GET /')
    await call.settled
    expect(String(call.headers?.x).length).toBe(1_000_000)
  })

  it('of a block of more than 1 MiB › ends the connection', async () => {
    const block = Buffer.concat([Buffer.of(OK), toLiteral(0, 'x', 'v'.repeat(1_048_576))])
    const { peer, call, sibling } = await explode(block)
    for (const { error } of [call, sibling]) {
      expect(error).toBeInstanceOf(errors.SocketError)
      expect(error).toMatchObject({ http2ErrorCode: ENHANCE_YOUR_CALM })
    }
    await peer.waitFor(() => peer.connection(0).isClosed)
    expect(
      peer
        .connection(0)
        .of(Type.GOAWAY)
        .map(({ payload }) => payload.readUInt32BE(4)),
    ).toEqual([ENHANCE_YOUR_CALM])
  })

  it('of trailers that are too large › fails its call', async () => {
    const trailers = toBlock(1, toLiteral(0, 'x', 'v'.repeat(100_000)), Flag.END_STREAM)
    const peer = await startPeer({
      onRequest: (_stream, connection) =>
        connection.write(frames.response(1), frames.data(1, 'text'), trailers),
    })
    const call = ask(startHarness(peer, { engine: 'wire' }), 'POST /')
    await call.settled
    expect(call.error).toBeInstanceOf(errors.HeadersOverflowError)
  })
})

describe('a long list that is beyond the limits of its call', () => {
  const many = Buffer.concat(Array.from({ length: 20_000 }, (_none, at) => toLiteral(0, `n${at}`, 'v')))
  const withStatus = (status: number): Buffer =>
    Buffer.concat([toLiteral(0, ':status', String(status)), many])

  afterEach(() => vi.mocked(toResponseHeaders).mockClear())

  it.each([
    ['a final header', [toBlock(1, withStatus(200))]],
    ['an informational header', [toBlock(1, withStatus(103))]],
    ['trailers', [frames.response(1), frames.data(1, 'text'), toBlock(1, many, Flag.END_STREAM)]],
  ])('as %s › is refused before an object is made of it', async (_what, blocks) => {
    const peer = await startPeer({ onRequest: (_stream, connection) => connection.write(...blocks) })
    const call = ask(startHarness(peer, { engine: 'wire' }), 'POST /')
    await call.settled
    expect(call.error).toBeInstanceOf(errors.HeadersCountError)
    expect(call.error.message).toContain('20000 fields')
    const lengths = vi.mocked(toResponseHeaders).mock.calls.map(([list]) => list.length)
    expect(Math.max(0, ...lengths)).toBeLessThan(100)
  })

  it('when a field is above the largest limit of all, behind others that are not › is refused, and not cut off', async () => {
    const value = 'v'.repeat(4_000)
    // 1.5 MB of `a`, in Huffman's code: eight of them are five octets.
    const large = Buffer.alloc(937_500, Buffer.of(0x18, 0xc6, 0x31, 0x8c, 0x63))
    const length = toLength(large.length)
    length.writeUInt8(0xff)
    const block = Buffer.concat([
      Buffer.of(OK),
      toLiteral(0x40, 'x', value),
      Buffer.alloc(200, 0xbe),
      Buffer.of(0),
      toText('large'),
      length,
      large,
    ])
    const { call, sibling } = await explode(block, { maxHeaderSize: 1_048_576, maxHeadersCount: 32_768 })
    expect(call.error).toBeInstanceOf(errors.HeadersOverflowError)
    expect(sibling.text).toBe('well')
  })
})

/** Blocks that break RFC 7541. */
const BROKEN: readonly (readonly [name: string, block: readonly number[]])[] = [
  ['the index 0 (§6.1)', [OK, 0x80]],
  ['Huffman’s EOS (§5.2)', [OK, 0x00, 0x01, 0x78, 0x84, 0xff, 0xff, 0xff, 0xff]],
]

describe('a header block that breaks a rule of HPACK', () => {
  it.each(BROKEN)('by %s › ends the connection with COMPRESSION_ERROR', async (_name, octets) => {
    const { peer, call, sibling } = await explode(Buffer.from(octets))
    for (const { error } of [call, sibling]) {
      expect(error).toBeInstanceOf(errors.SocketError)
      expect(error).toMatchObject({ http2ErrorCode: COMPRESSION_ERROR })
      expect(error.message).toContain('RFC 7541')
    }
    await peer.waitFor(() => peer.connection(0).isClosed)
    expect(
      peer
        .connection(0)
        .of(Type.GOAWAY)
        .map(({ payload }) => payload.readUInt32BE(4)),
    ).toEqual([COMPRESSION_ERROR])
  })

  it('on a stream that was reset › ends the connection all the same: all streams share the table (RFC 9113 §4.3)', async () => {
    const peer = await startPeer([
      {
        onFrame: ({ type }, connection) => {
          if (type === Type.RST_STREAM) connection.write(toBlock(1, Buffer.of(0x80)))
        },
      },
      SERVE,
    ])
    const harness = startHarness(peer, { engine: 'wire', connections: 1 })
    const [aborted, sibling] = [ask(harness, 'POST /1'), ask(harness, 'POST /3')]
    await peer.waitFor(() => peer.requests.length === 2)
    aborted.controller?.abort(new Error('enough'))
    await Promise.all([aborted.settled, sibling.settled])
    expect(sibling.error).toMatchObject({ http2ErrorCode: COMPRESSION_ERROR })
  })

  it('when a table is resized repeatedly, within its rules › is accepted', async () => {
    const entry = toLiteral(0x40, 'x', 'kept')
    // To 0, to 4,096, an entry, and what it is called; twice, since a second block builds on the first.
    const block = Buffer.concat([Buffer.of(0x20, 0x3f, 0xe1, 0x1f, OK), entry, Buffer.of(0xbe)])
    const peer = await startPeer({
      onComplete: ({ id }, connection) => {
        connection.write(toBlock(id, block), toBlock(id, Buffer.of(0xbe), Flag.END_STREAM))
      },
    })
    const harness = startHarness(peer, { engine: 'wire', connections: 1 })
    for (let count = 0; count < 3; count++) {
      const call = ask(harness, 'GET /')
      await call.settled
      expect([call.headers?.x, call.trailers?.x]).toEqual(['kept, kept', 'kept'])
    }
    expect(peer.connections).toHaveLength(1)
  })
})
