import { describe, expect, it } from 'vitest'
import type { ConnectionScript } from '../../src/testing/fault-connection.ts'
import type { DispatchOptions } from '../../types/index.ts'
import { ENGINES } from '../support/clients/engines.ts'
import { FakeClock } from '../support/clocks/fake-clock.ts'
import { ask, PATIENT, startHarness, startPeer } from '../support/peers/peer-rig.ts'

/** RFC 9110 §10.1.1: how long a body waits for a 100 response. Milliseconds. */
const CONTINUE_TIMEOUT = 1_000
/** The longest that a deadline may be met after its time, in milliseconds. */
const RESOLUTION = 50

const LARGE = 'x'.repeat(100_000)

/** Bodies by their kinds. */
const BODIES: readonly (readonly [string, () => DispatchOptions['body'], number])[] = [
  ['a small one', () => 'body', 4],
  ['a large one', () => LARGE, LARGE.length],
  ['an iterable', () => toIterable(), 6],
  ['a factory', () => () => 'body', 4],
]

async function* toIterable(): AsyncGenerator<string> {
  yield 'one'
  yield 'two'
}

/** The final statuses after which a client doesn't send the body by itself. */
const STATUSES = [302, 401, 413, 417, 500, 503]

describe.each(
  ENGINES,
)('expectContinue, and a final response whose stream stays open, on engine %s', (engine) => {
  describe.each(BODIES)('the body: %s', (_what, toBody, length) => {
    it.each(
      STATUSES,
    )('status %i: the body is sent after the second for 100, and both sides end', async (status) => {
      const clock = new FakeClock()
      // As a server that reads the whole request before it ends its response.
      const script: ConnectionScript = {
        onRequest: (stream) => stream.head(status),
        onComplete: (stream) => stream.end('the reason'),
      }
      const peer = await startPeer(script)
      const harness = startHarness(peer, { engine, ...PATIENT }, clock)
      const call = ask(harness, 'POST /', { expectContinue: true, body: toBody() })
      await expect.poll(() => call.statuses).toEqual([status])
      clock.advance(CONTINUE_TIMEOUT - 1)
      await peer.connection(0).ping()
      expect(peer.requests[0]?.length).toBe(0)
      clock.advance(1 + RESOLUTION)
      await call.settled
      expect(call.text).toBe('the reason')
      expect(peer.requests[0]?.length).toBe(length)
    })
  })

  it.each(
    STATUSES,
  )('status %i: the body is never sent when the response ends within the second', async (status) => {
    const clock = new FakeClock()
    const peer = await startPeer({
      onRequest: (stream) => {
        stream.head(status)
        void stream.end('the reason')
      },
    })
    const harness = startHarness(peer, { engine, ...PATIENT }, clock)
    const call = ask(harness, 'POST /', { expectContinue: true })
    await call.settled
    clock.advance(CONTINUE_TIMEOUT + RESOLUTION)
    await peer.connection(0).ping()
    expect(call.text).toBe('the reason')
    expect(peer.requests[0]?.length).toBe(0)
  })

  it('the body is never sent when the whole response has come, and its reader holds it back', async () => {
    const clock = new FakeClock()
    const peer = await startPeer({
      onRequest: (stream) => {
        stream.head(413)
        void stream.end('the reason')
      },
    })
    const harness = startHarness(peer, { engine, ...PATIENT }, clock)
    const call = ask(harness, 'POST /', { expectContinue: true })
    call.controller?.pause()
    await expect.poll(() => call.statuses).toEqual([413])
    await peer.connection(0).ping()
    clock.advance(CONTINUE_TIMEOUT + RESOLUTION)
    await peer.connection(0).ping()
    expect(peer.requests[0]?.length).toBe(0)
    call.controller?.resume()
    await call.settled
    expect(call.text).toBe('the reason')
  })
})
