import { describe, expect, it } from 'vitest'
import type { FailureNotes } from '../../../src/call/call-owner.ts'
import { NO_FAILURES } from '../../../src/call/call-owner.ts'
import { SocketError } from '../../../src/errors/errors.ts'
import type { NeedFacts } from '../../../src/scheduler/session-need.ts'
import { isForHttp1, toSessionNeed } from '../../../src/scheduler/session-need.ts'

interface Given extends Partial<Pick<FailureNotes, 'http1Required' | 'isHttp1Upgrade' | 'wasMisdirected'>> {
  readonly isHttp1?: boolean
  readonly protocol?: string | null
  readonly kind?: 'none' | 'bytes' | 'stream'
  readonly replayable?: boolean
  readonly isTunnel?: boolean
}

function toFacts(given: Given = {}): NeedFacts {
  const { isHttp1 = false, isTunnel = false, protocol = null, ...others } = given
  const { kind = 'none', replayable = true, ...notes } = others
  const request = { isHttp1, isTunnel, protocol, body: { kind, replayable } }
  return { request, failures: { ...NO_FAILURES, ...notes } }
}

const required = new SocketError('it wants HTTP/1.1')

const CASES: readonly { what: string; given: Given; need: ReturnType<typeof toSessionNeed> }[] = [
  { what: 'a request like most', given: {}, need: 'any' },
  { what: 'a body', given: { kind: 'bytes' }, need: 'upload' },
  {
    what: 'a body that can be sent once',
    given: { kind: 'stream', replayable: false },
    need: 'settled-or-idle',
  },
  { what: 'a tunnel', given: { isTunnel: true }, need: 'upload' },
  { what: 'an extended CONNECT', given: { protocol: 'websocket' }, need: 'settled' },
  { what: 'one that got 421', given: { wasMisdirected: true }, need: 'any' },
  { what: 'a tunnel that got 421', given: { wasMisdirected: true, protocol: 'a' }, need: 'settled' },
  { what: 'one for HTTP/1.1 by its options', given: { isHttp1: true, protocol: 'a' }, need: 'none' },
  { what: 'one for HTTP/1.1 by the server', given: { http1Required: required }, need: 'none' },
  {
    what: 'an upgrade that sessions do not offer',
    given: { isHttp1Upgrade: true, protocol: 'a' },
    need: 'none',
  },
  {
    what: 'one for HTTP/1.1 that got 421',
    given: { http1Required: required, wasMisdirected: true },
    need: 'none',
  },
]

describe('the session that a call needs', () => {
  it.each(CASES)('for $what: $need', ({ given, need }) => {
    expect(toSessionNeed(toFacts(given), 'unknown')).toBe(need)
    expect(isForHttp1(toFacts(given))).toBe(need === 'none')
  })

  it.each(CASES)('for $what is none when the origin speaks HTTP/1.1', ({ given }) => {
    expect(toSessionNeed(toFacts(given), 'http/1.1')).toBe('none')
  })
})
