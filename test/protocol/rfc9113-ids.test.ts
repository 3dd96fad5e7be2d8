/**
 * RFC 9113 §5.1.1: what a client does when its stream ids are used up. A file of its own, since the greatest of them is
 * another.
 */

import { expect, it, vi } from 'vitest'
import { ask, heard, PATIENT, SERVE, startHarness, startPeer, toOutcome } from '../support/peers/peer-rig.ts'

// A billion requests would take hours.
vi.mock('../../src/protocol/frames.ts', async (importOriginal) => ({
  ...(await importOriginal<typeof import('../../src/protocol/frames.ts')>()),
  MAX_STREAM_ID: 5,
}))

it('RFC 9113 §5.1.1: ids are never used again: after the last one, the next request has another connection', async () => {
  const peer = await startPeer(SERVE)
  const harness = startHarness(peer, { engine: 'wire', ...PATIENT })
  for (const path of ['/a', '/b', '/c', '/d']) {
    const call = ask(harness, `GET ${path}`)
    await call.settled
    expect(toOutcome(call)).toBe(`GET ${path}`)
  }
  expect(peer.ledger).toEqual(['0/1 GET /a', '0/3 GET /b', '0/5 GET /c', '1/1 GET /d'])
  await peer.waitFor(() => peer.connection(0).hasEnded)
  await heard(harness, ['connect', 'connect', 'disconnect'])
})

it('RFC 9113 §5.1.1: ids that are used up let what is on its way finish', async () => {
  const peer = await startPeer({})
  const harness = startHarness(peer, { engine: 'wire', ...PATIENT })
  const calls = ['/a', '/b', '/c', '/d'].map((path) => ask(harness, `POST ${path}`))
  await peer.waitFor(() => peer.requests.length === calls.length)
  for (const request of peer.requests) request.respond()
  await Promise.all(calls.map((call) => call.settled))
  expect(calls.map(toOutcome)).toEqual(['POST /a', 'POST /b', 'POST /c', 'POST /d'])
  expect(peer.counts).toEqual({ 'POST /a': 1, 'POST /b': 1, 'POST /c': 1, 'POST /d': 1 })
})
