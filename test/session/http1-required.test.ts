import { Readable } from 'node:stream'
import { text as readText } from 'node:stream/consumers'
import { describe, expect, it } from 'vitest'
import { errors } from '../../src/index.ts'
import type { ConnectionScript } from '../../src/testing/fault-connection.ts'
import type { DispatchOptions } from '../../types/index.ts'
import { FakeFallback, respondTo } from '../support/clients/fallback-fake.ts'
import { FakeClock } from '../support/clocks/fake-clock.ts'
import { HTTP_1_1_REQUIRED } from '../support/peers/error-codes.ts'
import {
  ask,
  PATIENT,
  SERVE,
  startHarness,
  startPeer,
  toOutcome,
  toOutcomes,
} from '../support/peers/peer-rig.ts'

/** Refuses what is under `/old`, and responds to everything else. */
const REQUIRE: ConnectionScript = {
  onComplete: (stream) => {
    if (stream.path.startsWith('/old')) stream.reset(HTTP_1_1_REQUIRED)
    else stream.respond()
  },
}

/** Bytes are one as well, of numbers. */
function isIterable(body: unknown): body is AsyncIterable<unknown> {
  return typeof body === 'object' && body !== null && Symbol.asyncIterator in body
}

/** Responds with the body that it was given. */
function toEcho(): FakeFallback {
  return new FakeFallback((request) => {
    const { body } = request.options
    if (isIterable(body)) {
      const onError = (error: Error): void => request.handler.onResponseError?.(request.controller, error)
      readText(Readable.from(body)).then((text) => respondTo(request, `echo ${text}`), onError)
    } else {
      respondTo(request, body instanceof Uint8Array ? `echo ${Buffer.from(body)}` : 'no body')
    }
  })
}

const REPLAYABLE: readonly { readonly what: string; readonly body: () => DispatchOptions['body'] }[] = [
  { what: 'a string', body: () => 'text' },
  { what: 'a function that returns a Readable', body: () => () => Readable.from(['te', 'xt']) },
]

describe('RST_STREAM with HTTP_1_1_REQUIRED', () => {
  it('sends that request to the fallback, and the others on by HTTP/2', async () => {
    const peer = await startPeer(REQUIRE)
    const fallback = toEcho()
    const harness = startHarness(peer, { fallback })
    const calls = ['GET /a', 'GET /old', 'GET /b'].map((what) => ask(harness, what))
    expect(await toOutcomes(calls)).toEqual(['GET /a', 'no body', 'GET /b'])
    expect(await toOutcomes([ask(harness, 'GET /c')])).toEqual(['GET /c'])
    expect(fallback.requests.map(({ options }) => options.path)).toEqual(['/old'])
    expect(peer.connections).toHaveLength(1)
    expect(harness.connections).toEqual(['connect'])
  })

  it('when the next request has the same path › tries HTTP/2 again', async () => {
    const peer = await startPeer(REQUIRE)
    const fallback = toEcho()
    const harness = startHarness(peer, { fallback })
    for (let i = 0; i < 3; i++) expect(await toOutcomes([ask(harness, 'GET /old')])).toEqual(['no body'])
    expect(peer.counts).toEqual({ 'GET /old': 3 })
    expect(fallback.requests).toHaveLength(3)
  })

  it.each(REPLAYABLE)('sends a body once more that is $what', async ({ body }) => {
    const peer = await startPeer(REQUIRE)
    const fallback = toEcho()
    const harness = startHarness(peer, { fallback })
    const call = ask(harness, 'POST /old', { body: body() })
    expect(await toOutcomes([call])).toEqual(['echo text'])
    expect(call.events).toEqual(['start', 'response 200', 'data', 'end'])
    expect(peer.request('/old').text).toBe('text')
  })

  it('fails a request whose body can be read only once, with an error that names the reason', async () => {
    const peer = await startPeer(REQUIRE)
    const fallback = toEcho()
    const harness = startHarness(peer, { fallback })
    const call = ask(harness, 'POST /old', { body: Readable.from(['text']) })
    await call.settled
    expect(call.error).toBeInstanceOf(errors.StreamError)
    expect(call.error).toMatchObject({ http2ErrorCode: HTTP_1_1_REQUIRED, attempts: 1, streamId: 1 })
    expect(call.error.message).toContain('HTTP_1_1_REQUIRED')
    expect(fallback.requests).toEqual([])
  })

  it('fails the request where there is no fallback', async () => {
    const peer = await startPeer(REQUIRE)
    const harness = startHarness(peer, { fallback: null })
    const call = ask(harness, 'GET /old')
    await call.settled
    expect(call.error).toBeInstanceOf(errors.StreamError)
    expect(call.error).toMatchObject({ http2ErrorCode: HTTP_1_1_REQUIRED, attempts: 1 })
    expect(call.error.message).toContain('HTTP_1_1_REQUIRED')
    expect(peer.counts).toEqual({ 'GET /old': 1 })
  })

  it.each([
    'header',
    'body',
  ])('fails the request when the %s of a response has come before it', async (what) => {
    const peer = await startPeer({
      onComplete: (stream) => {
        stream.head(200)
        if (what === 'body') stream.data('some')
        stream.reset(HTTP_1_1_REQUIRED)
      },
    })
    const fallback = toEcho()
    const harness = startHarness(peer, { fallback })
    const call = ask(harness, 'GET /old')
    await call.settled
    expect(call.error).toMatchObject({ http2ErrorCode: HTTP_1_1_REQUIRED, processed: 'yes' })
    expect(call.events.filter((event) => event.startsWith('response'))).toHaveLength(1)
    expect(fallback.requests).toEqual([])
  })

  it('counts both attempts in the error of the second', async () => {
    const peer = await startPeer(REQUIRE)
    const refused = Object.assign(new Error('connect ECONNREFUSED'), { code: 'ECONNREFUSED' })
    const fallback = new FakeFallback(({ handler, controller }) =>
      handler.onResponseError?.(controller, refused),
    )
    const harness = startHarness(peer, { fallback })
    const call = ask(harness, 'GET /old')
    await call.settled
    expect(call.error).toMatchObject({ code: 'ECONNREFUSED', cause: refused, attempts: 2 })
  })

  it('fails with trailers, which HTTP/1.1 does not send here', async () => {
    const peer = await startPeer(REQUIRE)
    const fallback = toEcho()
    const harness = startHarness(peer, { fallback })
    const call = ask(harness, 'POST /old', { body: 'text', trailers: { 'x-sum': '1' } })
    await call.settled
    expect(call.error).toBeInstanceOf(errors.NotSupportedError)
    expect(fallback.requests).toEqual([])
  })

  it('when the caller has aborted the request › does not use the fallback', async () => {
    const mine = new Error('mine')
    const fallback = toEcho()
    const peer = await startPeer({})
    const harness = startHarness(peer, { fallback })
    const call = ask(harness, 'GET /old')
    await peer.waitFor(() => peer.requests.length === 1)
    peer.request('/old').reset(HTTP_1_1_REQUIRED)
    call.controller?.abort(mine)
    await peer.connection(0).ping()
    expect(call.events).toEqual(['start', 'error'])
    expect(call.error).toBe(mine)
    expect(fallback.requests).toEqual([])
  })

  it.each(['abort', 'requestTimeout', 'tearDown'])('a %s ends the request of the fallback', async (end) => {
    const clock = new FakeClock()
    const fallback = new FakeFallback((request) => request.handler.onRequestStart?.(request.controller, null))
    const peer = await startPeer(REQUIRE)
    const harness = startHarness(peer, { ...PATIENT, requestTimeout: 1_000, fallback }, clock)
    const call = ask(harness, 'GET /old')
    await expect.poll(() => fallback.requests.length).toBe(1)
    if (end === 'abort') call.controller?.abort()
    else if (end === 'requestTimeout') clock.advance(1_000)
    else await harness.scheduler.destroy(null)
    expect(call.events).toEqual(['start', 'error'])
    expect(fallback.request.controller.events).toEqual(['abort'])
    // The handler doesn't hear what the fallback says afterwards.
    respondTo(fallback.request)
    expect(call.events).toEqual(['start', 'error'])
  })
})

describe('GOAWAY with HTTP_1_1_REQUIRED', () => {
  it('sends all of its requests to the fallback, and is remembered', async () => {
    const peer = await startPeer([
      {
        onComplete: (_stream, connection) => {
          if (connection.streams.length === 3) connection.goAway({ lastStreamId: 0, code: HTTP_1_1_REQUIRED })
        },
      },
      SERVE,
    ])
    const fallback = toEcho()
    const harness = startHarness(peer, { fallback })
    const calls = ['GET /a', 'POST /b', 'GET /c'].map((what) => ask(harness, what))
    expect(await toOutcomes(calls)).toEqual(['no body', 'echo body', 'no body'])
    expect(await toOutcomes([ask(harness, 'GET /d')])).toEqual(['no body'])
    expect(peer.connections).toHaveLength(1)
    const paths = fallback.requests.map(({ options }) => options.path)
    // node:http2 closes the three streams in an order of its own.
    expect(paths.slice(0, 3).sort()).toEqual(['/a', '/b', '/c'])
    expect(paths[3]).toBe('/d')
  })

  it('is remembered when the only request that it hits can be sent only once', async () => {
    const peer = await startPeer([
      {
        onComplete: (_stream, connection) => connection.goAway({ lastStreamId: 0, code: HTTP_1_1_REQUIRED }),
      },
      SERVE,
    ])
    const fallback = toEcho()
    const harness = startHarness(peer, { fallback })
    const call = ask(harness, 'POST /a', { body: Readable.from(['text']) })
    await call.settled
    expect(call.error).toMatchObject({ http2ErrorCode: HTTP_1_1_REQUIRED })
    expect(await toOutcomes([ask(harness, 'GET /b')])).toEqual(['no body'])
    expect(peer.connections).toHaveLength(1)
  })

  it('is remembered when it hits a response that has begun', async () => {
    const peer = await startPeer([
      {
        onComplete: (stream, connection) => {
          stream.head(200)
          connection.goAway({ lastStreamId: 0, code: HTTP_1_1_REQUIRED })
          connection.socket.end()
        },
      },
      SERVE,
    ])
    const fallback = toEcho()
    const harness = startHarness(peer, { fallback })
    const call = ask(harness, 'GET /a')
    await call.settled
    expect(toOutcome(call)).toContain(' yes ')
    expect(await toOutcomes([ask(harness, 'GET /b')])).toEqual(['no body'])
    expect(peer.connections).toHaveLength(1)
  })

  it('is remembered when no request was under way', async () => {
    const peer = await startPeer([SERVE, SERVE])
    const fallback = toEcho()
    const harness = startHarness(peer, { fallback })
    expect(await toOutcomes([ask(harness, 'GET /a')])).toEqual(['GET /a'])
    peer.connection(0).goAway({ lastStreamId: 1, code: HTTP_1_1_REQUIRED })
    await expect.poll(() => harness.connections).toEqual(['connect', 'disconnect'])
    expect(await toOutcomes([ask(harness, 'GET /b')])).toEqual(['no body'])
    expect(peer.connections).toHaveLength(1)
  })

  it.each([
    ['POST', 1],
    ['GET', 1],
    ['POST', 0],
    ['GET', 0],
  ])('fails a %s where there is no fallback, with last stream id %i', async (method, lastStreamId) => {
    const peer = await startPeer([
      {
        onComplete: (_stream, connection) => {
          connection.goAway({ lastStreamId, code: HTTP_1_1_REQUIRED })
          connection.break()
        },
      },
      SERVE,
    ])
    const harness = startHarness(peer, { fallback: null })
    const call = ask(harness, `${method} /a`)
    await call.settled
    expect(call.error).toBeInstanceOf(errors.SocketError)
    expect(call.error).toMatchObject({ http2ErrorCode: HTTP_1_1_REQUIRED, attempts: 1 })
  })
})
