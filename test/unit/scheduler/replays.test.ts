import { describe, expect, it } from 'vitest'
import type { Call } from '../../../src/call/call.ts'
import { NO_FAILURES } from '../../../src/call/scheduler-notes.ts'
import { ErrorCode } from '../../../src/errors/error-codes.ts'
import type { DodiciError } from '../../../src/errors/errors.ts'
import { SocketError, StreamError } from '../../../src/errors/errors.ts'
import { Replays } from '../../../src/scheduler/replays.ts'
import type { DispatchOptions } from '../../../types/index.ts'
import { Scene } from '../call/call-scene.ts'

const toCall = (options: Partial<DispatchOptions> = {}): Call => new Scene(options).call
const toReplays = (): Replays => new Replays({ replaySafe: true, hasFallback: true })

const toRefused = (): DodiciError =>
  new StreamError('refused', { http2ErrorCode: ErrorCode.REFUSED_STREAM, processed: 'no' })
const toLost = (): DodiciError => new SocketError('lost', { processed: 'maybe' })
const toRequired = (): DodiciError =>
  new StreamError('it wants HTTP/1.1', { http2ErrorCode: ErrorCode.HTTP_1_1_REQUIRED, processed: 'maybe' })

describe('Replays', () => {
  it('allows refused attempts up to a limit without any progress', () => {
    const replays = toReplays()
    const call = toCall({ method: 'POST', body: 'text' })
    const verdicts = Array.from({ length: 4 }, () => replays.judge(call, toRefused(), false))
    expect(verdicts).toEqual(['unprocessed', 'unprocessed', 'unprocessed', null])
  })

  it('allows more of them while other calls get responses, up to a limit', () => {
    const replays = toReplays()
    const call = toCall()
    const verdicts = Array.from({ length: 8 }, () => {
      replays.recordResponse()
      return replays.judge(call, toRefused(), false)
    })
    expect(verdicts.map((verdict) => verdict !== null)).toEqual([...Array(7).fill(true), false])
    expect([call.failures.refusals, call.failures.fruitless, call.failures.progressMark]).toEqual([8, 1, 8])
  })

  it('counts for each call separately', () => {
    const replays = toReplays()
    const calls = Array.from({ length: 10 }, () => toCall())
    expect(calls.map((call) => replays.judge(call, toRefused(), false))).toEqual(
      Array(10).fill('unprocessed'),
    )
  })

  it('records that a request was retried which the server may have processed: that happens once', () => {
    const replays = toReplays()
    const call = toCall()
    expect(replays.judge(call, toLost(), false)).toBe('safe')
    expect(call.failures.wasRepeated).toBe(true)
    replays.recordResponse()
    expect(replays.judge(call, toLost(), false)).toBe(null)
  })

  it('does not count a call that goes to the fallback', () => {
    const call = toCall()
    expect(toReplays().judge(call, toRequired(), false)).toBe('http/1.1')
    expect(call.failures).toBe(NO_FAILURES)
  })
})
