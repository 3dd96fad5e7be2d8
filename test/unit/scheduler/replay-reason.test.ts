import { describe, expect, test } from 'vitest'
import type { ReplayCase } from '../../../src/scheduler/replay-reason.ts'
import { MAX_FRUITLESS_ATTEMPTS, MAX_REFUSALS, toReplayReason } from '../../../src/scheduler/replay-reason.ts'

/** A POST of which nothing was sent, for the first time. */
const UNPROCESSED: ReplayCase = {
  processed: 'no',
  replayable: true,
  fruitless: 1,
  refusals: 0,
  isSessionLost: false,
  isSafe: false,
  wasRepeated: false,
  isResponded: false,
}

/** A GET whose session has died. */
const LOST: ReplayCase = { ...UNPROCESSED, processed: 'maybe', isSessionLost: true, isSafe: true }

describe('toReplayReason', () => {
  describe('when the server certainly did not act on the attempt', () => {
    test.each([
      [1, 'unprocessed'],
      [2, 'unprocessed'],
      [3, 'unprocessed'],
      [4, null],
      [5, null],
    ])('is bounded: %i fruitless attempts give %s', (fruitless, expected) => {
      expect(MAX_FRUITLESS_ATTEMPTS).toBe(4)
      expect(toReplayReason({ ...UNPROCESSED, fruitless })).toBe(expected)
    })

    test.each([
      [7, 'unprocessed'],
      [8, null],
    ])('is bounded for one that is refused again and again: %i refusals give %s', (refusals, expected) => {
      expect(MAX_REFUSALS).toBe(8)
      expect(toReplayReason({ ...UNPROCESSED, refusals })).toBe(expected)
    })

    test('is null where the body cannot be had again', () => {
      expect(toReplayReason({ ...UNPROCESSED, replayable: false })).toBe(null)
    })

    test('is no matter of safety: a GET that was repeated may be refused and sent again', () => {
      expect(toReplayReason({ ...LOST, processed: 'no', wasRepeated: true })).toBe('unprocessed')
    })
  })

  describe('when the server may have acted on the attempt', () => {
    test('is safe for one that may be repeated, when its session has died', () => {
      expect(toReplayReason(LOST)).toBe('safe')
    })

    test.each<[string, Partial<ReplayCase>]>([
      ['the session lives', { isSessionLost: false }],
      ['it may not be repeated', { isSafe: false }],
      ['it was repeated already', { wasRepeated: true }],
      ['some of a response has come', { isResponded: true }],
      ['its body cannot be had again', { replayable: false }],
    ])('is null when %s', (_what, given) => {
      expect(toReplayReason({ ...LOST, ...given })).toBe(null)
    })
  })
})
