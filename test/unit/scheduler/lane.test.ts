import { describe, expect, it } from 'vitest'
import type { FailureNotes } from '../../../src/call/scheduler-notes.ts'
import { NO_FAILURES } from '../../../src/call/scheduler-notes.ts'
import { SocketError } from '../../../src/errors/errors.ts'
import type { LaneFacts, SessionNeed } from '../../../src/scheduler/lane.ts'
import { toLane, toSessionNeed } from '../../../src/scheduler/lane.ts'

interface Given extends Partial<Pick<FailureNotes, 'http1Required' | 'isHttp1Upgrade' | 'wasMisdirected'>> {
  readonly isHttp1?: boolean
  readonly protocol?: string | null
  readonly replayable?: boolean
}

function toFacts(given: Given = {}): LaneFacts {
  const { isHttp1 = false, protocol = null, replayable = true } = given
  const { http1Required = null, isHttp1Upgrade = false, wasMisdirected = false } = given
  const failures = { ...NO_FAILURES, http1Required, isHttp1Upgrade, wasMisdirected }
  return { request: { isHttp1, protocol, body: { replayable } }, failures }
}

const required = new SocketError('it wants HTTP/1.1')

const CASES: readonly { what: string; given: Given; name: string; need: SessionNeed }[] = [
  { what: 'a request like most', given: {}, name: 'ordinary', need: 'any' },
  {
    what: 'a body that can be sent once',
    given: { replayable: false },
    name: 'one-shot',
    need: 'settled-or-idle',
  },
  { what: 'an extended CONNECT', given: { protocol: 'websocket' }, name: 'tunnel', need: 'settled' },
  { what: 'one that got 421', given: { wasMisdirected: true }, name: 'misdirected', need: 'newer' },
  {
    what: 'a tunnel that got 421',
    given: { wasMisdirected: true, protocol: 'a' },
    name: 'misdirected',
    need: 'newer',
  },
  {
    what: 'one for HTTP/1.1 by its options',
    given: { isHttp1: true, protocol: 'a' },
    name: 'fallback',
    need: 'none',
  },
  {
    what: 'one for HTTP/1.1 by the server',
    given: { http1Required: required },
    name: 'fallback',
    need: 'none',
  },
  {
    what: 'an upgrade that sessions do not offer',
    given: { isHttp1Upgrade: true, protocol: 'a' },
    name: 'fallback',
    need: 'none',
  },
  {
    what: 'one for HTTP/1.1 that got 421',
    given: { http1Required: required, wasMisdirected: true },
    name: 'fallback',
    need: 'none',
  },
]

describe('the lane of a call', () => {
  it.each(CASES)('of $what is $name, for a session: $need', ({ given, name, need }) => {
    expect(toLane(toFacts(given))).toEqual({ name, need })
  })

  it.each(CASES)('of $what is that of the fallback when the origin speaks HTTP/1.1', ({ given }) => {
    expect(toSessionNeed(toLane(toFacts(given)), 'http/1.1')).toBe('none')
  })

  it('requires a session while the protocol is unknown', () => {
    for (const { given, need } of CASES) expect(toSessionNeed(toLane(toFacts(given)), 'unknown')).toBe(need)
  })
})
