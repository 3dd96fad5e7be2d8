import { describe, expect, it } from 'vitest'
import type { FaultConnection } from '../../src/testing/fault-connection.ts'
import type { FaultStream } from '../../src/testing/fault-stream.ts'
import type { DispatchOptions } from '../../types/index.ts'
import { ENGINES } from '../support/clients/engines.ts'
import { ask, startHarness, startPeer, toConnector, toOutcome } from '../support/peers/peer-rig.ts'
import { toTlsPeer } from '../support/peers/peer-tls.ts'

/** Responses that have no content (RFC 9110 §6.4.1), without END_STREAM in their header section. */
const BARE: readonly (readonly [
  what: string,
  request: string,
  status: number,
  fields: Record<string, string>,
])[] = [
  ['a HEAD that says how long a GET’s would be', 'HEAD /', 200, { 'content-length': '7' }],
  ['a 204', 'GET /', 204, {}],
  ['a 304', 'GET /', 304, { 'content-length': '7' }],
  ['a 200 of no length', 'GET /', 200, { 'content-length': '0' }],
]

const WAYS: Readonly<
  Record<string, (connection: FaultConnection, ...said: (() => void)[]) => Promise<unknown>>
> = {
  async 'in one read'(connection, ...said) {
    connection.inOneSegment(() => {
      for (const say of said) say()
    })
  },
  async 'in two reads'(connection, ...said) {
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

const TRANSPORTS = ENGINES.flatMap((engine) =>
  (['TCP', 'TLS', 'a Duplex'] as const)
    .filter((transport) => engine === 'wire' || transport !== 'a Duplex')
    .map((transport) => [engine, transport] as const),
)

describe.each(TRANSPORTS)('a response without content, on engine %s over %s', (engine, transport) => {
  async function start(options: Partial<DispatchOptions> = {}) {
    const { options: tls, ca } = transport === 'TLS' ? await toTlsPeer() : { options: {}, ca: '' }
    const peer = await startPeer({ onComplete: () => {}, grantsCredit: false }, tls)
    const connect = transport === 'TLS' ? { ca } : transport === 'a Duplex' ? toConnector(peer) : {}
    const harness = startHarness(peer, { engine, connect })
    return {
      peer,
      harness,
      async begin(what: string) {
        const call = ask(harness, what, options)
        await peer.waitFor(() => peer.requests.length > 0)
        return { call, stream: peer.requests[0] as FaultStream, connection: peer.connection(0) }
      },
    }
  }

  describe.each(Object.keys(WAYS))('with RST_STREAM(NO_ERROR) behind its header section %s', (way) => {
    it.each(BARE)('%s › is complete', async (_what, what, status, fields) => {
      const scene = await start()
      const { call, stream, connection } = await scene.begin(what)
      await WAYS[way]?.(
        connection,
        () => stream.head(status, fields),
        () => stream.reset('NO_ERROR'),
      )
      await call.settled
      expect(call.events).toEqual(['start', `response ${status}`, 'end'])
      expect(scene.peer.requests).toHaveLength(1)
    })
  })

  it('while the rest of an upload waits for a window › is complete', async () => {
    const scene = await start({ body: Buffer.alloc(200_000) })
    const { call, stream, connection } = await scene.begin('POST /')
    connection.inOneSegment(() => {
      stream.head(204)
      stream.reset('NO_ERROR')
    })
    await call.settled
    expect(call.events).toEqual(['start', 'response 204', 'end'])
  })

  it.each([
    [
      'RST_STREAM with an error',
      (stream: FaultStream) => stream.reset('INTERNAL_ERROR'),
      'StreamError yes code=2',
    ],
    [
      'the end of the connection',
      ({ connection }: FaultStream) => Object(connection).break(),
      'SocketError yes code=null',
    ],
  ])('and then %s › is an error', async (_what, end, error) => {
    const scene = await start()
    const { call, stream, connection } = await scene.begin('GET /')
    stream.head(204)
    await connection.ping()
    end(stream)
    await call.settled
    expect(toOutcome(call)).toBe(`${error} attempts=1 stream=1`)
  })

  it('with content of no known length, and RST_STREAM(NO_ERROR) › is an error', async () => {
    const scene = await start()
    const { call, stream, connection } = await scene.begin('GET /')
    connection.inOneSegment(() => {
      stream.head(200)
      void stream.data('a part')
      stream.reset('NO_ERROR')
    })
    await call.settled
    expect(toOutcome(call)).toBe('StreamError yes code=0 attempts=1 stream=1')
  })
})
