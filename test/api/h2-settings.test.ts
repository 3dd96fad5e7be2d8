import type { Settings } from 'node:http2'
import { describe, expect, it, onTestFinished } from 'vitest'
import { Agent, Client, errors, Pool } from '../../src/index.ts'
import type { ConnectionScript, FaultConnection } from '../../src/testing/fault-connection.ts'
import { Flag, frames, Setting, Type, toSettings } from '../../src/testing/frames.ts'
import type { AgentOptions, Http2Settings } from '../../types/index.ts'
import { destroyWithTest } from '../support/clients/agents.ts'
import { HERE } from '../support/clients/engines.ts'
import { startPeer } from '../support/peers/peer-rig.ts'
import { startServer } from '../support/servers/server.ts'

const GET = { path: '/', method: 'GET' } as const
const MIB = 1_024 * 1_024
/** RFC 9113 §6.9.2: the initial window of a connection. */
const DEFAULT_WINDOW = 65_535

const {
  HEADER_TABLE_SIZE,
  ENABLE_PUSH,
  MAX_CONCURRENT_STREAMS,
  INITIAL_WINDOW_SIZE,
  MAX_FRAME_SIZE,
  MAX_HEADER_LIST_SIZE,
  ENABLE_CONNECT_PROTOCOL,
} = Setting

/** The SETTINGS that are sent without options. */
const DEFAULTS = {
  [ENABLE_PUSH]: 0,
  [INITIAL_WINDOW_SIZE]: 1_048_579,
  [MAX_HEADER_LIST_SIZE]: MIB,
  ...HERE.ownSettings,
}

const MAKERS = {
  Client: (origin: string, options: AgentOptions) => new Client(origin, options),
  Pool: (origin: string, options: AgentOptions) => new Pool(origin, options),
  Agent: (_origin: string, options: AgentOptions) => new Agent({ ...options, h2c: true }),
} as const

/** Responds without a body, so that the response needs no window. */
const EMPTY_RESPONSE: ConnectionScript = {
  onComplete(stream) {
    stream.head(200)
    stream.end()
  },
}

/** The connection on which a dispatcher with these options has had a response. */
async function begin(options: AgentOptions, make = MAKERS.Client as (typeof MAKERS)[keyof typeof MAKERS]) {
  const peer = await startPeer(EMPTY_RESPONSE)
  const dispatcher = make(peer.origin, options)
  onTestFinished(() => dispatcher.destroy())
  const { body } = await dispatcher.request({ ...GET, origin: peer.origin })
  expect(await body.text()).toBe('')
  return { peer, dispatcher, connection: peer.connection(0) }
}

/** The entries of each of the client's SETTINGS frames. */
function toSent(connection: FaultConnection): Record<number, number>[] {
  const sent = connection.of(Type.SETTINGS).filter(({ flags }) => (flags & Flag.ACK) === 0)
  return sent.map((frame) => Object.fromEntries(toSettings(frame)))
}

/** The credit that the connection got beside its first window, before the first request. */
function toCredit({ frames }: FaultConnection): number {
  const before = frames.slice(
    0,
    frames.findIndex(({ type }) => type === Type.HEADERS),
  )
  const grants = before.filter(({ type, streamId }) => type === Type.WINDOW_UPDATE && streamId === 0)
  return grants.reduce((sum, { payload }) => sum + payload.readUInt32BE(0), 0)
}

describe('the SETTINGS of a session', () => {
  it('have defaults of our own: no push, windows for a hundred streams, large headers', async () => {
    const { connection } = await begin({})
    expect(connection.frames[0]?.type).toBe(Type.SETTINGS)
    expect(toSent(connection)).toEqual([DEFAULTS])
    expect(DEFAULT_WINDOW + toCredit(connection)).toBe(HERE.firstConnectionWindow)
  })

  const CASES: { given: Http2Settings; id: number; value: number }[] = [
    // Less than the default is a case of its own below: the peer has to respond for it in its header blocks.
    { given: { headerTableSize: 65_536 }, id: HEADER_TABLE_SIZE, value: 65_536 },
    { given: { headerTableSize: 4_096 }, id: HEADER_TABLE_SIZE, value: 4_096 },
    { given: { enablePush: false }, id: ENABLE_PUSH, value: 0 },
    { given: { maxConcurrentStreams: 0 }, id: MAX_CONCURRENT_STREAMS, value: 0 },
    { given: { maxConcurrentStreams: 2 ** 32 - 1 }, id: MAX_CONCURRENT_STREAMS, value: 2 ** 32 - 1 },
    { given: { initialWindowSize: 1 }, id: INITIAL_WINDOW_SIZE, value: 1 },
    { given: { initialWindowSize: 2 ** 31 - 1 }, id: INITIAL_WINDOW_SIZE, value: 2 ** 31 - 1 },
    { given: { maxFrameSize: 16_384 }, id: MAX_FRAME_SIZE, value: 16_384 },
    { given: { maxFrameSize: 2 ** 24 - 1 }, id: MAX_FRAME_SIZE, value: 2 ** 24 - 1 },
    { given: { maxHeaderListSize: 1_000 }, id: MAX_HEADER_LIST_SIZE, value: 1_000 },
    { given: { maxHeaderListSize: 2 ** 32 - 1 }, id: MAX_HEADER_LIST_SIZE, value: 2 ** 32 - 1 },
    { given: { enableConnectProtocol: true }, id: ENABLE_CONNECT_PROTOCOL, value: 1 },
    { given: { enableConnectProtocol: false }, id: ENABLE_CONNECT_PROTOCOL, value: 0 },
  ]

  it.each(CASES)('carry the h2Options.settings: $given', async ({ given, id, value }) => {
    // The largest window of a stream needs a bound that it fits into.
    const bound = given.initialWindowSize === undefined ? {} : { maxSessionBuffer: 2 ** 31 }
    const { connection } = await begin({ h2Options: { settings: given }, ...bound })
    const [first = {}] = toSent(connection)
    expect(first).toEqual({ ...DEFAULTS, [id]: value })
  })

  it.each(Object.entries(MAKERS))('carry all of them at once, by a %s', async (_name, make) => {
    const settings = {
      headerTableSize: 8_192,
      enablePush: false,
      maxConcurrentStreams: 2,
      initialWindowSize: 300_000,
      maxFrameSize: 40_000,
      maxHeaderListSize: 50_000,
      enableConnectProtocol: true,
    } as const
    const { connection } = await begin({ h2Options: { settings, connectionWindowSize: 600_000 } }, make)
    expect(toSent(connection)).toEqual([
      {
        [HEADER_TABLE_SIZE]: 8_192,
        [ENABLE_PUSH]: 0,
        [MAX_CONCURRENT_STREAMS]: 2,
        [INITIAL_WINDOW_SIZE]: 300_000,
        [MAX_FRAME_SIZE]: 40_000,
        [MAX_HEADER_LIST_SIZE]: 50_000,
        [ENABLE_CONNECT_PROTOCOL]: 1,
        ...HERE.ownSettings,
      },
    ])
    expect(DEFAULT_WINDOW + toCredit(connection)).toBe(600_000)
  })

  it('hold for the frames of the server: a frame as large as maxFrameSize is accepted', async () => {
    const peer = await startPeer({
      onComplete(stream, connection) {
        stream.head(200)
        connection.write(frames.frame(Type.DATA, Flag.END_STREAM, stream.id, Buffer.alloc(40_000)))
      },
    })
    const large = destroyWithTest(
      new Client(peer.origin, { h2Options: { settings: { maxFrameSize: 40_000 } } }),
    )
    const { body } = await large.request(GET)
    expect((await body.bytes()).length).toBe(40_000)
    // A byte less would have been too much.
    // Node 20 says nothing of the error by which it has ended its session then: a PING without an ACK does.
    const pings = { pingInterval: 50, pingTimeout: 50 }
    const small = destroyWithTest(
      new Client(peer.origin, { ...pings, h2Options: { settings: { maxFrameSize: 39_999 } } }),
    )
    const response = await small.request(GET)
    await expect(response.body.text()).rejects.toMatchObject({ processed: 'yes' })
  })

  it('hold for the header blocks of the server: it uses no more of a smaller table', async () => {
    const heard: Settings[] = []
    const { origin, server } = await startServer((stream) => {
      stream.respond({ ':status': 200, 'x-long': 'a'.repeat(200) })
      stream.end('hello')
    })
    server.on('session', (session) => session.on('remoteSettings', (settings) => heard.push(settings)))
    const client = destroyWithTest(new Client(origin, { h2Options: { settings: { headerTableSize: 0 } } }))
    for (let i = 0; i < 3; i++) {
      const { body, headers } = await client.request(GET)
      expect([await body.text(), headers['x-long']]).toEqual(['hello', 'a'.repeat(200)])
    }
    expect(heard).toMatchObject([{ headerTableSize: 0 }])
  })

  it.each([
    [{ initialWindowSize: 100_000 }, 100_000],
    [{ initialWindowSize: 100_000, h2Options: { settings: { initialWindowSize: 100_000 } } }, 100_000],
    // A hundred streams may come before it can be changed.
    [{ maxSessionBuffer: 100 * 65_537 }, 65_537],
  ])('announce the stream window: %j', async (options, size) => {
    const { connection, dispatcher } = await begin(options)
    expect(toSent(connection)[0]?.[INITIAL_WINDOW_SIZE]).toBe(size)
    expect(dispatcher.stats.sessions).toMatchObject([{ streamWindow: size }])
  })
})

describe('connectionWindowSize', () => {
  it.each([
    65_535,
    65_536,
    1_000_000,
    2 ** 31 - 1,
  ])('reaches the wire as a WINDOW_UPDATE before the first request: %i', async (connectionWindowSize) => {
    const { connection } = await begin({ connectionWindowSize })
    expect(DEFAULT_WINDOW + toCredit(connection)).toBe(connectionWindowSize)
    const nested = await begin({ h2Options: { connectionWindowSize } })
    expect(toCredit(nested.connection)).toBe(toCredit(connection))
  })
})

describe('h2Options.maxConcurrentStreams', () => {
  it('bounds the streams of a session', async () => {
    const { dispatcher } = await begin({ h2Options: { maxConcurrentStreams: 3 } })
    expect(dispatcher.stats.sessions).toMatchObject([{ limit: 3, peerLimit: 2 ** 32 - 1 }])
  })
})

describe('invalid options', () => {
  it.each([
    { options: { h2Options: { settings: { enablePush: true } } }, message: 'h2Options.settings.enablePush' },
    { options: { h2Options: { settings: { maxFrameSize: 1 } } }, message: 'h2Options.settings.maxFrameSize' },
    {
      options: { h2Options: { settings: { other: 1 } } },
      message: 'got "other", expected one of initialWindowSize',
    },
    {
      options: { pingInterval: 1, h2Options: { pingInterval: 2 } },
      message: 'the same value as pingInterval (1)',
    },
  ])('are refused by each kind of dispatcher when it is made: $message', ({ options, message }) => {
    for (const DispatcherClass of [Client, Pool]) {
      expect(() => Reflect.construct(DispatcherClass, ['http://localhost', options])).toThrow(message)
    }
    expect(() => Reflect.construct(Agent, [options])).toThrow(message)
    expect(() => Reflect.construct(Agent, [options])).toThrow(errors.InvalidArgumentError)
  })
})
