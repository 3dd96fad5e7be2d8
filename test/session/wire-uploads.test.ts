import { Readable } from 'node:stream'
import { setImmediate } from 'node:timers/promises'
import { describe, expect, it } from 'vitest'
import type { ConnectionScript, FaultConnection } from '../../src/testing/fault-connection.ts'
import { Flag, Setting, Type } from '../../src/testing/frames.ts'
import type { DispatchOptions } from '../../types/index.ts'
import type { Harness } from '../support/clients/engines.ts'
import { CANCEL } from '../support/peers/error-codes.ts'
import { ask, startHarness, startPeer, toOutcomes } from '../support/peers/peer-rig.ts'

const { INITIAL_WINDOW_SIZE } = Setting
const FRAME = 16_384

/** A peer that gives no credit by itself, and a client that has its SETTINGS. */
async function start(windowSize: number, script: ConnectionScript = {}) {
  const peer = await startPeer({
    settings: [[INITIAL_WINDOW_SIZE, windowSize]],
    grantsCredit: false,
    onComplete: (stream) => stream.respond(),
    ...script,
  })
  const harness = startHarness(peer, { engine: 'wire' })
  await ask(harness, 'GET /first').settled
  return { peer, harness, connection: peer.connection(0) }
}

/** Until both sides have done all that they can do by themselves. */
async function quiet(connection: FaultConnection): Promise<void> {
  for (let i = 0; i < 5; i++) {
    await connection.ping()
    for (let turn = 0; turn < 10; turn++) await setImmediate()
  }
}

/** What the client has sent on a stream: types and END_STREAM, such as `HEADERS DATA END`. */
function toDialogue(connection: FaultConnection, streamId: number): string {
  const words = connection.frames
    .filter((frame) => frame.streamId === streamId)
    .flatMap(({ type, flags }) => {
      const name = Object.entries(Type).find(([, value]) => value === type)?.[0] ?? ''
      const isEnd = type !== Type.RST_STREAM && (flags & Flag.END_STREAM) !== 0
      return isEnd ? [name, 'END'] : [name]
    })
  return words.join(' ')
}

const PIECE = Buffer.alloc(10_000, 'x')

/** Sources without an end that count what was taken from them. */
const ENDLESS: Record<string, (onTaken: (bytes: number) => void) => DispatchOptions['body']> = {
  Readable: (onTaken) =>
    new Readable({
      read() {
        onTaken(PIECE.length)
        this.push(PIECE)
      },
    }),
  generator: async function* (onTaken) {
    for (;;) {
      onTaken(PIECE.length)
      yield PIECE
    }
  },
  'web stream': (onTaken) =>
    new ReadableStream({
      pull(controller) {
        onTaken(PIECE.length)
        controller.enqueue(new Uint8Array(PIECE))
      },
    }),
}

/** The same text by bodies of each kind. */
const KINDS: Record<string, () => DispatchOptions['body']> = {
  text: () => 'one two',
  bytes: () => Buffer.from('one two'),
  Readable: () => Readable.from(['one ', 'two'], { objectMode: false }),
  generator: async function* () {
    yield Buffer.from('one ')
    yield Buffer.from('two')
  },
  'web stream': () =>
    new ReadableStream({
      start(controller) {
        controller.enqueue(new TextEncoder().encode('one two'))
        controller.close()
      },
    }),
  Blob: () => new Blob(['one ', 'two']),
  factory: () => () => 'one two',
}

describe('an upload of engine wire', () => {
  describe.each(Object.keys(ENDLESS))('from a source, %s', (kind) => {
    it('reads no faster than the peer takes', async () => {
      const { peer, harness, connection } = await start(0)
      let taken = 0
      const body = ENDLESS[kind]?.((bytes) => {
        taken += bytes
      })
      const call = ask(harness, 'POST /upload', { body })
      await peer.waitFor(() => peer.requests.length === 2)
      await quiet(connection)
      // The data that we buffer: a slice of 64 KiB, the source's own buffer, and a piece on its way.
      const most = 65_536 + 65_536 + 2 * PIECE.length
      expect(taken).toBeLessThanOrEqual(most)
      const { id } = peer.request('/upload')
      for (let sent = 20_000; sent <= 200_000; sent += 20_000) {
        connection.grant(0, 20_000)
        connection.grant(id, 20_000)
        await peer.waitFor(() => peer.request('/upload').length === sent)
        await quiet(connection)
        expect(taken).toBeGreaterThanOrEqual(sent)
        expect(taken - sent).toBeLessThanOrEqual(most)
      }
      call.controller?.abort()
      await peer.waitFor(() => peer.request('/upload').resetCode === CANCEL)
    })
  })

  it.each([1, FRAME, FRAME + 1, 50_000])('of %d bytes ends with its last frame of data', async (size) => {
    const { peer, harness, connection } = await start(1_000_000)
    await ask(harness, 'POST /bytes', { body: Buffer.alloc(size) }).settled
    const frames = Array.from({ length: Math.ceil(size / FRAME) }, () => 'DATA')
    expect(toDialogue(connection, peer.request('/bytes').id)).toBe(`HEADERS ${frames.join(' ')} END`)
  })

  it.each(
    Object.keys(KINDS),
  )('of the kind %s keeps its trailers until its window has let all of it go', async (kind) => {
    const { peer, harness, connection } = await start(0)
    const call = ask(harness, 'POST /sum', { body: KINDS[kind]?.(), trailers: { 'x-sum': '7' } })
    await peer.waitFor(() => peer.requests.length === 2)
    await quiet(connection)
    const { id } = peer.request('/sum')
    expect(toDialogue(connection, id)).toBe('HEADERS')
    connection.grant(id, 6)
    await peer.waitFor(() => peer.request('/sum').length === 6)
    await quiet(connection)
    expect(peer.request('/sum').trailers).toBe(null)
    connection.grant(id, 1)
    await call.settled
    expect(peer.request('/sum')).toMatchObject({ text: 'one two', trailers: [['x-sum', '7']] })
  })
})

describe('an upload of engine wire that is aborted', () => {
  const abortAll = async (harness: Harness, body: DispatchOptions['body']) => {
    const call = ask(harness, 'POST /aborted', { body })
    // Its header is framed, and nothing was written to the socket yet.
    call.controller?.abort()
    await call.settled
    return call
  }

  it.each(Object.keys(KINDS))('before anything was written (%s) sends none of its body', async (kind) => {
    const { peer, harness, connection } = await start(1_000)
    const call = await abortAll(harness, KINDS[kind]?.())
    expect(call.events).toEqual(['start', 'error'])
    expect(await toOutcomes([ask(harness, 'POST /sibling')])).toEqual(['POST /sibling'])
    await quiet(connection)
    expect(toDialogue(connection, peer.request('/aborted').id)).toBe('HEADERS RST_STREAM')
  })
})
