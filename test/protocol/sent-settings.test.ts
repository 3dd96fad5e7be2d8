import { describe, expect, it } from 'vitest'
import { ErrorCode } from '../../src/errors/error-codes.ts'
import type { AnnouncedSettings } from '../../src/protocol/sent-settings.ts'
import { SentSettings } from '../../src/protocol/sent-settings.ts'

const toAnnounced = (streamWindow: number): AnnouncedSettings => ({ headerTableSize: null, streamWindow })

describe('SentSettings', () => {
  it('returns the announced settings in the order in which they were sent', () => {
    const settings = new SentSettings()
    const [first, second] = [toAnnounced(1), toAnnounced(2)]
    settings.add(first)
    settings.add(second)
    expect([settings.acknowledge(), settings.acknowledge()]).toEqual([first, second])
  })

  describe('when an ACK comes and nothing waits', () => {
    it('is a connection error, at once and after all ACKs', () => {
      const settings = new SentSettings()
      const fault = expect.objectContaining({ name: 'ConnectionFault', code: ErrorCode.PROTOCOL_ERROR })
      expect(() => settings.acknowledge()).toThrow(fault)
      settings.add(toAnnounced(1))
      settings.acknowledge()
      expect(() => settings.acknowledge()).toThrow(fault)
    })
  })
})
