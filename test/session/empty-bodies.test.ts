import { describe, expect, it } from 'vitest'
import { Flag, Type } from '../../src/testing/frames.ts'
import type { DispatchOptions } from '../../types/index.ts'
import { ENGINES } from '../support/clients/engines.ts'
import { Recorder } from '../support/clients/recorder.ts'
import { PATIENT, SERVE, startHarness, startPeer } from '../support/peers/peer-rig.ts'

/** Writes down what it hears of its request, too. */
class Witness extends Recorder {
  onBodySent(): void {
    this.events.push('body sent')
  }

  onRequestSent(): void {
    this.events.push('sent')
  }
}

const EMPTY: Record<string, () => DispatchOptions['body']> = {
  null: () => null,
  'a string': () => '',
  'a Buffer': () => Buffer.alloc(0),
  'an ArrayBuffer': () => new ArrayBuffer(0),
  'a Blob': () => new Blob([]),
  'a Blob with a type': () => new Blob([], { type: 'text/plain' }),
  'a URLSearchParams': () => new URLSearchParams(),
  'a function that makes one': () => () => '',
}

describe.each(ENGINES)('an empty body on engine %s', (engine) => {
  it.each(Object.entries(EMPTY))('ends with its HEADERS: %s', async (_kind, toBody) => {
    const peer = await startPeer(SERVE)
    const harness = startHarness(peer, { ...PATIENT, engine })
    for (const method of ['POST', 'DELETE']) {
      const call = harness.dispatch({ method, body: toBody(), expectContinue: true }, new Witness())
      await call.settled
      expect((call as Witness).events).toEqual(['start', 'sent', 'response 200', 'data', 'end'])
    }
    const connection = peer.connection(0)
    expect(connection.of(Type.DATA)).toEqual([])
    expect(connection.of(Type.HEADERS).map(({ flags }) => flags & Flag.END_STREAM)).toEqual([1, 1])
    // RFC 9110 §8.6: said where content is to be expected.
    expect(peer.requests.map((stream) => stream.field('content-length'))).toEqual(['0', undefined])
    expect(peer.requests.map((stream) => stream.field('expect'))).toEqual([undefined, undefined])
  })

  it.each<[string, () => DispatchOptions['body']]>([
    ['an array', () => []],
    ['a generator', () => (function* () {})()],
    ['a web stream', () => new Blob([]).stream()],
  ])('is recognized only when its source ends: %s', async (_kind, toBody) => {
    const peer = await startPeer(SERVE)
    const harness = startHarness(peer, { ...PATIENT, engine })
    const call = harness.dispatch({ method: 'POST', body: toBody() })
    await call.settled
    expect(call.text).toBe('POST /')
    const data = peer.connection(0).of(Type.DATA)
    expect(data.map(({ flags, payload }) => [flags & Flag.END_STREAM, payload.length])).toEqual([[1, 0]])
  })
})
