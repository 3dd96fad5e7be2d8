/** RFC 9113 §3, §5.1.2, §5.4.1, §6.8, §8.7 and §9.1: a connection from its preface to its end. */

import { describe, expect, it } from 'vitest'
import { errors } from '../../src/index.ts'
import { Flag as FrameFlag, frames as wire } from '../../src/testing/frames.ts'
import { CANCEL, NO_ERROR, REFUSED_STREAM } from '../support/peers/error-codes.ts'
import { ask, heard, PATIENT, SERVE, startHarness, startPeer, toOutcome } from '../support/peers/peer-rig.ts'
import {
  Dialogue,
  expectConnectionError,
  Flag,
  frames,
  response,
  Setting,
  Type,
} from './support-connection.ts'

const { END_STREAM } = Flag
const OPTIONS = { engine: 'wire', ...PATIENT } as const

describe('the preface', () => {
  it('RFC 9113 §3.4: of the client is the first that it sends, before the server has said anything', () => {
    const dialogue = new Dialogue({ isGreeted: false })
    const stream = dialogue.open()
    expect(dialogue.preface).toBe('PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n')
    expect(dialogue.frames.map(({ type }) => type)).toEqual([Type.SETTINGS, Type.HEADERS])
    expect(stream.id).toBe(1)
  })

  it('RFC 9113 §3.4: of the server may be empty SETTINGS, in any pieces, and is acknowledged', () => {
    const dialogue = new Dialogue({ isGreeted: false })
    dialogue.says()
    const bytes = frames.settings()
    for (const octet of bytes.subarray(0, -1)) expect(dialogue.hears(Buffer.from([octet]))).toEqual([])
    expect(dialogue.hears(bytes.subarray(-1))).toEqual(['SETTINGS ACK'])
  })

  const OTHERS = [
    { what: 'HTTP/1.1', bytes: Buffer.from('HTTP/1.1 400 Bad Request\r\n\r\n') },
    { what: 'an ACK of SETTINGS', bytes: frames.settingsAck() },
    { what: 'PING', bytes: frames.ping() },
    { what: 'GOAWAY', bytes: frames.goAway(0, NO_ERROR) },
    { what: 'WINDOW_UPDATE', bytes: frames.windowUpdate(0, 1) },
    { what: 'HEADERS', bytes: response(1, 200) },
    { what: 'an unknown frame', bytes: frames.frame(0xbe, 0, 0, Buffer.alloc(6)) },
  ]
  it.each(OTHERS)('RFC 9113 §3.4: of the server is SETTINGS: $what is PROTOCOL_ERROR', ({ bytes }) => {
    const dialogue = new Dialogue({ isGreeted: false })
    dialogue.says()
    expectConnectionError(dialogue, 'PROTOCOL_ERROR', bytes)
  })
})

describe('a connection error', () => {
  it('RFC 9113 §5.4.1: is told by GOAWAY, with what was to be sent before it, and nothing comes after', () => {
    const dialogue = new Dialogue()
    const stream = dialogue.open(false)
    const said = dialogue.hears(frames.ping(), frames.data(0, 'x'), frames.ping(), frames.settings())
    expect(said).toEqual(['PING ACK 0000000000000000', 'GOAWAY(0) 0 PROTOCOL_ERROR'])
    expect(stream.events).toEqual([])
    const goaway = dialogue.frames.at(-1)
    // What it was goes along, for who debugs the server.
    expect(goaway?.payload.toString('latin1', 8)).toContain('DATA')
  })

  it('RFC 9113 §5.4.1: fails all calls, is told to the server, and closes the TCP connection', async () => {
    const peer = await startPeer([
      { onComplete: (stream, connection) => stream.path === '/bad' && connection.write(wire.data(0, 'x')) },
      SERVE,
    ])
    const harness = startHarness(peer, OPTIONS)
    const calls = [ask(harness, 'POST /waiting'), ask(harness, 'POST /bad')]
    await Promise.all(calls.map((call) => call.settled))
    for (const { error } of calls) {
      expect(error).toBeInstanceOf(errors.SocketError)
      expect(error).toMatchObject({ http2ErrorCode: 1, processed: 'maybe' })
    }
    const connection = peer.connection(0)
    await peer.waitFor(() => connection.hasEnded || connection.isClosed)
    expect(connection.of(Type.GOAWAY).map(({ payload }) => payload.readUInt32BE(4))).toEqual([1])
    expect(connection.frames.at(-1)?.type).toBe(Type.GOAWAY)
    const next = ask(harness, 'GET /next')
    await next.settled
    expect([toOutcome(next), peer.connections.length]).toEqual(['GET /next', 2])
  })
})

describe('GOAWAY', () => {
  it('RFC 9113 §6.8: on a stream is PROTOCOL_ERROR', () => {
    expectConnectionError(new Dialogue(), 'PROTOCOL_ERROR', frames.frame(Type.GOAWAY, 0, 1, Buffer.alloc(8)))
  })

  it.each([0, 4, 7])('RFC 9113 §4.2: too short for its own fields is FRAME_SIZE_ERROR (%i)', (length) => {
    const bytes = frames.frame(Type.GOAWAY, 0, 0, Buffer.alloc(length))
    expectConnectionError(new Dialogue(), 'FRAME_SIZE_ERROR', bytes)
  })

  it('RFC 9113 §6.8: refuses the streams above its last one, and lets the others finish', () => {
    const dialogue = new Dialogue()
    const [one, two, three] = [dialogue.open(), dialogue.open(), dialogue.open()]
    expect(dialogue.hears(frames.goAway(3, NO_ERROR, 'restarting'))).toEqual([])
    expect(dialogue.events).toEqual(['goaway NO_ERROR 3 restarting'])
    expect([one.events, two.events, three.events]).toEqual([[], [], ['refused']])
    dialogue.hears(response(1, 200, END_STREAM), response(3, 200), frames.data(3, 'text', END_STREAM))
    expect([one.events, two.events]).toEqual([
      ['response 200, the end'],
      ['response 200', 'data text, the end'],
    ])
  })

  it('RFC 9113 §6.8: may come again with a lower last stream, and not with a higher one', () => {
    const dialogue = new Dialogue()
    const streams = [dialogue.open(), dialogue.open()]
    dialogue.hears(
      frames.goAway(2 ** 31 - 1, NO_ERROR),
      frames.goAway(3, NO_ERROR),
      frames.goAway(1, NO_ERROR),
    )
    expect(streams.map(({ events }) => events)).toEqual([[], ['refused']])
    expectConnectionError(dialogue, 'PROTOCOL_ERROR', frames.goAway(3, NO_ERROR))
  })

  it.each([14, 2 ** 32 - 1])('RFC 9113 §7: with an unknown code is one like any other (%i)', (code) => {
    const dialogue = new Dialogue()
    const stream = dialogue.open()
    dialogue.hears(frames.goAway(1, code), response(1, 200, END_STREAM))
    expect(dialogue.events).toEqual([`goaway ${code} 1 null`])
    expect(stream.events).toEqual(['response 200, the end'])
  })

  it('RFC 9113 §6.8: lets HPACK and the connection’s window go on for what still comes above its last stream', () => {
    const dialogue = new Dialogue()
    const [one] = [dialogue.open(), dialogue.open()]
    dialogue.hears(frames.goAway(1, NO_ERROR))
    const indexing = Buffer.from('884001610162', 'hex')
    const full = frames.data(3, 'x'.repeat(16_384))
    const said = dialogue.hears(frames.frame(Type.HEADERS, Flag.END_HEADERS, 3, indexing), full, full)
    expect(said).toEqual(['WINDOW_UPDATE(0) 32768'])
    dialogue.hears(frames.frame(Type.HEADERS, Flag.END_HEADERS, 1, Buffer.from('88be', 'hex')))
    expect(one.events).toEqual(['response 200 a: b'])
  })

  it('RFC 9113 §6.8: opens no further stream on its connection: the next call has another', async () => {
    const peer = await startPeer([
      {
        onComplete: (stream, connection) =>
          stream.path === '/first' && connection.goAway({ lastStreamId: stream.id, code: NO_ERROR }),
      },
      SERVE,
    ])
    const harness = startHarness(peer, OPTIONS)
    const first = ask(harness, 'GET /first')
    await peer.waitFor(() => peer.requests.length === 1)
    await peer.connection(0).ping()
    const second = ask(harness, 'GET /second')
    await second.settled
    expect(toOutcome(second)).toBe('GET /second')
    expect(peer.ledger).toEqual(['0/1 GET /first', '1/1 GET /second'])
    peer.request('/first').respond()
    await first.settled
    expect(toOutcome(first)).toBe('GET /first')
  })

  it('RFC 9113 §8.7: by the server makes a request above its last stream unprocessed: it is sent again, a POST, too', async () => {
    const peer = await startPeer([
      { onComplete: (_stream, connection) => connection.goAway({ lastStreamId: 0, code: NO_ERROR }) },
      SERVE,
    ])
    const call = ask(startHarness(peer, OPTIONS), 'POST /')
    await call.settled
    expect(toOutcome(call)).toBe('POST /')
    expect(peer.counts).toEqual({ 'POST /': 2 })
  })

  it('RFC 9113 §6.8: does not make those below it unprocessed: a POST is not sent again', async () => {
    const peer = await startPeer([
      {
        onComplete: (stream, connection) => {
          connection.goAway({ lastStreamId: stream.id, code: NO_ERROR })
          connection.end()
        },
      },
      SERVE,
    ])
    const call = ask(startHarness(peer, OPTIONS), 'POST /')
    await call.settled
    expect(call.error).toMatchObject({ processed: 'maybe' })
    expect(peer.counts).toEqual({ 'POST /': 1 })
  })

  it.each([
    true,
    false,
  ])('RFC 9113 §9.1: of the client comes before it closes the connection (graceful: %s)', async (isGraceful) => {
    const peer = await startPeer({ onComplete: (stream) => stream.path === '/' && stream.respond() })
    const harness = startHarness(peer, OPTIONS)
    await ask(harness, 'GET /').settled
    const waiting = isGraceful ? null : ask(harness, 'GET /waiting')
    await peer.waitFor(() => isGraceful || peer.counts['GET /waiting'] === 1)
    await Promise.all([harness.scheduler.destroy(null, isGraceful), waiting?.settled])
    const connection = peer.connection(0)
    await peer.waitFor(() => connection.hasEnded || connection.isClosed)
    expect(connection.of(Type.GOAWAY).map(({ payload }) => payload.readUInt32BE(4))).toEqual([NO_ERROR])
  })
})

describe('a request without a response', () => {
  it('RFC 9113 §8.7: is sent again after REFUSED_STREAM, a POST, too', async () => {
    const peer = await startPeer({
      onComplete: (stream) => (peer.requests.length === 1 ? stream.reset(REFUSED_STREAM) : stream.respond()),
    })
    const call = ask(startHarness(peer, OPTIONS), 'POST /')
    await call.settled
    expect(toOutcome(call)).toBe('POST /')
    expect(peer.ledger).toEqual(['0/1 POST /', '0/3 POST /'])
  })

  it('RFC 9113 §5.4.3: is not, when its connection is lost and it is a POST', async () => {
    const peer = await startPeer({ onComplete: (_stream, connection) => connection.break() })
    const call = ask(startHarness(peer, OPTIONS), 'POST /')
    await call.settled
    expect(call.error).toMatchObject({ processed: 'maybe' })
    expect(peer.counts).toEqual({ 'POST /': 1 })
  })
})

describe('the streams of a connection', () => {
  /** A peer that allows so many, and a client that knows: without its SETTINGS there is no limit. */
  async function startLimited(limit: number) {
    const peer = await startPeer({
      settings: [[Setting.MAX_CONCURRENT_STREAMS, limit]],
      onComplete: (stream) => stream.path === '/warm' && stream.respond(),
    })
    const harness = startHarness(peer, OPTIONS)
    await ask(harness, 'GET /warm').settled
    return { peer, harness }
  }

  it('RFC 9113 §5.1.2: are never more than SETTINGS_MAX_CONCURRENT_STREAMS', async () => {
    const { peer, harness } = await startLimited(3)
    const calls = Array.from({ length: 10 }, (_, i) => ask(harness, `GET /${i}`))
    for (let i = 0; i < calls.length; i++) {
      await peer.waitFor(() => peer.counts[`GET /${i}`] === 1)
      await peer.connection(0).ping()
      expect(peer.connection(0).open).toBe(Math.min(3, calls.length - i))
      peer.request(`/${i}`).respond()
    }
    await Promise.all(calls.map((call) => call.settled))
    expect(peer.connection(0).maxOpen).toBe(3)
    expect(calls.map(toOutcome)).toEqual(calls.map((_, i) => `GET /${i}`))
  })

  it('RFC 9113 §5.1.2: count until the server has them reset: an aborted one makes room when it is told', async () => {
    const { peer, harness } = await startLimited(1)
    const first = ask(harness, 'GET /first')
    const second = ask(harness, 'GET /second')
    await peer.waitFor(() => peer.counts['GET /first'] === 1)
    await peer.connection(0).ping()
    expect(peer.requests).toHaveLength(2)
    first.controller?.abort(new Error('enough'))
    await peer.waitFor(() => peer.counts['GET /second'] === 1)
    expect([peer.request('/first').resetCode, peer.connection(0).maxOpen]).toEqual([CANCEL, 1])
    peer.request('/second').respond()
    await second.settled
    expect(toOutcome(second)).toBe('GET /second')
  })

  it('RFC 9113 §9.1: share one connection, as long as it takes them', async () => {
    const peer = await startPeer(SERVE)
    const harness = startHarness(peer, OPTIONS)
    const calls = Array.from({ length: 20 }, (_, i) => ask(harness, `GET /${i}`))
    await Promise.all(calls.map((call) => call.settled))
    await heard(harness, ['connect'])
    expect(peer.connections).toHaveLength(1)
    expect(peer.connection(0).of(Type.RST_STREAM)).toEqual([])
    expect(
      peer
        .connection(0)
        .of(Type.SETTINGS)
        .filter(({ flags }) => flags === FrameFlag.ACK),
    ).toHaveLength(1)
  })
})
