import { Readable } from 'node:stream'
import { setImmediate as nextTurn } from 'node:timers/promises'
import { describe, expect, it } from 'vitest'
import { errors } from '../../../../src/index.ts'
import type { RequestHeaders } from '../../../../types/index.ts'
import type { TakenRequest } from '../../../support/clients/fallback-fake.ts'
import {
  begin,
  FakeFallback,
  Http1Harness,
  respondTo,
  toFields,
} from '../../../support/clients/fallback-fake.ts'

/** Begins with each request, and does nothing else. */
const toPatient = (): FakeFallback => new FakeFallback(begin)

function start({ handler, controller }: TakenRequest, status = 200, raw: string[] = []): void {
  controller.rawHeaders = raw
  handler.onResponseStart?.(controller, status, {}, 'OK')
}

describe('the request to the fallback', () => {
  it('has the fields that undici 6, 7 and 8 accept, and no others', () => {
    const harness = new Http1Harness(toPatient())
    harness.dispatch({ method: 'PUT', path: '/a?b=c', body: 'text', idempotent: true, headers: { a: 'b' } })
    expect(harness.fallback.request.options).toEqual({
      origin: 'https://example.com',
      method: 'PUT',
      path: '/a?b=c',
      headers: ['a', 'b', 'content-length', '4'],
      body: Buffer.from('text'),
      idempotent: true,
      headersTimeout: 0,
      bodyTimeout: 0,
      servername: null,
    })
  })

  it('has the query in its path', () => {
    const harness = new Http1Harness(toPatient())
    harness.dispatch({ path: '/a', query: { b: ['1', '2'], c: 'ö' } })
    expect(harness.fallback.request.options.path).toBe('/a?b=1&b=2&c=%C3%B6')
    expect(harness.fallback.request.options.query).toBeUndefined()
  })

  const HEADERS: readonly {
    readonly what: string
    readonly given: RequestHeaders
    readonly fields: string[]
  }[] = [
    {
      what: 'duplicates apart',
      given: ['x-a', '1', 'x-b', '2', 'x-a', '3'],
      fields: ['x-a: 1', 'x-b: 2', 'x-a: 3'],
    },
    {
      what: 'one cookie field of several',
      given: ['cookie', 'a=1', 'x', 'y', 'cookie', 'b=2'],
      fields: ['x: y', 'cookie: a=1; b=2'],
    },
    { what: 'no te', given: { te: 'trailers', x: 'y' }, fields: ['x: y'] },
    { what: 'no host that is its own', given: { host: 'example.com', x: 'y' }, fields: ['x: y'] },
    {
      what: 'a host that is another',
      given: { host: 'other.example', x: 'y' },
      fields: ['host: other.example', 'x: y'],
    },
    { what: 'no connection', given: { connection: 'close', x: 'y' }, fields: ['x: y'] },
    { what: 'latin1 as it is', given: { x: 'é' }, fields: ['x: é'] },
  ]

  it.each(HEADERS)('has $what', ({ given, fields }) => {
    const harness = new Http1Harness(toPatient())
    harness.dispatch({ headers: given })
    expect(toFields(harness.fallback.request)).toEqual(fields)
  })

  it('has no expect field, and a body that doesn’t wait', () => {
    const harness = new Http1Harness(toPatient())
    harness.dispatch({ method: 'POST', body: 'text', expectContinue: true })
    expect(toFields(harness.fallback.request)).toEqual(['content-length: 4'])
    harness.clock.advance(1_000)
    harness.fallback.request.handler.onRequestSent?.()
    respondTo(harness.fallback.request)
  })

  it('for an extended CONNECT is a GET with an upgrade, with its sec-websocket-key', () => {
    const harness = new Http1Harness(toPatient())
    const headers = { 'sec-websocket-key': 'a2V5', 'sec-websocket-version': '13' }
    const handler = harness.dispatch.bind(harness)
    handler({ upgrade: 'WebSocket', path: '/chat', headers })
    expect(harness.fallback.request.options).toMatchObject({
      method: 'GET',
      path: '/chat',
      upgrade: 'websocket',
    })
    expect(toFields(harness.fallback.request).sort()).toEqual([
      'sec-websocket-key: a2V5',
      'sec-websocket-version: 13',
    ])
  })

  it('for a CONNECT has the target as its path, and no fields', () => {
    const harness = new Http1Harness(toPatient())
    harness.dispatch({ method: 'CONNECT', path: 'example.org:443' })
    expect(harness.fallback.request.options).toMatchObject({ method: 'CONNECT', path: 'example.org:443' })
    expect(toFields(harness.fallback.request)).toEqual([])
  })

  it('has a stream body that is not read before the fallback reads it', async () => {
    const harness = new Http1Harness(toPatient())
    const given = Readable.from(['te', 'xt'])
    harness.dispatch({ method: 'POST', body: given })
    const { body } = harness.fallback.request.options
    expect(given.readableDidRead).toBe(false)
    const chunks: string[] = []
    for await (const chunk of body as AsyncIterable<Buffer>) chunks.push(String(chunk))
    expect(chunks.join('')).toBe('text')
  })

  it('has a handler with the methods of both shapes', () => {
    const harness = new Http1Harness(toPatient())
    harness.dispatch()
    const { handler } = harness.fallback.request
    const names = ['onRequestStart', 'onResponseStart', 'onResponseData', 'onResponseEnd', 'onResponseError']
    names.push('onConnect', 'onHeaders', 'onData', 'onComplete', 'onError', 'onUpgrade', 'onRequestUpgrade')
    for (const name of names) expect(Reflect.get(handler, name), name).toBeTypeOf('function')
  })
})

describe('a request with trailers, which the fallback does not support', () => {
  it('fails, and its body is not read', async () => {
    const harness = new Http1Harness(toPatient())
    const body = Readable.from(['text'])
    const call = harness.dispatch({ method: 'POST', body, trailers: { a: 'b' } })
    expect(call.error).toBeInstanceOf(errors.NotSupportedError)
    expect(call.error).toMatchObject({ processed: 'no' })
    expect(harness.fallback.requests).toEqual([])
    expect([body.readableDidRead, body.destroyed]).toEqual([false, true])
  })
})

describe('a fallback', () => {
  it('that throws fails the call with the thrown error', () => {
    const thrown = new Error('not today')
    const harness = new Http1Harness(
      new FakeFallback(() => {
        throw thrown
      }),
    )
    const call = harness.dispatch()
    expect(call.events).toEqual(['start', 'error'])
    expect(call.error).toMatchObject({ cause: thrown, processed: 'no', attempts: 1 })
  })

  it('that gives an empty chunk, as undici 6 does, gives the caller none', () => {
    const harness = new Http1Harness(toPatient())
    const call = harness.dispatch()
    const { handler, controller } = harness.fallback.request
    start(harness.fallback.request)
    handler.onResponseData?.(controller, Buffer.alloc(0))
    handler.onResponseData?.(controller, Buffer.from('x'))
    expect(call.events).toEqual(['start', 'response 200', 'data'])
  })

  it('that calls too many methods is ignored after the first end', () => {
    const harness = new Http1Harness(new FakeFallback(respondTo))
    const call = harness.dispatch()
    const { handler, controller } = harness.fallback.request
    respondTo(harness.fallback.request)
    handler.onResponseError?.(controller, new Error('late'))
    expect(call.events).toEqual(['start', 'response 200', 'data', 'end'])
    expect([harness.scheduler.pending, harness.scheduler.running]).toEqual([0, 0])
  })

  it('is not destroyed along with its user', async () => {
    const harness = new Http1Harness(new FakeFallback(respondTo))
    await harness.dispatch().settled
    await harness.scheduler.destroy(null)
    expect(harness.fallback.ends).toEqual([])
  })

  it('is waited for by a close', async () => {
    const harness = new Http1Harness(toPatient())
    harness.dispatch()
    let isFinished = false
    const finished = harness.scheduler.whenIdle().then(() => {
      isFinished = true
    })
    await nextTurn()
    expect(isFinished).toBe(false)
    respondTo(harness.fallback.request)
    await finished
  })

  it.each([
    null,
    new Error('mine'),
  ])('of the caller is abandoned by a destroy(%s): its calls fail', async (error) => {
    const harness = new Http1Harness(toPatient())
    const calls = [harness.dispatch(), harness.dispatch()]
    await harness.scheduler.destroy(error)
    for (const call of calls) {
      expect(call.events).toEqual(['start', 'error'])
      if (error === null) expect(call.error).toBeInstanceOf(errors.ClientDestroyedError)
      else expect(call.error).toBe(error)
    }
    for (const { controller } of harness.fallback.requests) expect(controller.events).toEqual(['abort'])
  })
})

describe('a call that the fallback serves', () => {
  const MINE = new Error('mine')

  it('is aborted there, with the same reason', () => {
    const harness = new Http1Harness(toPatient())
    const call = harness.dispatch()
    call.controller?.abort(MINE)
    expect(call.error).toBe(MINE)
    expect(harness.fallback.request.controller).toMatchObject({ aborted: true, reason: MINE })
  })

  it('is aborted there as soon as the fallback begins, when the fallback begins later', () => {
    const harness = new Http1Harness(new FakeFallback())
    const call = harness.dispatch()
    call.controller?.abort(MINE)
    expect(call.events).toEqual(['start', 'error'])
    begin(harness.fallback.request)
    expect(harness.fallback.request.controller).toMatchObject({ aborted: true, reason: MINE })
  })

  it('is paused there from the response on, when it was paused before', () => {
    const harness = new Http1Harness(toPatient())
    const call = harness.dispatch()
    const { controller } = harness.fallback.request
    call.controller?.pause()
    start(harness.fallback.request)
    expect(controller.paused).toBe(true)
    call.controller?.resume()
    expect(controller.paused).toBe(false)
  })

  it('is paused there when it was paused before the fallback began', () => {
    const harness = new Http1Harness(new FakeFallback())
    const call = harness.dispatch()
    call.controller?.pause()
    begin(harness.fallback.request)
    start(harness.fallback.request)
    expect(harness.fallback.request.controller.paused).toBe(true)
  })

  it('gets raw fields in wire order, and a header object', () => {
    const harness = new Http1Harness(toPatient())
    const call = harness.dispatch()
    const raw = ['X-Dup', '1', 'Set-Cookie', 'a', 'x-dup', '2', 'set-cookie', 'b']
    start(harness.fallback.request, 200, raw)
    expect(call.controller?.rawHeaders).toEqual(raw)
    expect({ ...call.headers }).toEqual({ 'x-dup': '1, 2', 'set-cookie': ['a', 'b'] })
  })
})

describe('an error of the fallback', () => {
  const toCoded = (code: string): Error => Object.assign(new Error(`it says ${code}`), { code })
  const fail = ({ handler, controller }: TakenRequest, code: string): void =>
    handler.onResponseError?.(controller, toCoded(code))

  const STAGES = [
    { stage: 'before it begins', processed: 'no', errorClass: errors.ConnectError, reach: () => {} },
    { stage: 'while it sends', processed: 'maybe', errorClass: errors.SocketError, reach: begin },
    {
      stage: 'after the header',
      processed: 'yes',
      errorClass: errors.SocketError,
      reach: (request: TakenRequest) => {
        begin(request)
        start(request)
      },
    },
  ]

  it.each(STAGES)('at $stage has processed: $processed', ({ processed, errorClass, reach }) => {
    const harness = new Http1Harness(new FakeFallback())
    const call = harness.dispatch()
    reach(harness.fallback.request)
    fail(harness.fallback.request, 'ECONNRESET')
    expect(call.error).toBeInstanceOf(errorClass)
    expect(call.error).toMatchObject({
      processed,
      attempts: 1,
      streamId: null,
      cause: { code: 'ECONNRESET' },
    })
  })

  const CLASSES = [
    ['UND_ERR_CONNECT_TIMEOUT', errors.ConnectTimeoutError],
    ['UND_ERR_SOCKET', errors.SocketError],
    ['UND_ERR_RES_CONTENT_LENGTH_MISMATCH', errors.ResponseContentLengthMismatchError],
    ['UND_ERR_REQ_CONTENT_LENGTH_MISMATCH', errors.RequestContentLengthMismatchError],
    ['UND_ERR_HEADERS_OVERFLOW', errors.HeadersOverflowError],
    ['UND_ERR_DESTROYED', errors.ClientDestroyedError],
    ['UND_ERR_CLOSED', errors.ClientClosedError],
    ['UND_ERR_ABORTED', errors.RequestAbortedError],
    ['UND_ERR_NOT_SUPPORTED', errors.NotSupportedError],
  ] as const

  it.each(CLASSES)('of code %s has the class of that code', (code, errorClass) => {
    const harness = new Http1Harness(toPatient())
    const call = harness.dispatch()
    fail(harness.fallback.request, code)
    expect(call.error).toBeInstanceOf(errorClass)
    expect(call.error).toMatchObject({
      code,
      processed: 'maybe',
      message: `it says ${code}`,
      cause: { code },
    })
  })
})
