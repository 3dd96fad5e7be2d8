import type { Duplex } from 'node:stream'
import { PassThrough } from 'node:stream'
import { describe, expect, it } from 'vitest'
import { RequestAbortedError } from '../../../src/errors/errors.ts'
import {
  isLegacyHandler,
  TwoShapedHandler,
  toNativeHandler,
  toTwoShapedHandler,
} from '../../../src/handler/legacy-handler.ts'
import type { DispatchController, DispatchHandler, IncomingHttpHeaders } from '../../../types/index.ts'
import { FakeController } from '../../support/clients/fallback-fake.ts'
import { LegacyRecorder } from '../../support/clients/fallback-legacy.ts'
import { Recorder } from '../../support/clients/recorder.ts'

const GET = { path: '/', method: 'GET' } as const

/** Buffers as undici's older dispatchers give them. */
const toBuffers = (...texts: string[]): Buffer[] => texts.map((text) => Buffer.from(text, 'latin1'))

describe('the shape of a handler', () => {
  it('is recognised by onRequestStart alone', () => {
    expect(isLegacyHandler(new LegacyRecorder())).toBe(true)
    expect(isLegacyHandler(new Recorder())).toBe(false)
    expect(isLegacyHandler({ onRequestUpgrade() {} })).toBe(true)
    expect(isLegacyHandler({ onRequestStart: undefined, onConnect() {} })).toBe(true)
    expect(isLegacyHandler({ onRequestStart() {}, onConnect() {} })).toBe(false)
  })

  it('is kept when it is the new shape already', () => {
    const handler = new Recorder()
    expect(toNativeHandler(GET, handler)).toBe(handler)
  })

  it('is converted once when it has both shapes', () => {
    const handler = toTwoShapedHandler(GET, new Recorder())
    expect(toTwoShapedHandler(GET, handler)).toBe(handler)
  })
})

describe('a handler of the older shape, called through the new one', () => {
  const toNative = (handler: LegacyRecorder, options = {}): DispatchHandler =>
    toNativeHandler({ ...GET, ...options }, handler)

  it('pauses by returning false, and resumes by its function', () => {
    const controller = new FakeController()
    const heard = new LegacyRecorder({ onHeaders: () => false, onData: () => false })
    const native = toNative(heard)
    native.onRequestStart?.(controller, null)
    controller.rawHeaders = ['a', 'b']
    native.onResponseStart?.(controller, 200, { a: 'b' }, 'OK')
    heard.resume()
    native.onResponseData?.(controller, Buffer.from('x'))
    heard.resume()
    expect(controller.events).toEqual(['pause', 'resume', 'pause', 'resume'])
  })

  it.each([undefined, null, 0, '', true])('does not pause by returning %o', (value) => {
    const controller = new FakeController()
    const response = value as unknown as boolean
    const native = toNative(
      new LegacyRecorder({ onHeaders: () => response ?? undefined, onData: () => response ?? undefined }),
    )
    native.onResponseStart?.(controller, 200, {}, '')
    native.onResponseData?.(controller, Buffer.from('x'))
    expect(controller.events).toEqual([])
  })

  it.each([100, 102, 103, 199])('does not pause for a %i', (status) => {
    const controller = new FakeController()
    toNative(new LegacyRecorder({ onHeaders: () => false })).onResponseStart?.(controller, status, {}, '')
    expect(controller.events).toEqual([])
  })

  it('gets empty lists when there are no fields', () => {
    const controller = new FakeController()
    const heard = new LegacyRecorder()
    const native = toNative(heard)
    native.onResponseStart?.(controller, 200, {}, '')
    native.onResponseEnd?.(controller, {})
    expect(heard.events).toEqual([
      ['onHeaders', 200, [], 'string'],
      ['onComplete', [], ''],
    ])
  })

  it('gets the raw fields as interceptors have changed them', () => {
    const controller = new FakeController()
    const heard = new LegacyRecorder()
    controller.rawHeaders = ['a', 'b', 'content-encoding', 'gzip']
    controller.rawHeaders.splice(2, 2)
    toNative(heard).onResponseStart?.(controller, 200, {}, '')
    expect(heard.events).toEqual([['onHeaders', 200, ['a: b'], 'string']])
  })

  const UPGRADES = [
    { what: 'a name', upgrade: 'echo', fields: ['upgrade: echo', 'x: y'] },
    { what: 'true', upgrade: true, fields: ['upgrade: websocket', 'x: y'] },
  ]

  it.each(UPGRADES)('is told of an extended CONNECT as of an upgrade when $what asked for it', ({
    upgrade,
    fields,
  }) => {
    const controller = new FakeController()
    const heard = new LegacyRecorder()
    controller.rawHeaders = ['x', 'y']
    toNative(heard, { upgrade }).onRequestUpgrade?.(controller, 200, {}, new PassThrough())
    expect(heard.events).toEqual([['onUpgrade', 101, fields]])
  })

  it('receives a tunnel by onRequestUpgrade when it has that method, too', () => {
    const controller = new FakeController()
    const calls: unknown[] = []
    const heard = Object.assign(new LegacyRecorder(), {
      onRequestUpgrade: (...args: [DispatchController, number, IncomingHttpHeaders, Duplex]) =>
        calls.push(args),
    })
    const socket = new PassThrough()
    const headers = { a: 'b' }
    toNativeHandler({ ...GET, upgrade: 'echo' }, heard).onRequestUpgrade?.(controller, 200, headers, socket)
    expect(calls).toEqual([[controller, 200, headers, socket]])
    expect(heard.events).toEqual([])
  })
})

describe('a handler of both shapes', () => {
  const noAbort = (): void => {}

  /** Called through the older shape. */
  function startOlder(heard: Recorder) {
    const handler = new TwoShapedHandler(heard)
    const aborts: unknown[] = []
    const resumed: string[] = []
    handler.onConnect((reason) => aborts.push(reason), { history: [] })
    const respond = (status = 200): boolean =>
      handler.onHeaders(status, toBuffers('X-A', 'é', 'x-a', '2'), () => resumed.push('resume'), 'OK')
    return { handler, aborts, resumed, respond }
  }

  it('when called through the new shape, passes everything on unchanged', () => {
    const calls: unknown[][] = []
    const names = [
      'onRequestStart',
      'onResponseStarted',
      'onResponseStart',
      'onResponseData',
      'onResponseEnd',
    ]
    names.push('onResponseError', 'onRequestUpgrade', 'onBodySent', 'onRequestSent')
    const methods = names.map((name) => [name, (...args: unknown[]) => calls.push([name, ...args])])
    const handler = new TwoShapedHandler(Object.fromEntries(methods) as DispatchHandler)
    const args = ['a', 2, {}, 'd']
    for (const name of names) Reflect.apply(Reflect.get(handler, name), handler, args)
    expect(calls.map(([name]) => name)).toEqual(names)
    for (const [, ...given] of calls) expect(given).toEqual(args.slice(0, given.length))
  })

  it('when called through the older shape, makes raw fields and a header object', () => {
    const heard = new Recorder()
    const { handler, respond } = startOlder(heard)
    expect(respond()).toBe(true)
    expect(handler.onData(Buffer.from('text'))).toBe(true)
    handler.onComplete(toBuffers('X-Sum', '42'))
    expect(heard.events).toEqual(['start', 'response 200', 'data', 'end'])
    expect(heard.controller?.rawHeaders).toEqual(['X-A', 'é', 'x-a', '2'])
    expect({ ...heard.headers }).toEqual({ 'x-a': 'é, 2' })
    expect(heard.controller?.rawTrailers).toEqual(['X-Sum', '42'])
    expect({ ...heard.trailers }).toEqual({ 'x-sum': '42' })
  })

  it.each([null, [] as string[]])('treats %o as no trailers', (trailers) => {
    const heard = new Recorder()
    const { handler, respond } = startOlder(heard)
    respond()
    handler.onComplete(trailers)
    expect({ ...heard.trailers }).toEqual({})
  })

  it('returns false while it is paused, and resumes once', () => {
    const heard = new Recorder()
    const { handler, respond, resumed } = startOlder(heard)
    heard.controller?.pause()
    expect(respond()).toBe(false)
    expect(heard.controller?.paused).toBe(true)
    heard.controller?.resume()
    heard.controller?.resume()
    expect(resumed).toEqual(['resume'])
    expect(handler.onData(Buffer.from('a'))).toBe(true)
    heard.controller?.pause()
    expect(handler.onData(Buffer.from('b'))).toBe(false)
  })

  it('may be resumed before there is a response', () => {
    const heard = new Recorder()
    const { respond, resumed } = startOlder(heard)
    heard.controller?.pause()
    heard.controller?.resume()
    expect(respond()).toBe(true)
    expect(resumed).toEqual([])
  })

  it('aborts once, with the first reason', () => {
    const heard = new Recorder()
    const { aborts } = startOlder(heard)
    const mine = new Error('mine')
    expect([heard.controller?.aborted, heard.controller?.reason]).toEqual([false, null])
    heard.controller?.abort(mine)
    heard.controller?.abort(new Error('again'))
    expect(aborts).toEqual([mine])
    expect([heard.controller?.aborted, heard.controller?.reason]).toEqual([true, mine])
  })

  it('aborts with a default error when no reason is given', () => {
    const heard = new Recorder()
    const { aborts } = startOlder(heard)
    heard.controller?.abort()
    expect(aborts[0]).toBeInstanceOf(RequestAbortedError)
    expect(heard.controller?.reason).toBe(aborts[0])
  })

  it('receives an error that comes before onConnect', () => {
    const heard = new Recorder()
    const mine = new Error('mine')
    new TwoShapedHandler(heard).onError(mine)
    expect(heard.events).toEqual(['error'])
    expect(heard.error).toBe(mine)
  })

  it('receives an upgrade through the older shape', () => {
    const calls: unknown[] = []
    const handler = new TwoShapedHandler({
      onRequestStart() {},
      onRequestUpgrade: (controller, status, headers, socket) =>
        calls.push([controller.rawHeaders, status, { ...headers }, socket]),
    })
    const socket = new PassThrough()
    handler.onConnect(noAbort)
    handler.onUpgrade(101, toBuffers('Upgrade', 'echo'), socket)
    expect(calls).toEqual([[['Upgrade', 'echo'], 101, { upgrade: 'echo' }, socket]])
  })

  it('can wrap a handler of the older shape, and be called through either', () => {
    for (const isOlder of [true, false]) {
      const heard = new LegacyRecorder()
      const handler = toTwoShapedHandler(GET, heard)
      const controller = new FakeController()
      if (isOlder) {
        handler.onConnect(noAbort)
        handler.onHeaders(200, toBuffers('a', 'b'), noAbort, 'OK')
        handler.onData(Buffer.from('text'))
        handler.onComplete([])
      } else {
        controller.rawHeaders = ['a', 'b']
        handler.onRequestStart(controller, null)
        handler.onResponseStart(controller, 200, { a: 'b' }, 'OK')
        handler.onResponseData(controller, Buffer.from('text'))
        handler.onResponseEnd(controller, {})
      }
      const response = ['onHeaders', 200, ['a: b'], 'string']
      expect(heard.events).toEqual(['onConnect', response, 'onData', ['onComplete', [], 'text']])
    }
  })
})
