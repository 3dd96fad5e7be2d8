import { describe, expect, test } from 'vitest'
import type { ReplayCase } from '../../../src/scheduler/replay-reason.ts'
import { MAX_FRUITLESS_ATTEMPTS, MAX_REFUSALS, toReplayReason } from '../../../src/scheduler/replay-reason.ts'

/** A POST of which nothing was sent, at its first attempt. */
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

/** A GET whose session was lost. */
const LOST: ReplayCase = { ...UNPROCESSED, processed: 'maybe', isSessionLost: true, isSafe: true }

describe('toReplayReason', () => {
  describe('when the server certainly did not process the attempt', () => {
    test.each([
      [1, 'unprocessed'],
      [2, 'unprocessed'],
      [3, 'unprocessed'],
      [4, null],
      [5, null],
    ])('is limited: %i fruitless attempts give %s', (fruitless, expected) => {
      expect(MAX_FRUITLESS_ATTEMPTS).toBe(4)
      expect(toReplayReason({ ...UNPROCESSED, fruitless })).toBe(expected)
    })

    test.each([
      [7, 'unprocessed'],
      [8, null],
    ])('is limited for a request that is refused again and again: %i refusals give %s', (refusals, expected) => {
      expect(MAX_REFUSALS).toBe(8)
      expect(toReplayReason({ ...UNPROCESSED, refusals })).toBe(expected)
    })

    test('is null when the body cannot be sent again', () => {
      expect(toReplayReason({ ...UNPROCESSED, replayable: false })).toBe(null)
    })

    test('ignores idempotence: a GET that was repeated may be refused and sent again', () => {
      expect(toReplayReason({ ...LOST, processed: 'no', wasRepeated: true })).toBe('unprocessed')
    })
  })

  describe('when the server may have processed the attempt', () => {
    test('is safe for an idempotent request whose session was lost', () => {
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
