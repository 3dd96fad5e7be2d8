import { describe, expect, it } from 'vitest'
import { OriginMemory } from '../../../src/session/origin-memory.ts'
import { PeerSettings, UNLIMITED } from '../../../src/session/peer-settings.ts'
import { FakeClock } from '../../support/clocks/fake-clock.ts'

function setUp(ownLimit = UNLIMITED, remembered: number | null = null) {
  const memory = new OriginMemory(new FakeClock())
  if (remembered !== null) memory.onStreamLimit(remembered)
  return { memory, settings: new PeerSettings(ownLimit, memory) }
}

describe('PeerSettings', () => {
  describe('when no SETTINGS have come', () => {
    it.each([
      { what: 'nothing is known', own: UNLIMITED, remembered: null, limit: 100 },
      { what: 'the last session had fewer', own: UNLIMITED, remembered: 7, limit: 7 },
      { what: 'the last session had none', own: UNLIMITED, remembered: 0, limit: 0 },
      { what: 'the last session had more', own: UNLIMITED, remembered: 5_000, limit: 100 },
      { what: 'the last session had any number', own: UNLIMITED, remembered: UNLIMITED, limit: 100 },
      { what: 'we want fewer', own: 3, remembered: 7, limit: 3 },
      { what: 'we want more', own: 500, remembered: null, limit: 100 },
    ])('allows $limit streams where $what', ({ own, remembered, limit }) => {
      const { memory, settings } = setUp(own, remembered)
      expect(settings.limit).toBe(limit)
      expect([settings.peerLimit, settings.areSettled, settings.offersExtendedConnect]).toEqual([
        null,
        false,
        false,
      ])
      expect(memory.streamLimit).toBe(remembered)
    })
  })

  describe('when SETTINGS come, or change', () => {
    it("allows what they allow, up to the client's own limits", () => {
      const { settings } = setUp(50)
      const heard = [10, 1_000, 0, 50, 51].map((maxConcurrentStreams) => {
        settings.update({ maxConcurrentStreams })
        return [settings.peerLimit, settings.limit]
      })
      expect(heard).toEqual([
        [10, 10],
        [1_000, 50],
        [0, 0],
        [50, 50],
        [51, 50],
      ])
    })

    it('has the protocol’s default for a missing setting', () => {
      const { settings } = setUp()
      settings.update({ maxConcurrentStreams: 1, enableConnectProtocol: true })
      expect(settings.offersExtendedConnect).toBe(true)
      settings.update({})
      expect([settings.peerLimit, settings.limit, settings.offersExtendedConnect]).toEqual([
        UNLIMITED,
        UNLIMITED,
        false,
      ])
    })

    it("remembers the peer's own limit for the next session", () => {
      const { memory, settings } = setUp(5)
      settings.update({ maxConcurrentStreams: 20 })
      expect(memory.streamLimit).toBe(20)
      expect(new PeerSettings(UNLIMITED, memory).limit).toBe(20)
      settings.update({})
      expect(new PeerSettings(UNLIMITED, memory).limit).toBe(100)
    })

    it('allows one stream before any limit is known, when the first SETTINGS are waited for', () => {
      const { memory, settings } = setUp()
      const waiting = new PeerSettings(UNLIMITED, memory, true)
      expect([waiting.limit, settings.limit]).toEqual([1, 100])
      waiting.update({ maxConcurrentStreams: 20 })
      expect([waiting.limit, new PeerSettings(UNLIMITED, memory, true).limit]).toEqual([20, 20])
    })

    it('are settled after settle(), and stay so', () => {
      const { settings } = setUp()
      settings.update({ maxConcurrentStreams: 1 })
      expect(settings.areSettled).toBe(false)
      settings.settle()
      settings.update({ maxConcurrentStreams: 2 })
      expect(settings.areSettled).toBe(true)
    })
  })
})
