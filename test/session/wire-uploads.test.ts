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
const DEFAULT_WINDOW = 65_535
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

  it('without a byte ends while the window of the connection is used up, and one with bytes waits', async () => {
    const { peer, harness, connection } = await start(1_000_000)
    const first = ask(harness, 'POST /all', { body: Buffer.alloc(DEFAULT_WINDOW) })
    const empty = ask(harness, 'POST /empty', { body: Readable.from([]) })
    const waiting = ask(harness, 'POST /waiting', { body: 'x' })
    await Promise.all([first.settled, empty.settled])
    expect(toDialogue(connection, peer.request('/empty').id)).toBe('HEADERS DATA END')
    await quiet(connection)
    expect(toDialogue(connection, peer.request('/waiting').id)).toBe('HEADERS')
    connection.grant(0, 1)
    expect(await toOutcomes([waiting])).toEqual(['POST /waiting'])
  })

  it('shares the connection with 49 others: each body is finished before the next one begins', async () => {
    const { peer, harness, connection } = await start(1_000_000)
    const body = Buffer.alloc(100_000)
    const calls = Array.from({ length: 50 }, (_none, i) => ask(harness, `POST /${i}`, { body }))
    const sum = (): number => peer.requests.reduce((all, { length }) => all + length, 0)
    let granted = DEFAULT_WINDOW
    for (let round = 0; round < 5; round++) {
      connection.grant(0, 50 * 10_000)
      granted += 50 * 10_000
      await peer.waitFor(() => sum() === granted)
      const lengths = peer.requests.slice(1).map(({ length }) => length)
      const whole = Math.floor(granted / body.length)
      expect(lengths).toEqual(
        calls.map((_call, i) => (i < whole ? body.length : i === whole ? granted % body.length : 0)),
      )
    }
    connection.grant(0, 10_000_000)
    await toOutcomes(calls)
    expect(peer.requests.slice(1).map(({ length }) => length)).toEqual(calls.map(() => body.length))
  })

  it('takes turns with 49 others, frame by frame, while the connection window is enough for all', async () => {
    const { harness, connection } = await start(1_000_000)
    connection.grant(0, 10_000_000)
    await connection.ping()
    const body = Buffer.alloc(100_000)
    const calls = Array.from({ length: 50 }, (_none, i) => ask(harness, `POST /${i}`, { body }))
    await toOutcomes(calls)
    const ids = connection.of(Type.DATA).map(({ streamId }) => streamId)
    expect(new Set(ids.slice(0, 50)).size).toBe(50)
  })

  it('gets on while the window of another stream is used up', async () => {
    const { peer, harness, connection } = await start(1_000)
    const stuck = ask(harness, 'POST /stuck', { body: Buffer.alloc(2_000) })
    const small = ask(harness, 'POST /small', { body: Buffer.alloc(1_000) })
    expect(await toOutcomes([small])).toEqual(['POST /small'])
    expect(peer.request('/stuck').length).toBe(1_000)
    // RFC 9113 §6.9.2: below 0 by that, and back by WINDOW_UPDATE alone.
    await connection.settings([INITIAL_WINDOW_SIZE, 0])
    connection.grant(peer.request('/stuck').id, 1_000)
    await quiet(connection)
    expect(peer.request('/stuck').length).toBe(1_000)
    connection.grant(peer.request('/stuck').id, 1_000)
    expect(await toOutcomes([stuck])).toEqual(['POST /stuck'])
  })

  it.each([1, FRAME, FRAME + 1, 50_000])('of %d bytes ends with its last frame of data', async (size) => {
    const { peer, harness, connection } = await start(1_000_000)
    await ask(harness, 'POST /bytes', { body: Buffer.alloc(size) }).settled
    const frames = Array.from({ length: Math.ceil(size / FRAME) }, () => 'DATA')
    expect(toDialogue(connection, peer.request('/bytes').id)).toBe(`HEADERS ${frames.join(' ')} END`)
  })

  it.each(Object.keys(KINDS))('of the kind %s ends with its trailers', async (kind) => {
    const { peer, harness, connection } = await start(1_000)
    await ask(harness, 'POST /sum', { body: KINDS[kind]?.(), trailers: { 'x-sum': '7' } }).settled
    const { id, text: body, trailers } = peer.request('/sum')
    expect(body).toBe('one two')
    expect(trailers).toEqual([['x-sum', '7']])
    expect(toDialogue(connection, id)).toMatch(/^HEADERS( DATA)+ HEADERS END$/)
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

describe('an upload of engine wire that waits for a 100', () => {
  const OPTIONS = { body: 'hello', expectContinue: true } as const

  async function startWaiting() {
    const scene = await start(1_000)
    const call = ask(scene.harness, 'POST /wait', OPTIONS)
    await scene.peer.waitFor(() => scene.peer.requests.length === 2)
    await quiet(scene.connection)
    const stream = scene.peer.request('/wait')
    expect(toDialogue(scene.connection, stream.id)).toBe('HEADERS')
    return { ...scene, call, stream }
  }

  it('sends its body when it comes', async () => {
    const { call, stream, connection } = await startWaiting()
    stream.head(100)
    expect(await toOutcomes([call])).toEqual(['POST /wait'])
    expect(toDialogue(connection, stream.id)).toBe('HEADERS DATA END')
  })

  it('sends none of it when the response comes instead, and closes the stream', async () => {
    const { call, stream, connection, peer } = await startWaiting()
    stream.head(417)
    // Between its header and its end there is time to send something.
    await quiet(connection)
    stream.end('no')
    expect(await toOutcomes([call])).toEqual(['no'])
    await peer.waitFor(() => stream.resetCode !== null)
    expect(toDialogue(connection, stream.id)).toBe('HEADERS RST_STREAM')
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

  it('uses up no credit of the connection', async () => {
    const { peer, harness, connection } = await start(1_000_000)
    for (let i = 0; i < 5; i++) await abortAll(harness, Buffer.alloc(50_000))
    const call = ask(harness, 'POST /all', { body: Buffer.alloc(DEFAULT_WINDOW) })
    expect(await toOutcomes([call])).toEqual(['POST /all'])
    expect(connection.open).toBe(0)
    expect(peer.request('/all').length).toBe(DEFAULT_WINDOW)
  })

  it('while it waits for its window lets the next one use that of the connection', async () => {
    const { peer, harness, connection } = await start(50_000)
    const calls = ['/a', '/b'].map((path) => ask(harness, `POST ${path}`, { body: Buffer.alloc(60_000) }))
    await peer.waitFor(() => peer.requests.reduce((sum, { length }) => sum + length, 0) === DEFAULT_WINDOW)
    const next = ask(harness, 'POST /next', { body: Buffer.alloc(100) })
    for (const call of calls) call.controller?.abort()
    await peer.waitFor(() => peer.requests.slice(1, 3).every(({ resetCode }) => resetCode === CANCEL))
    await quiet(connection)
    expect(peer.request('/next').length).toBe(0)
    connection.grant(0, 100)
    expect(await toOutcomes([next])).toEqual(['POST /next'])
  })
})
