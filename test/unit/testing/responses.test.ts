import { describe, expect, it } from 'vitest'
import { Flag, frames, Setting } from '../../../src/testing/frames.ts'
import type { FaultResponse } from '../../../src/testing/index.ts'
import { CANCEL } from '../../support/peers/error-codes.ts'
import { RawClient, start } from './rig.ts'

describe('a response', () => {
  it.each<[string, FaultResponse | string, string]>([
    ['a text', 'text', '200 text'],
    ['octets', { body: Buffer.from('octets') }, '200 octets'],
    ['nothing', {}, '200 GET /'],
    ['no body', { body: null }, '200'],
    ['an empty body', { body: '' }, '200'],
    ['a status', { status: 404, body: 'x' }, '404 x'],
    ['a status without a body', { status: 204 }, '204'],
    ['a status that is none', { status: 'x', body: null }, 'x'],
    [
      'fields as they are written',
      {
        headers: [
          ['B', '2'],
          ['b', '1'],
          ['a', '3'],
        ],
        body: null,
      },
      '200 B=2 b=1 a=3',
    ],
    ['fields of an object', { headers: { n: 1, list: ['a', 'b'] }, body: null }, '200 n=1 list=a list=b'],
    ['trailers', { body: 'x', trailers: { 'x-sum': '1' } }, '200 x x-sum=1'],
    ['trailers alone', { body: null, trailers: { 'x-sum': '1' } }, '200 x-sum=1'],
  ])('of %s', async (_what, response, seen) => {
    const server = await start()
    server.onRequest('/', (stream) => stream.respond(response))
    const client = await RawClient.open(server)
    client.ask(1, 'GET /')
    expect(await client.response(1)).toBe(seen)
  })

  it('larger than a frame › has as many as it takes', async () => {
    const server = await start()
    server.onRequest('/', (stream) =>
      stream.respond({ headers: { x: 'v'.repeat(20_000) }, body: 'b'.repeat(20_000) }),
    )
    const client = await RawClient.open(server)
    client.ask(1, 'GET /')
    await client.until(() => client.names.at(-1) === 'DATA 1' && client.names.length === 6)
    expect(client.names).toEqual(['SETTINGS', 'SETTINGS', 'HEADERS 1', 'CONTINUATION 1', 'DATA 1', 'DATA 1'])
  })

  it('waits for the windows of the client', async () => {
    const server = await start()
    const settled: boolean[] = []
    server.onRequest('/', async (stream) => {
      settled.push(await stream.respond({ body: 'abcdef', trailers: { 'x-sum': '6' } }))
    })
    const client = await RawClient.open(server, [[Setting.INITIAL_WINDOW_SIZE, 2]])
    client.ask(1, 'GET /')
    await client.until(() => client.names.includes('DATA 1'))
    client.write(frames.ping())
    await client.until(() => client.names.includes('PING'))
    expect([client.names.filter((name) => name === 'DATA 1').length, settled]).toEqual([1, []])
    // SETTINGS change the window of a stream that is open (RFC 9113 §6.9.2), here to −1, and WINDOW_UPDATE to 3.
    client.write(frames.settings([Setting.INITIAL_WINDOW_SIZE, 1]), frames.windowUpdate(1, 4))
    await client.until(() => client.names.filter((name) => name === 'DATA 1').length === 2)
    client.write(frames.windowUpdate(1, 100))
    expect(await client.response(1)).toBe('200 ab cde f x-sum=6')
    expect(settled).toEqual([true])
  })

  it.each([
    'reset',
    'close',
  ] as const)('that waits for a window › settles when the client ends it: %s', async (how) => {
    const server = await start()
    const settled: boolean[] = []
    server.onRequest('/', async (stream) => {
      settled.push(await stream.respond('abcdef'))
    })
    const client = await RawClient.open(server, [[Setting.INITIAL_WINDOW_SIZE, 2]])
    client.ask(1, 'GET /')
    await client.until(() => client.names.includes('DATA 1'))
    if (how === 'reset') client.write(frames.reset(1, CANCEL))
    else client.socket.destroy()
    await server.waitFor(() => settled.length === 1)
    expect(settled).toEqual([false])
  })

  it('that trickles › comes drop by drop', async () => {
    const server = await start()
    server.onRequest('/', async (stream) => {
      stream.head(200)
      await stream.trickle('abcdef', { bytesPerSecond: 1_000, bytesPerFrame: 2 })
    })
    const client = await RawClient.open(server)
    client.ask(1, 'GET /')
    expect(await client.response(1)).toBe('200 ab cd ef')
  })

  it('of a tunnel › is an echo of what comes, until the client ends it', async () => {
    const server = await start()
    server.onRequest('*', async (stream) => {
      stream.accept()
      await stream.echo()
    })
    const client = await RawClient.open(server)
    client.ask(1, 'CONNECT /')
    client.write(
      frames.headers(3, [
        [':method', 'CONNECT'],
        [':authority', 'a:1'],
      ]),
    )
    client.write(frames.data(3, 'one '), frames.data(3, 'two', Flag.END_STREAM))
    expect(await client.response(3)).toBe('200 one  two')
  })

  it('behind a promise › comes with what was promised', async () => {
    const server = await start()
    server.onRequest('/', (stream) => {
      stream.push('/style.css', 'body {}')
      return stream.respond('page')
    })
    const client = await RawClient.open(server)
    client.ask(1, 'GET /')
    await client.response(1)
    expect(client.names.slice(2)).toEqual(['PUSH_PROMISE 1', 'HEADERS 2', 'DATA 2', 'HEADERS 1', 'DATA 1'])
  })
})

describe('what is written', () => {
  it('in one segment › is one read of the client', async () => {
    const server = await start()
    server.onRequest('/', (stream, connection) => {
      connection.inOneSegment(() => {
        stream.inform(103)
        void stream.respond('x')
        connection.goAway()
      })
    })
    const client = await RawClient.open(server)
    await client.until(() => client.names.length === 2)
    const before = client.reads.length
    client.ask(1, 'GET /')
    await client.until(() => client.names.includes('GOAWAY'))
    expect(client.reads.length - before).toBe(1)
    expect(client.names.slice(2)).toEqual(['HEADERS 1', 'HEADERS 1', 'DATA 1', 'GOAWAY'])
  })

  it.each([
    [[9], 2],
    ['each byte', 21],
  ] as const)('cut at %j › comes in so many reads', async (offsets, reads) => {
    const server = await start()
    server.onRequest('/', (stream, connection) => connection.cutAt(offsets, () => void stream.respond('x')))
    const client = await RawClient.open(server)
    await client.until(() => client.names.length === 2)
    const before = client.reads.length
    client.ask(1, 'GET /')
    expect(await client.response(1)).toBe('200 x')
    expect(client.reads.length - before).toBe(offsets === 'each byte' ? 20 : reads)
  })

  it('behind a byte on which all falls silent › is lost', async () => {
    const server = await start()
    server.onRequest('/', (stream, connection) => {
      connection.fallSilent(connection.bytesWritten + 12)
      void stream.respond('x')
    })
    const client = await RawClient.open(server)
    await client.until(() => client.names.length === 2)
    const before = client.reads.length
    client.ask(1, 'GET /')
    await client.until(() => client.reads.length > before)
    expect(client.reads.slice(before)).toEqual([12])
    expect(server.connection(0).isSilent).toBe(true)
  })

  it.each([
    { count: 3 },
    { bytes: 3 * 17 },
    { count: 3, perSecond: 1_000 },
  ])('as a flood › ends at %j', async (options) => {
    const server = await start()
    const sent: number[] = []
    server.onConnection('*', async (connection) => sent.push(await connection.flood('PING', options)))
    const client = await RawClient.open(server)
    await server.waitFor(() => sent.length === 1)
    client.write(frames.ping())
    await client.until(() => client.names.filter((name) => name === 'PING').length === 4)
    expect(sent).toEqual([3])
  })

  it('after the client has gone › settles all the same', async () => {
    const server = await start()
    const settled: unknown[] = []
    server.onConnection('*', async (connection) => {
      settled.push(
        await Promise.all([
          connection.delay(60_000),
          connection.ping(),
          connection.settings({ maxFrameSize: 16_384 }),
        ]),
      )
      settled.push(await connection.flood('PING'))
    })
    const client = await RawClient.open(server)
    await client.until(() => client.names.length > 2)
    client.socket.resetAndDestroy()
    await server.waitFor(() => settled.length === 2)
    expect(settled).toEqual([[false, false, false], 0])
  })
})
