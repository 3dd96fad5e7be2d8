import { Readable } from 'node:stream'
import { describe, expect, it } from 'vitest'
import { Call } from '../../../src/call/call.ts'
import type { FailureNotes } from '../../../src/call/call-owner.ts'
import { NO_FAILURES } from '../../../src/call/call-owner.ts'
import { Deadlines, systemClock } from '../../../src/core/clock.ts'
import { ErrorCode } from '../../../src/errors/error-codes.ts'
import type { DodiciError } from '../../../src/errors/errors.ts'
import { SocketError, StreamError } from '../../../src/errors/errors.ts'
import { toClientOptions, toOrigin } from '../../../src/options/options.ts'
import { Request } from '../../../src/request/request.ts'
import type { Replay } from '../../../src/scheduler/replay.ts'
import { MAX_FRUITLESS_ATTEMPTS, MAX_REFUSALS, toReplay } from '../../../src/scheduler/replay.ts'
import type { DispatchOptions } from '../../../types/index.ts'
import { Recorder } from '../../support/clients/recorder.ts'

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
  readonly notes?: Partial<FailureNotes>
  readonly isLeftOut?: boolean
  readonly isAccepted?: boolean
  readonly progress?: number
}

/** @param error null: the response was 421 */
function decide(error: DodiciError | null, given: Given = {}, call = toCall(given.options)): Replay {
  const { replaySafe = true, hasFallback = true, progress = 0 } = given
  const { isLeftOut = false, isAccepted = false } = given
  call.failures = { ...call.failures, ...given.notes }
  return toReplay(call, error, { isLeftOut, isAccepted }, progress, { replaySafe, hasFallback })
}

function judge(error: DodiciError | null, given: Given = {}, call = toCall(given.options)): unknown {
  return decide(error, given, call).reason
}

/** One failure after the other: why the call is sent again after each. */
function judgeInRow(call: Call, errors: readonly DodiciError[], toProgress = (_index: number) => 0) {
  return errors.map((error, index) => {
    const { reason, failures } = decide(error, { progress: toProgress(index) }, call)
    call.failures = failures
    return reason
  })
}

/** Opens the body, as an attempt does. */
function open(call: Call): Call {
  const { body } = call.request
  if (body.kind === 'stream') body.open()
  return call
}

const POST = { method: 'POST', body: 'text' } as const

const toRequired = (): DodiciError =>
  new StreamError('it wants HTTP/1.1', { http2ErrorCode: ErrorCode.HTTP_1_1_REQUIRED, processed: 'maybe' })
const toRefused = (): DodiciError =>
  new StreamError('refused', { http2ErrorCode: ErrorCode.REFUSED_STREAM, processed: 'no' })
const toReset = (): DodiciError =>
  new StreamError('reset', { http2ErrorCode: ErrorCode.CANCEL, processed: 'maybe' })
const toLost = (): DodiciError => new SocketError('lost', { processed: 'maybe' })
const toUnsent = (): DodiciError => new SocketError('lost', { processed: 'no' })
const toGone = (http2ErrorCode: number): DodiciError =>
  new SocketError('left out by a GOAWAY', { http2ErrorCode, processed: 'no' })

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
    expect(judge(toGone(ErrorCode.HTTP_1_1_REQUIRED), { hasFallback: false })).toBe(null)
  })

  it('in GOAWAY leads to the fallback, too', () => {
    expect(judge(toGone(ErrorCode.HTTP_1_1_REQUIRED))).toBe('http/1.1')
  })

  it('is noted, and not counted', () => {
    const error = toRequired()
    expect(decide(error).failures).toEqual({ ...NO_FAILURES, http1Required: error })
  })
})

describe('a failure that the server has certainly not processed', () => {
  it('fails the call when the body cannot be sent again', () => {
    const call = open(toCall({ method: 'POST', body: Readable.from(['a']) }))
    expect(judge(toUnsent(), {}, call)).toBe(null)
  })

  it('ignores idempotence: a GET that was repeated may be refused and sent again', () => {
    expect(judge(toRefused(), { notes: { wasRepeated: true } })).toBe('unprocessed')
  })

  it('is allowed up to a limit without any progress', () => {
    expect(MAX_FRUITLESS_ATTEMPTS).toBe(4)
    const verdicts = judgeInRow(toCall(POST), Array.from({ length: 4 }, toRefused))
    expect(verdicts).toEqual(['unprocessed', 'unprocessed', 'unprocessed', null])
  })

  it('is allowed more often while other calls get responses, up to a limit', () => {
    expect(MAX_REFUSALS).toBe(8)
    const call = toCall()
    const verdicts = judgeInRow(call, Array.from({ length: 8 }, toRefused), (index) => index + 1)
    expect(verdicts).toEqual([...Array(7).fill('unprocessed'), null])
    expect(call.failures).toMatchObject({ refusals: 8, fruitless: 1, progressMark: 8 })
  })
})

describe('a delay before the next attempt', () => {
  it.each([
    { what: 'a refusal', error: toRefused(), setbacks: 3 },
    // GOAWAY: all streams above it are refused.
    { what: 'a refusal of all streams', error: toGone(ErrorCode.REFUSED_STREAM), setbacks: 0 },
    { what: 'a loss', error: toLost(), setbacks: 0 },
    { what: 'HTTP_1_1_REQUIRED', error: toRequired(), setbacks: 0 },
    { what: 'a 421', error: null, setbacks: 0 },
  ])('after $what is that of $setbacks setbacks', ({ error, setbacks }) => {
    const { reason, failures } = decide(error, { notes: { refusals: 2, setbacks: 2 } })
    expect(reason).not.toBe(null)
    expect(failures.setbacks).toBe(setbacks)
  })
})

describe('a response of 421', () => {
  it('is followed by another attempt, once', () => {
    const { reason, failures } = decide(null, { options: POST })
    expect(reason).toBe('misdirected')
    expect(failures).toEqual({ ...NO_FAILURES, wasMisdirected: true })
    expect(decide(null, { options: POST, notes: failures })).toEqual({ reason: null, failures })
  })

  it.each([
    { method: 'POST', isAccepted: false, expected: 'misdirected' },
    { method: 'POST', isAccepted: true, expected: null },
    { method: 'GET', isAccepted: true, expected: 'misdirected' },
  ])('to a $method gives $expected, accepted by the server: $isAccepted', ({
    method,
    isAccepted,
    expected,
  }) => {
    expect(judge(null, { options: { method }, isAccepted })).toBe(expected)
  })

  it('is handed over when the body can be read only once and was opened', () => {
    const toPost = (): Call => toCall({ method: 'POST', body: Readable.from(['a']) })
    expect(judge(null, {}, toPost())).toBe('misdirected')
    expect(judge(null, {}, open(toPost()))).toBe(null)
  })
})

describe('a lost session', () => {
  it('retries an idempotent request once', () => {
    const call = toCall()
    expect(judgeInRow(call, [toLost(), toLost()], (index) => index)).toEqual(['safe', null])
    expect(call.failures.wasRepeated).toBe(true)
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

  it('is the loss of the whole session: the reset of one stream is none', () => {
    expect(judge(toReset())).toBe(null)
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

describe('a decision', () => {
  it.each([
    ['a refusal', toRefused()],
    ['a loss', toLost()],
    ['HTTP_1_1_REQUIRED', toRequired()],
    ['a 421', null],
  ])('does not change the call: %s', (_what, error) => {
    const call = toCall()
    const before = call.failures
    expect(judge(error, {}, call)).not.toBe(null)
    expect(call.failures).toEqual(before)
  })
})

describe('the counts of failed attempts', () => {
  const before = { fruitless: 2, refusals: 3, progressMark: 7 }

  /** The counts with one more failure. */
  function count(error: DodiciError, progress: number, isLeftOut = false) {
    const { fruitless, refusals, progressMark } = decide(error, {
      notes: before,
      progress,
      isLeftOut,
    }).failures
    return { fruitless, refusals, progressMark }
  }

  it('have one more failure in a row, and one more refusal', () => {
    expect(count(toRefused(), 7)).toEqual({ fruitless: 3, refusals: 4, progressMark: 7 })
  })

  it('begin a new row after a response, and continue to count refusals', () => {
    expect(count(toRefused(), 8)).toEqual({ fruitless: 1, refusals: 4, progressMark: 8 })
  })

  it('have no attempt that a GOAWAY left out, while calls that it covers run on', () => {
    expect(count(toUnsent(), 7, true)).toEqual({ ...before, fruitless: 2 })
    expect(count(toUnsent(), 8, true)).toEqual({ ...before, fruitless: 0, progressMark: 8 })
  })

  it('have nothing else as a refusal', () => {
    expect(count(toLost(), 7)).toEqual({ fruitless: 3, refusals: 3, progressMark: 7 })
  })

  it('are kept when the call fails, too', () => {
    expect(decide(toReset(), { notes: before, progress: 7 })).toMatchObject({
      reason: null,
      failures: { fruitless: 3 },
    })
  })
})
