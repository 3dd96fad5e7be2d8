import { describe, expect, it } from 'vitest'
import { Flag, frames, Type } from '../../src/testing/frames.ts'
import { ENGINES } from '../support/clients/engines.ts'
import { FakeClock } from '../support/clocks/fake-clock.ts'
import { ask, PATIENT, startHarness, startPeer } from '../support/peers/peer-rig.ts'

const MINUTE = 60_000

/** `accept-encoding: gzip, deflate`, as HPACK's static table has it: any field. */
const FIELD = Buffer.of(0x90)

/** Every limit has its default, but for the PINGs, which a slow peer acknowledges. */
const { pingInterval, pingTimeout } = PATIENT

describe.each(ENGINES)('a peer that sends a byte a minute, on engine %s', (engine) => {
  it('of a body › makes progress, and is ended by requestTimeout alone', async () => {
    const clock = new FakeClock()
    const peer = await startPeer({ onRequest: (stream) => stream.head(200) })
    const harness = startHarness(peer, { engine, connections: 1, pingInterval, pingTimeout }, clock)
    const call = ask(harness, 'GET /', { requestTimeout: 30 * MINUTE })
    await peer.waitFor(() => peer.requests.length === 1)
    for (let minute = 0; minute < 29; minute++) {
      peer.request('/').data('x')
      while (call.text.length <= minute) await peer.connection(0).ping()
      clock.advance(MINUTE)
    }
    expect(call.errors).toEqual([])
    clock.advance(2 * MINUTE)
    await call.settled
    expect(call.error.name).toBe('RequestTimeoutError')
    await peer.waitFor(() => peer.request('/').resetCode !== null)
  })

  it('of informational responses › is ended by headersTimeout', async () => {
    const clock = new FakeClock()
    const peer = await startPeer({})
    const harness = startHarness(peer, { engine, connections: 1, pingInterval, pingTimeout }, clock)
    const call = ask(harness, 'GET /')
    await peer.waitFor(() => peer.requests.length === 1)
    for (let minute = 0; call.errors.length === 0; minute++) {
      peer.request('/').head(103)
      await peer.connection(0).ping()
      clock.advance(MINUTE)
      expect(minute).toBeLessThan(7)
    }
    expect(call.error.name).toBe('HeadersTimeoutError')
  })

  it('of a header block › is ended by headersTimeout', async () => {
    const clock = new FakeClock()
    const peer = await startPeer({})
    const harness = startHarness(peer, { engine, connections: 1, pingInterval, pingTimeout }, clock)
    const call = ask(harness, 'GET /')
    await peer.waitFor(() => peer.requests.length === 1)
    const { id } = peer.request('/')
    await peer.connection(0).writeCut(frames.frame(Type.HEADERS, 0, id, Buffer.of(0x88)))
    for (let minute = 0; call.errors.length === 0; minute++) {
      await peer.connection(0).writeCut(frames.frame(Type.CONTINUATION, 0, id, FIELD))
      clock.advance(MINUTE)
      expect(minute).toBeLessThan(7)
    }
    expect(call.error.name).toBe('HeadersTimeoutError')
    await peer.connection(0).writeCut(frames.frame(Type.CONTINUATION, Flag.END_HEADERS, id))
  })
})
