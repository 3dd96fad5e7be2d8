import { Socket } from 'node:net'
import { Readable } from 'node:stream'
import { describe, expect, it, onTestFinished, vi } from 'vitest'
import type { FaultConnection } from '../../src/testing/fault-connection.ts'
import { Flag, Setting, Type } from '../../src/testing/frames.ts'
import type { DispatchOptions } from '../../types/index.ts'
import { ENGINES } from '../support/clients/engines.ts'
import { ask, PATIENT, SERVE, startHarness, startPeer } from '../support/peers/peer-rig.ts'

const LARGEST_WINDOW = 2 ** 31 - 1
const DEFAULT_WINDOW = 65_535

/** A client that knows that the peer takes all there is. */
async function start(engine: (typeof ENGINES)[number]) {
  const peer = await startPeer({
    ...SERVE,
    settings: [[Setting.INITIAL_WINDOW_SIZE, LARGEST_WINDOW]],
    grantsCredit: false,
    onConnection: (connection) => connection.grant(0, LARGEST_WINDOW - DEFAULT_WINDOW),
  })
  const harness = startHarness(peer, { ...PATIENT, engine })
  await ask(harness, 'GET /first').settled
  return { peer, harness }
}

/** Frames of a request, such as `HEADERS DATA(4) HEADERS(end)`. */
function toFrames(connection: FaultConnection, streamId: number): string {
  const names = new Map<number, string>(Object.entries(Type).map(([name, type]) => [type, name]))
  return connection.frames
    .filter((frame) => frame.streamId === streamId)
    .map(({ type, flags, payload }) => {
      const details = type === Type.DATA ? [String(payload.length)] : []
      if ((flags & Flag.END_STREAM) !== 0) details.push('end')
      return `${names.get(type)}${details.length === 0 ? '' : `(${details.join(' ')})`}`
    })
    .join(' ')
}

/** Bodies that have nothing in them. */
const EMPTY: Record<string, () => DispatchOptions['body']> = {
  text: () => '',
  bytes: () => Buffer.alloc(0),
  nothing: () => null,
  Readable: () => Readable.from([]),
  generator: async function* () {},
}

/** A Readable that has come to its end already, as that of a `pipeline()` without a body has. */
function toEnded(): Readable {
  const readable = new Readable()
  readable.push(null)
  return readable
}

describe('empty Readables that begin in the same turn, on engine wire', () => {
  it('share their writes', async () => {
    const { peer, harness } = await start('wire')
    const write = vi.spyOn(Socket.prototype, 'write')
    onTestFinished(() => write.mockRestore())
    const calls = Array.from({ length: 20 }, (_, i) => ask(harness, `POST /upload-${i}`, { body: toEnded() }))
    await Promise.all(calls.map((call) => call.settled))
    const { socket } = peer.connection(0)
    // The header sections, the ends but the last, the last one.
    expect(write.mock.contexts.filter((context) => context !== socket).length).toBeLessThanOrEqual(3)
    for (const i of calls.keys())
      expect(toFrames(peer.connection(0), peer.request(`/upload-${i}`).id)).toBe('HEADERS DATA(0 end)')
  })
})

describe.each(ENGINES)('an empty body with trailers, on engine %s', (engine) => {
  it.each(Object.entries(EMPTY))('is sent without a DATA frame: %s', async (_kind, toBody) => {
    const { peer, harness } = await start(engine)
    const call = ask(harness, 'PUT /upload', { body: toBody(), trailers: { sum: '1' } })
    await call.settled
    expect(call.text).toBe('PUT /upload')
    expect(toFrames(peer.connection(0), peer.request('/upload').id)).toBe('HEADERS HEADERS(end)')
  })
})

describe.each(ENGINES)('a body of bytes on engine %s', (engine) => {
  it.each([16_384, 16_385, 65_536, 65_537, 200_000])('ends with its last byte: %i', async (size) => {
    const { peer, harness } = await start(engine)
    await ask(harness, 'POST /upload', { body: Buffer.alloc(size, 'a') }).settled
    const whole = Math.ceil(size / 16_384) - 1
    const last = `DATA(${size - whole * 16_384} end)`
    expect(toFrames(peer.connection(0), 3)).toBe(
      ['HEADERS', ...Array.from({ length: whole }, () => 'DATA(16384)'), last].join(' '),
    )
  })

  it.each([65_536, 200_000])('is followed by its trailers: %i', async (size) => {
    const { peer, harness } = await start(engine)
    const options = { body: Buffer.alloc(size, 'a'), trailers: { sum: '1' } }
    await ask(harness, 'POST /upload', options).settled
    expect(toFrames(peer.connection(0), 3)).toMatch(/DATA\(\d+\)( DATA\(0\))? HEADERS\(end\)$/)
  })
})
