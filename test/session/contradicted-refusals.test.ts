import { describe, expect, it } from 'vitest'
import type { ConnectionScript, FaultConnection } from '../../src/testing/fault-connection.ts'
import type { FaultStream } from '../../src/testing/fault-stream.ts'
import { MAX_STREAM_ID } from '../../src/testing/frames.ts'
import type { DispatchOptions, PoolOptions } from '../../types/index.ts'
import type { Harness } from '../support/clients/engines.ts'
import { ENGINES } from '../support/clients/engines.ts'
import { CANCEL, ENHANCE_YOUR_CALM, NO_ERROR, REFUSED_STREAM } from '../support/peers/error-codes.ts'
import {
  ask,
  SERVE,
  startHarness,
  startPeer,
  toConnector,
  toOutcome,
  toOutcomes,
} from '../support/peers/peer-rig.ts'
import { toTlsPeer } from '../support/peers/peer-tls.ts'

/** What the peer can say of a stream without an answer to it, and whether it thereby has accepted the stream. */
const WORDS: Readonly<Record<string, { isAcceptance: boolean; say(stream: FaultStream): void }>> = {
  'a whole response': { isAcceptance: true, say: (stream) => void stream.respond() },
  'the header section of a response': { isAcceptance: true, say: (stream) => stream.head(200) },
  'a part of a response': {
    isAcceptance: true,
    say(stream) {
      stream.head(200)
      void stream.data('a part')
    },
  },
  'an informational response': { isAcceptance: true, say: (stream) => stream.inform(103) },
  'RST_STREAM(CANCEL)': { isAcceptance: true, say: (stream) => stream.reset(CANCEL) },
  'RST_STREAM(NO_ERROR)': { isAcceptance: true, say: (stream) => stream.reset(NO_ERROR) },
  'RST_STREAM(REFUSED_STREAM)': { isAcceptance: false, say: (stream) => stream.refuse() },
  nothing: { isAcceptance: false, say: () => {} },
}

/** How the GOAWAY comes after those words. */
const WAYS: Readonly<
  Record<string, (connection: FaultConnection, ...said: (() => void)[]) => Promise<unknown>>
> = {
  async 'in one read with them'(connection, ...said) {
    connection.inOneSegment(() => {
      for (const say of said) say()
    })
  },
  async 'in a read of its own'(connection, ...said) {
    for (const say of said) {
      say()
      await connection.ping()
    }
  },
  'cut at each byte': (connection, ...said) =>
    connection.cutAt('each byte', () => {
      for (const say of said) say()
    }),
}

const TRANSPORTS = ['TCP', 'TLS', 'a Duplex'] as const

/** Engine node takes no Duplex. */
const PAIRS = ENGINES.flatMap((engine) =>
  TRANSPORTS.filter((transport) => engine === 'wire' || transport !== 'a Duplex').map(
    (transport) => [engine, transport] as const,
  ),
)

async function start(
  engine: (typeof ENGINES)[number],
  transport: (typeof TRANSPORTS)[number],
  script: ConnectionScript = {},
  given: PoolOptions = {},
) {
  const { options: tls, ca } = transport === 'TLS' ? await toTlsPeer() : { options: {}, ca: '' }
  const peer = await startPeer([{ grantsCredit: false, ...script }, SERVE], tls)
  const connect = transport === 'TLS' ? { ca } : transport === 'a Duplex' ? toConnector(peer) : {}
  const harness = startHarness(peer, { engine, connections: 1, connect, ...given })
  return { peer, harness }
}

/** Calls on the first connection, which the peer has heard of as a whole. */
async function begin(
  { peer, harness }: { peer: Awaited<ReturnType<typeof start>>['peer']; harness: Harness },
  what: readonly string[],
  options: Partial<DispatchOptions> = {},
) {
  const calls = what.map((each) => ask(harness, each, options))
  await peer.waitFor(() => peer.requests.filter(({ isComplete }) => isComplete).length === what.length)
  const connection = peer.connection(0)
  return { calls, connection, streams: connection.streams }
}

const maybe = (stream: number, code: number | null = null): string =>
  `SocketError maybe code=${code} attempts=1 stream=${stream}`

describe.each(PAIRS)('the last stream id of a GOAWAY, on engine %s over %s', (engine, transport) => {
  describe.each(Object.keys(WAYS))('that comes %s', (way) => {
    it.each(
      Object.keys(WORDS),
    )('after %s on a later stream › is believed unless the peer has accepted that', async (word) => {
      const scene = await start(engine, transport)
      const { calls, connection, streams } = await begin(scene, [
        'GET /0',
        'POST /1',
        'GET /2',
        'POST /3',
        'GET /4',
      ])
      // The third stream, so that there are others on both sides.
      const said = WORDS[word]
      await WAYS[way]?.(
        connection,
        () => said?.say(streams[2] as FaultStream),
        () => connection.goAway({ lastStreamId: 1, code: NO_ERROR }),
      )
      const others = calls.filter((_, index) => index === 1 || index === 3)
      const expected = said?.isAcceptance === true ? [maybe(3), maybe(7)] : ['POST /1', 'POST /3']
      expect(await toOutcomes(others)).toEqual(expected)
      expect(await toOutcomes(calls.slice(4))).toEqual(['GET /4'])
      streams[0]?.respond('late')
      expect(await toOutcomes(calls.slice(0, 1))).toEqual(['late'])
      const counts = said?.isAcceptance === true ? 1 : 2
      expect(scene.peer.counts).toMatchObject({
        'GET /0': 1,
        'POST /1': counts,
        'POST /3': counts,
        'GET /4': 2,
      })
    })
  })
})

describe.each(ENGINES)('a GOAWAY that its own connection contradicts, on engine %s', (engine) => {
  /** As Helidon 4.5 does at its idle timeout and when it stops. */
  it.each([
    ['and ends', (connection: FaultConnection) => connection.end()],
    ['and breaks the connection', (connection: FaultConnection) => connection.break()],
    ['and stays', () => {}],
  ] as const)('with last stream 0 after 100 responses %s › no POST in flight is sent twice', async (_name, close) => {
    const { peer, harness } = await start(engine, 'TCP', {
      onComplete: (stream) => stream.path === '/warm' && stream.respond(),
    })
    const warm = Array.from({ length: 100 }, () => ask(harness, 'POST /warm'))
    await toOutcomes(warm)
    const calls = Array.from({ length: 20 }, (_, i) => ask(harness, `${i % 2 === 0 ? 'POST' : 'GET'} /${i}`))
    await peer.waitFor(() => peer.requests.filter(({ isComplete }) => isComplete).length === 120)
    const connection = peer.connection(0)
    connection.inOneSegment(() => connection.goAway({ lastStreamId: 0, code: NO_ERROR }))
    close(connection)
    const outcomes = await toOutcomes(calls)
    expect(outcomes).toEqual(calls.map((_, i) => (i % 2 === 0 ? maybe(201 + 2 * i) : `GET /${i}`)))
    for (let i = 0; i < calls.length; i++) {
      const what = `${i % 2 === 0 ? 'POST' : 'GET'} /${i}`
      expect(peer.counts[what]).toBe(i % 2 === 0 ? 1 : 2)
    }
    expect(calls[0]?.error.message).toMatch(/last stream id 0, but has accepted stream 199|connection was/)
    expect(await toOutcomes([ask(harness, 'POST /next')])).toEqual(['POST /next'])
  })

  it('is not believed with an error code either', async () => {
    const scene = await start(engine, 'TCP')
    const { calls, connection, streams } = await begin(scene, ['GET /0', 'POST /1'])
    await streams[0]?.respond()
    connection.goAway({ lastStreamId: 0, code: ENHANCE_YOUR_CALM })
    expect(await toOutcomes(calls)).toEqual(['GET /0', maybe(3, ENHANCE_YOUR_CALM)])
    expect(scene.peer.counts).toEqual({ 'GET /0': 1, 'POST /1': 1 })
  })

  it('fails a safe call, too, with replaySafe: false', async () => {
    const scene = await start(engine, 'TCP', {}, { replaySafe: false })
    const { calls, connection, streams } = await begin(scene, ['GET /0', 'GET /1'])
    await streams[0]?.respond()
    connection.goAway({ lastStreamId: 0, code: NO_ERROR })
    expect(await toOutcomes(calls)).toEqual(['GET /0', maybe(3)])
  })

  it('repeats a POST that is idempotent', async () => {
    const scene = await start(engine, 'TCP')
    const { calls, connection, streams } = await begin(scene, ['POST /0', 'POST /1'], { idempotent: true })
    await streams[0]?.respond()
    connection.goAway({ lastStreamId: 0, code: NO_ERROR })
    expect(await toOutcomes(calls)).toEqual(['POST /0', 'POST /1'])
    expect(scene.peer.counts).toEqual({ 'POST /0': 1, 'POST /1': 2 })
  })

  it('is a further one, below a response that came after the first', async () => {
    const scene = await start(engine, 'TCP')
    const { calls, connection, streams } = await begin(scene, ['POST /0', 'POST /1', 'POST /2'])
    connection.goAway({ lastStreamId: MAX_STREAM_ID, code: NO_ERROR })
    await connection.ping()
    await streams[1]?.respond()
    connection.goAway({ lastStreamId: 1, code: NO_ERROR })
    expect(await toOutcomes(calls.slice(1))).toEqual(['POST /1', maybe(5)])
    streams[0]?.respond()
    expect(await toOutcomes(calls)).toEqual(['POST /0', 'POST /1', maybe(5)])
    expect(scene.peer.counts).toEqual({ 'POST /0': 1, 'POST /1': 1, 'POST /2': 1 })
  })

  it('is a further one with a higher last id: what is left fails as maybe processed', async () => {
    const scene = await start(engine, 'TCP')
    const { calls, connection, streams } = await begin(scene, ['POST /0', 'POST /1', 'POST /2'])
    connection.inOneSegment(() => {
      connection.goAway({ lastStreamId: 3, code: NO_ERROR })
      connection.goAway({ lastStreamId: 5, code: NO_ERROR })
    })
    expect((await toOutcomes(calls.slice(0, 2))).map((each) => each.replace(/code=\w+/, 'code'))).toEqual([
      'SocketError maybe code attempts=1 stream=1',
      'SocketError maybe code attempts=1 stream=3',
    ])
    expect(streams).toHaveLength(3)
    expect(scene.peer.counts).toMatchObject({ 'POST /0': 1, 'POST /1': 1 })
  })

  it('is not one whose last stream was answered last', async () => {
    const scene = await start(engine, 'TCP')
    const { calls, connection, streams } = await begin(scene, ['POST /0', 'POST /1', 'POST /2'])
    await streams[1]?.respond()
    connection.goAway({ lastStreamId: 3, code: NO_ERROR })
    await streams[0]?.respond()
    expect(await toOutcomes(calls)).toEqual(['POST /0', 'POST /1', 'POST /2'])
    expect(scene.peer.counts).toEqual({ 'POST /0': 1, 'POST /1': 1, 'POST /2': 2 })
  })
})

/** A body that no first window takes: node:http2 shows by it that WINDOW_UPDATE has come. */
const LARGE = Buffer.alloc(200_000)
const CREDIT = 100_000

describe.each(ENGINES)('a refusal of one stream, on engine %s', (engine) => {
  /** What comes again, on the same connection after REFUSED_STREAM, is responded to. */
  const refusals: Readonly<Record<string, (stream: FaultStream, connection: FaultConnection) => void>> = {
    REFUSED_STREAM(stream, connection) {
      const isAgain = connection.streams.some(({ id, path }) => path === stream.path && id < stream.id)
      if (isAgain) void stream.respond()
      else stream.refuse()
    },
    '421': (stream) => void stream.respond({ status: 421, body: '' }),
  }
  const handed: Readonly<Record<string, string>> = {
    REFUSED_STREAM: `StreamError maybe code=${REFUSED_STREAM} attempts=1 stream=1`,
    '421': '',
  }

  describe.each(Object.keys(refusals))('by %s', (kind) => {
    const refuse = refusals[kind] as (stream: FaultStream, connection: FaultConnection) => void

    it.each([100, 102, 103])('after an informational response %i › is not believed', async (status) => {
      const scene = await start(engine, 'TCP', {
        onComplete(stream, connection) {
          stream.inform(status)
          refuse(stream, connection)
        },
      })
      const calls = [ask(scene.harness, 'POST /0')]
      expect(await toOutcomes(calls)).toEqual([handed[kind]])
      expect(scene.peer.counts).toEqual({ 'POST /0': 1 })
    })

    it('after credit for its body › is not believed', async () => {
      const scene = await start(engine, 'TCP', {
        onData(stream, connection) {
          if (stream.length === 65_535) {
            connection.grant(0, CREDIT)
            connection.grant(stream.id, CREDIT)
          }
          if (stream.length > 65_536) refuse(stream, connection)
        },
      })
      const call = ask(scene.harness, 'POST /0', { body: LARGE })
      expect(await toOutcomes([call])).toEqual([handed[kind]])
      expect(scene.peer.counts).toEqual({ 'POST /0': 1 })
    })

    it('after credit for the connection alone › is believed', async () => {
      const scene = await start(engine, 'TCP', {
        onData(stream, connection) {
          if (stream.length !== 65_535) return
          connection.grant(0, CREDIT)
          if (stream.id === 1 && connection.index === 0) refuse(stream, connection)
          else connection.grant(stream.id, 2 * CREDIT)
        },
        onComplete: (stream) => stream.respond(),
      })
      const call = ask(scene.harness, 'POST /0', { body: LARGE })
      expect(await toOutcomes([call])).toEqual(['POST /0'])
      expect(scene.peer.counts).toEqual({ 'POST /0': 2 })
    })

    it('before its body was read › is believed', async () => {
      const scene = await start(engine, 'TCP', { onComplete: refuse })
      expect(await toOutcomes([ask(scene.harness, 'POST /0')])).toEqual(['POST /0'])
      expect(scene.peer.counts).toEqual({ 'POST /0': 2 })
    })

    it('after a response on a later stream › is believed', async () => {
      const scene = await start(engine, 'TCP', {
        onComplete(stream, connection) {
          if (stream.path === '/0' && stream.id === 1) return
          void stream.respond()
          if (stream.path === '/1') refuse(connection.streams[0] as FaultStream, connection)
        },
      })
      const calls = [ask(scene.harness, 'POST /0'), ask(scene.harness, 'POST /1')]
      expect(await toOutcomes(calls)).toEqual(['POST /0', 'POST /1'])
      expect(scene.peer.counts).toEqual({ 'POST /0': 2, 'POST /1': 1 })
    })
  })

  it('by REFUSED_STREAM after the header section of the response › has been processed', async () => {
    const scene = await start(engine, 'TCP', {
      onComplete(stream) {
        stream.head(200)
        stream.refuse()
      },
    })
    const call = ask(scene.harness, 'POST /0')
    await call.settled
    expect(toOutcome(call)).toBe(`StreamError yes code=${REFUSED_STREAM} attempts=1 stream=1`)
    expect(scene.peer.counts).toEqual({ 'POST /0': 1 })
  })

  it('by 421 after an informational response › is followed by the request again where that is safe', async () => {
    const scene = await start(engine, 'TCP', {
      onComplete(stream) {
        stream.inform(103)
        void stream.respond({ status: 421 })
      },
    })
    expect(await toOutcomes([ask(scene.harness, 'GET /0')])).toEqual(['GET /0'])
    expect(scene.peer.counts).toEqual({ 'GET /0': 2 })
  })
})
