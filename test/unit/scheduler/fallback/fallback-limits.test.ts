import { Readable } from 'node:stream'
import { describe, expect, it } from 'vitest'
import type { DispatchOptions } from '../../../../types/index.ts'
import type { TakenRequest } from '../../../support/clients/fallback-fake.ts'
import { begin, FakeFallback, Http1Harness, respondTo } from '../../../support/clients/fallback-fake.ts'

/** Begins with each request, and does nothing else. */
const toPatient = (): FakeFallback => new FakeFallback(begin)

function start({ handler, controller }: TakenRequest): void {
  handler.onResponseStart?.(controller, 200, {}, 'OK')
}

describe('a limit of a call that the fallback serves', () => {
  const LIMITS: readonly {
    readonly limit: keyof DispatchOptions
    readonly code: string
    readonly body: boolean
  }[] = [
    { limit: 'headersTimeout', code: 'UND_ERR_HEADERS_TIMEOUT', body: false },
    { limit: 'requestTimeout', code: 'DODICI_ERR_REQUEST_TIMEOUT', body: false },
    { limit: 'uploadTimeout', code: 'DODICI_ERR_UPLOAD_TIMEOUT', body: true },
  ]

  it.each(LIMITS)('$limit ends it, and the server may have processed it', ({ limit, code, body }) => {
    const harness = new Http1Harness(toPatient())
    const given = body ? { method: 'POST', body: new Readable({ read() {} }) } : {}
    const call = harness.dispatch({ ...given, [limit]: 1_000 })
    if (!body) harness.fallback.request.handler.onRequestSent?.()
    harness.clock.advance(999)
    expect(call.events).toEqual(['start'])
    harness.clock.advance(1)
    expect(call.error).toMatchObject({ code, processed: 'maybe', attempts: 1 })
    expect(harness.fallback.request.controller.aborted).toBe(true)
  })

  it('reports that nothing was processed, when the fallback has not begun', () => {
    const harness = new Http1Harness(new FakeFallback())
    const call = harness.dispatch({ requestTimeout: 1_000 })
    harness.clock.advance(1_000)
    expect(call.error).toMatchObject({ code: 'DODICI_ERR_REQUEST_TIMEOUT', processed: 'no' })
  })

  it('connectTimeout ends it, when the fallback has not begun by then', () => {
    const harness = new Http1Harness(new FakeFallback())
    const call = harness.dispatch({ connectTimeout: 1_000 })
    harness.clock.advance(1_000)
    expect(call.events).toEqual(['start', 'error'])
    expect(call.error).toMatchObject({ code: 'UND_ERR_CONNECT_TIMEOUT', processed: 'no' })
  })

  it('connectTimeout has no effect once the fallback has begun', () => {
    const harness = new Http1Harness(toPatient())
    const call = harness.dispatch({ connectTimeout: 1_000 })
    harness.clock.advance(60_000)
    expect(call.events).toEqual(['start'])
    respondTo(harness.fallback.request)
  })

  it('bodyTimeout ends it, but not while its reader holds the response back', () => {
    const harness = new Http1Harness(toPatient())
    const call = harness.dispatch({ bodyTimeout: 1_000 })
    start(harness.fallback.request)
    call.controller?.pause()
    harness.clock.advance(60_000)
    expect(call.events).toEqual(['start', 'response 200'])
    call.controller?.resume()
    harness.clock.advance(1_000)
    expect(call.error).toMatchObject({ code: 'UND_ERR_BODY_TIMEOUT', processed: 'yes' })
    expect(harness.fallback.request.controller.aborted).toBe(true)
  })

  it('maxResponseSize ends it', () => {
    const harness = new Http1Harness(toPatient())
    const call = harness.dispatch({ maxResponseSize: 3 })
    const { request } = harness.fallback
    start(request)
    request.handler.onResponseData?.(request.controller, Buffer.from('four'))
    expect(call.error).toMatchObject({ code: 'UND_ERR_RES_EXCEEDED_MAX_SIZE', processed: 'yes' })
    expect(request.controller.aborted).toBe(true)
  })

  it('uploadTimeout has no effect once the response has begun, although undici 7 never reports that all was sent', () => {
    const harness = new Http1Harness(toPatient())
    const limits = { uploadTimeout: 1_000, bodyTimeout: 0 }
    const call = harness.dispatch({ method: 'POST', body: 'text', ...limits })
    start(harness.fallback.request)
    harness.clock.advance(60_000)
    expect(call.events).toEqual(['start', 'response 200'])
  })

  it('is over once the whole response has come, even if the upload is unfinished', () => {
    const harness = new Http1Harness(toPatient())
    const call = harness.dispatch({
      method: 'POST',
      body: 'text',
      uploadTimeout: 1_000,
      requestTimeout: 2_000,
    })
    const { request } = harness.fallback
    start(request)
    request.handler.onResponseEnd?.(request.controller, {})
    harness.clock.advance(60_000)
    expect(call.events).toEqual(['start', 'response 200', 'end'])
  })
})
