import { setImmediate as turn } from 'node:timers/promises'
import { describe, expect, it } from 'vitest'
import { Deadlines } from '../../../../src/core/clock.ts'
import { toClientOptions } from '../../../../src/options/options.ts'
import { OriginMemory } from '../../../../src/session/origin-memory.ts'
import { SessionStreams } from '../../../../src/session/stream/session-streams.ts'
import type { ClientOptions } from '../../../../types/client.ts'
import { FakeClock } from '../../../support/clocks/fake-clock.ts'
import { FakeStream } from '../fake-engine.ts'

function setUp(given: ClientOptions = {}) {
  const events: string[] = []
  const context = {
    options: toClientOptions(given),
    deadlines: new Deadlines(new FakeClock()),
    memory: new OriginMemory(new FakeClock()),
  }
  const streams = new SessionStreams(context, {
    responded: 0,
    areFramesSent: true,
    pingAfterReset: (isUrgent) => {
      events.push(isUrgent ? 'urgent PING' : 'PING')
      return 'sent'
    },
    onRoom: () => events.push('room'),
  })
  streams.windows.begin(0)
  const add = (count: number): FakeStream[] =>
    Array.from({ length: count }, (_, i) => {
      const stream = new FakeStream(i * 2 + 1, events)
      streams.add(stream)
      return stream
    })
  return { streams, events, add }
}

describe('SessionStreams', () => {
  describe('when a stream is added', () => {
    it('has it, with a window, until it is deleted', () => {
      const { streams, add } = setUp()
      const [stream] = add(1) as [FakeStream]
      expect(streams).toMatchObject({ size: 1, live: 1 })
      expect(stream.window).toBe(streams.windows.streamWindow)

      expect(streams.delete(stream)).toBe(true)
      expect(streams).toMatchObject({ size: 0, live: 0 })
      expect(stream.window).toBe(0)
      expect(streams.delete(stream)).toBe(false)
    })
  })

  describe('when streams wait for their reset', () => {
    it('counts them among all streams, but not among the active ones', async () => {
      const { streams, events, add } = setUp()
      const [first, second] = add(2) as [FakeStream, FakeStream]
      streams.resets.add(first)
      streams.resets.add(second)
      second.onReset = () => {
        second.isEndedEarly = true
        streams.delete(second)
      }
      expect(streams).toMatchObject({ size: 2, live: 0 })

      // It has closed by itself.
      streams.delete(first)
      expect(streams).toMatchObject({ size: 1, live: 0 })
      await turn()
      expect(events).toEqual(['reset 3', 'PING'])
      expect(streams).toMatchObject({ size: 0, live: 0 })
      expect(streams.resets.confirmation.places).toBe(1)
    })
  })

  describe('when the peer has told its limit', () => {
    it('has room up to that limit, and is full there', () => {
      const { streams, add } = setUp()
      streams.settings.update({ maxConcurrentStreams: 2 })
      const [first] = add(1) as [FakeStream]
      expect(streams.canTake()).toBe('yes')
      add(1)
      expect(streams.canTake()).toBe('full')
      streams.delete(first)
      expect(streams.canTake()).toBe('yes')
    })

    it('has no room with a limit of 0, and is not full', () => {
      const { streams } = setUp()
      streams.settings.update({ maxConcurrentStreams: 0 })
      expect(streams.canTake()).toBe('soon')
    })
  })

  describe('when the peer has not told its limit', () => {
    it("has room for the caller's limit, and is not full", () => {
      const { streams, add } = setUp({ maxConcurrentStreams: 3 })
      add(2)
      expect(streams.canTake()).toBe('yes')
      add(1)
      expect(streams.canTake()).toBe('soon')
    })
  })

  describe('when the whole buffer bound is given to windows', () => {
    it('has no room, whatever the peer allows', () => {
      const MIB = 1_048_576
      const { streams, add } = setUp({ initialWindowSize: MIB, maxSessionBuffer: 4 * MIB })
      streams.settings.update({})
      let opened = 0
      for (; streams.canTake() === 'yes'; opened++) add(1)
      expect(opened).toBeGreaterThan(0)
      expect(opened * streams.windows.streamWindow).toBeLessThanOrEqual(4 * MIB)
      expect(streams.canTake()).toBe('full')
    })
  })

  describe('when the session ends', () => {
    it('fails the streams in the order in which they were opened, with the cause or as destroyed', () => {
      const { streams, events, add } = setUp()
      const [first] = add(3) as [FakeStream]
      // The last one takes its place.
      streams.delete(first)
      streams.add(first)
      streams.fail(new TypeError('why'))
      expect(events.splice(0)).toEqual(['fail 1: TypeError', 'fail 3: TypeError', 'fail 5: TypeError'])
      streams.fail(null)
      expect(events).toEqual([1, 3, 5].map((id) => `fail ${id}: ClientDestroyedError`))
    })

    it('removes them in that order, and resets none', async () => {
      const { streams, events, add } = setUp()
      const [, second] = add(3) as [FakeStream, FakeStream]
      streams.resets.add(second)
      streams.onLost()
      await turn()
      expect(events).toEqual(['lose 1', 'lose 3', 'lose 5'])
    })
  })

  describe('when checked for idle streams', () => {
    it('finds the stream that a caller waits for, at any position', () => {
      const { streams, add } = setUp()
      const all = add(5)
      for (const stream of all) stream.isIdle = true
      for (const stream of all) {
        expect(streams.areIdle()).toBe(true)
        stream.isIdle = false
        expect(streams.areIdle()).toBe(false)
        stream.isIdle = true
      }
      expect(streams.areIdle()).toBe(true)
    })

    it('goes by those that there are', () => {
      const { streams, add } = setUp()
      expect(streams).toMatchObject({ mayBeIdle: true })
      expect(streams.areIdle()).toBe(true)
      const [first, second, third] = add(3) as [FakeStream, FakeStream, FakeStream]
      first.isIdle = true
      second.isIdle = true
      expect(streams.areIdle()).toBe(false)
      streams.delete(third)
      expect(streams).toMatchObject({ mayBeIdle: true })
      expect(streams.areIdle()).toBe(true)
      first.isIdle = false
      expect(streams).toMatchObject({ mayBeIdle: false })
      expect(streams.areIdle()).toBe(false)
    })

    it('looks at each a few times, when one after the other of many becomes idle', () => {
      const { streams, add } = setUp()
      const all = add(10_000)
      for (const stream of all) {
        stream.isIdle = true
        streams.areIdle()
      }
      expect(streams.areIdle()).toBe(true)
      expect(all.reduce((sum, { looks }) => sum + looks, 0)).toBeLessThan(5 * all.length)
    })
  })
})
