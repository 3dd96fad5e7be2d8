import { Readable } from 'node:stream'
import { describe, expect, it } from 'vitest'
import { Call } from '../../../src/call/call.ts'
import { NO_FAILURES } from '../../../src/call/scheduler-notes.ts'
import { Deadlines, systemClock } from '../../../src/core/clock.ts'
import { ErrorCode } from '../../../src/errors/error-codes.ts'
import type { DodiciError } from '../../../src/errors/errors.ts'
import { SocketError, StreamError } from '../../../src/errors/errors.ts'
import { toClientOptions, toOrigin } from '../../../src/options/options.ts'
import { Request } from '../../../src/request/request.ts'
import { isRefusal, toReplayCounts, toReplayVerdict } from '../../../src/scheduler/replay-verdict.ts'
import type { DispatchOptions } from '../../../types/index.ts'
import { Recorder } from '../../support/recorder.ts'

function toCall(options: Partial<DispatchOptions> = {}): Call {
  const given = { path: '/', method: 'GET', ...options }
  const request = new Request(given, toOrigin('https://example.com'), toClientOptions({}))
  const owner = {
    deadlines: new Deadlines(systemClock),
    mayReplay: () => false,
    onReplay() {},
    onFlow() {},
    isConnecting: () => false,
    mayWaitOn: () => false,
    onSettled() {},
  }
  return new Call(request, new Recorder(), owner, 0)
}

interface Given {
  readonly options?: Partial<DispatchOptions>
  readonly replaySafe?: boolean
  readonly hasFallback?: boolean
}

function judge(error: DodiciError, given: Given = {}, call = toCall(given.options)): unknown {
  const { replaySafe = true, hasFallback = true } = given
  const counts = toReplayCounts(call.failures, error, 0, false)
  return toReplayVerdict(call, error, counts, { replaySafe, hasFallback })
}

/** Opens the body, as an attempt does. */
function open(call: Call): Call {
  const { body } = call.request
  if (body.kind === 'stream') body.open()
  return call
}

const toRequired = (): DodiciError =>
  new StreamError('it wants HTTP/1.1', { http2ErrorCode: ErrorCode.HTTP_1_1_REQUIRED, processed: 'maybe' })
const toRefused = (): DodiciError =>
  new StreamError('refused', { http2ErrorCode: ErrorCode.REFUSED_STREAM, processed: 'no' })
const toLost = (): DodiciError => new SocketError('lost', { processed: 'maybe' })

describe('HTTP_1_1_REQUIRED', () => {
  it.each(['GET', 'POST'])('for a %s leads to the fallback', (method) => {
    expect(judge(toRequired(), { options: { method } })).toBe('http/1.1')
  })

  it('leads to the fallback when the body can be sent again', () => {
    expect(judge(toRequired(), { options: { method: 'POST', body: 'text' } })).toBe('http/1.1')
    expect(judge(toRequired(), { options: { method: 'POST', body: () => Readable.from(['a']) } })).toBe(
      'http/1.1',
    )
  })

  it('fails the call when the body can be read only once and was opened', () => {
    const call = toCall({ method: 'POST', body: Readable.from(['a']) })
    expect(judge(toRequired(), {}, call)).toBe('http/1.1')
    open(call)
    expect(judge(toRequired(), {}, call)).toBe(null)
  })

  it('fails the call like any other error when there is no fallback', () => {
    expect(judge(toRequired(), { hasFallback: false })).toBe(null)
  })

  it('in GOAWAY leads to the fallback, too', () => {
    const error = new SocketError('it wants HTTP/1.1', {
      http2ErrorCode: ErrorCode.HTTP_1_1_REQUIRED,
      processed: 'no',
    })
    expect(judge(error)).toBe('http/1.1')
  })
})

describe('a refusal', () => {
  it('is recognised only when the stream itself was refused', () => {
    expect(isRefusal(toRefused())).toBe(true)
    expect(isRefusal(new SocketError('', { http2ErrorCode: ErrorCode.REFUSED_STREAM }))).toBe(false)
    expect(isRefusal(toLost())).toBe(false)
  })

  it('is sent again', () => {
    expect(judge(toRefused(), { options: { method: 'POST', body: 'text' } })).toBe('unprocessed')
  })
})

describe('a lost session', () => {
  it('retries an idempotent request once', () => {
    const call = toCall()
    expect(judge(toLost(), {}, call)).toBe('safe')
    call.failures = { ...call.failures, wasRepeated: true }
    expect(judge(toLost(), {}, call)).toBe(null)
  })

  const NOT_SAFE: readonly { readonly what: string; readonly given: Given }[] = [
    { what: 'a POST', given: { options: { method: 'POST' } } },
    { what: 'what the caller says does harm', given: { options: { idempotent: false } } },
    { what: 'anything with replaySafe: false', given: { replaySafe: false } },
    { what: 'a tunnel', given: { options: { method: 'CONNECT', path: 'a:1', idempotent: true } } },
  ]

  it.each(NOT_SAFE)('does not retry $what', ({ given }) => {
    expect(judge(toLost(), given)).toBe(null)
  })

  it('does not retry a body that can be read only once and was opened', () => {
    const toPut = (): Call => toCall({ method: 'PUT', idempotent: true, body: ['a'] })
    expect(judge(toLost(), {}, toPut())).toBe('safe')
    expect(judge(toLost(), {}, open(toPut()))).toBe(null)
  })

  it('does not retry a request that got an informational response', () => {
    const call = toCall()
    call.controller.rawHeaders = ['link', '</a.css>']
    expect(judge(toLost(), {}, call)).toBe(null)
  })
})

describe('a verdict', () => {
  it.each([
    ['a refusal', toRefused()],
    ['a loss', toLost()],
    ['HTTP_1_1_REQUIRED', toRequired()],
  ])('does not change the call: %s', (_what, error) => {
    const call = toCall()
    expect(judge(error, {}, call)).not.toBe(null)
    expect(call.failures).toBe(NO_FAILURES)
  })
})

describe('toReplayCounts', () => {
  const before = { fruitless: 2, refusals: 3, progressMark: 7 }

  it('count one more failure in a row, and one more refusal', () => {
    expect(toReplayCounts(before, toRefused(), 7, false)).toEqual({
      fruitless: 3,
      refusals: 4,
      progressMark: 7,
    })
  })

  it('begin a new row after a response, and continue to count refusals', () => {
    expect(toReplayCounts(before, toRefused(), 8, false)).toEqual({
      fruitless: 1,
      refusals: 4,
      progressMark: 8,
    })
  })

  it('count no attempt that a GOAWAY left out, while calls that it covers run on', () => {
    const toLeftOut = (): DodiciError => new SocketError('left out', { processed: 'no' })
    expect(toReplayCounts(before, toLeftOut(), 7, true)).toEqual({ ...before, fruitless: 2 })
    expect(toReplayCounts(before, toLeftOut(), 8, true)).toEqual({ ...before, fruitless: 0, progressMark: 8 })
  })

  it('count nothing else as a refusal', () => {
    expect(toReplayCounts(before, toLost(), 7, false)).toEqual({ fruitless: 3, refusals: 3, progressMark: 7 })
  })
})
