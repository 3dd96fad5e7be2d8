import { describe, expect, test } from 'vitest'
import { IDLE, INTERVAL, SLACK, setUp, setUpStale, TIMEOUT, turn } from './keepalive-scene.ts'

/** How long a session may take to prove itself, in milliseconds. */
const VERIFY_TIMEOUT = 2_000
/** A PING that goes with RST_STREAM comes no sooner after the one before, in milliseconds. */
const MIN_PING_GAP = 1_000

describe('Keepalive', () => {
  describe('when a session was idle for pingInterval', () => {
    test('trusts it no more, and asks nothing before somebody wants it', () => {
      const { clock, session, keepalive } = setUp()
      clock.advance(INTERVAL - 1)
      expect(keepalive.isTrusted).toBe(true)
      clock.advance(1)
      expect([keepalive.isTrusted, keepalive.isVerifying]).toEqual([false, false])
      clock.advance(INTERVAL)
      expect(session.events).toEqual([])
    })

    test('counts from the moment when its last stream was gone', () => {
      const { clock, session, keepalive, open, close } = setUp()
      open()
      clock.advance(INTERVAL / 2)
      session.bytesRead = 1
      clock.advance(INTERVAL / 2)
      close()
      clock.advance(INTERVAL - 1)
      expect(keepalive.isTrusted).toBe(true)
      clock.advance(51)
      expect(keepalive.isTrusted).toBe(false)
    })

    test('is not impressed by bytes that come meanwhile: they may have been on their way for long', () => {
      const { clock, session, keepalive } = setUp()
      clock.advance(INTERVAL - 1)
      session.bytesRead = 100
      clock.advance(51)
      expect(keepalive.isTrusted).toBe(false)
    })

    test('verifies it by one PING, and says when it is trusted again', () => {
      const { clock, session, keepalive } = setUpStale()
      keepalive.verify()
      keepalive.verify()
      expect([keepalive.isTrusted, keepalive.isVerifying]).toEqual([false, true])
      clock.advance(30)
      session.ack()
      expect([keepalive.isTrusted, keepalive.isVerifying]).toEqual([true, false])
      expect(session.events).toEqual(['ping', 'pong 30', 'room'])
    })

    test('trusts it for one more interval then', () => {
      const { clock, session, keepalive } = setUpStale()
      keepalive.verify()
      session.ack()
      clock.advance(INTERVAL - 1)
      expect(keepalive.isTrusted).toBe(true)
      clock.advance(51)
      expect(keepalive.isTrusted).toBe(false)
    })

    test.each([
      { pingTimeout: TIMEOUT, patience: VERIFY_TIMEOUT },
      { pingTimeout: 500, patience: 500 },
      { pingTimeout: 1_999, patience: 1_999 },
    ])('gives it up $patience ms after that PING, with a pingTimeout of $pingTimeout', async ({
      pingTimeout,
      patience,
    }) => {
      const { clock, session, keepalive } = setUpStale({ pingTimeout })
      keepalive.verify()
      clock.advance(patience - 1)
      await turn()
      expect(session.events).toEqual(['ping'])
      clock.advance(51)
      await turn()
      expect(session.events).toEqual(['ping', 'dead'])
    })

    test('closes it after keepAliveTimeout, counted from its last stream and not from a verification', () => {
      const { clock, session, keepalive } = setUpStale()
      clock.advance(IDLE / 2)
      keepalive.verify()
      session.ack()
      clock.advance(IDLE / 2 - INTERVAL - 1)
      expect(session.events).toEqual(['ping', 'pong 0', 'room'])
      clock.advance(51)
      expect(session.events.at(-1)).toBe('idle')
    })

    test('does not do so while somebody waits for its verification', () => {
      const { clock, session, keepalive } = setUpStale()
      clock.advance(IDLE - INTERVAL - 1)
      session.isAwaited = true
      keepalive.onBusy()
      keepalive.verify()
      clock.advance(VERIFY_TIMEOUT - 1)
      expect(session.events).toEqual(['ping'])
    })

    test('is trusted with pingTimeout 0: its answer could be waited for for ever', () => {
      const { clock, session, keepalive } = setUp({ pingTimeout: 0, keepAliveTimeout: 0 })
      clock.advance(100 * INTERVAL)
      keepalive.doubt()
      keepalive.verify()
      expect(keepalive.isTrusted).toBe(true)
      expect(session.events).toEqual([])
    })

    test('needs no second PING where one is under way already', () => {
      const { session, keepalive } = setUpStale()
      keepalive.probe()
      keepalive.verify()
      expect(keepalive.isVerifying).toBe(true)
      session.ack()
      expect(session.events).toEqual(['ping', 'pong 0', 'room'])
    })
  })

  test('asks no session to prove itself that is trusted', () => {
    const { session, keepalive } = setUp()
    keepalive.verify()
    expect(session.events).toEqual([])
    expect([keepalive.isTrusted, keepalive.isVerifying]).toEqual([true, false])
  })

  describe('when another session of the origin was lost', () => {
    test('verifies this one by a PING before it takes another call', () => {
      const { session, keepalive } = setUp()
      keepalive.doubt()
      keepalive.doubt()
      expect([keepalive.isTrusted, keepalive.isVerifying]).toEqual([false, false])
      keepalive.verify()
      keepalive.doubt()
      expect(keepalive.isVerifying).toBe(true)
      session.ack()
      expect(keepalive.isTrusted).toBe(true)
    })

    test('gives it the whole pingTimeout for that while it has streams', async () => {
      const { clock, session, keepalive, open } = setUp()
      open()
      keepalive.doubt()
      keepalive.verify()
      clock.advance(TIMEOUT - 1)
      await turn()
      expect(session.events).toEqual(['ping'])
      clock.advance(51)
      await turn()
      expect(session.events).toEqual(['ping', 'dead'])
    })

    test('goes on trusting it with pingInterval 0', () => {
      const { keepalive } = setUp({ pingInterval: 0 })
      keepalive.doubt()
      expect(keepalive.isTrusted).toBe(true)
    })
  })

  describe('when a stream is reset', () => {
    /** It has streams, of which one was reset a moment ago, and a PING was answered. */
    function setUpReset() {
      const scene = setUp()
      scene.open()
      scene.keepalive.probe()
      scene.session.ack()
      scene.session.events.length = 0
      return scene
    }

    test('sends a PING with it, and one for a hundred of them', () => {
      const { session, keepalive, open } = setUp()
      open()
      for (let i = 0; i < 100; i++) keepalive.probe()
      expect(session.events).toEqual(['ping'])
    })

    test('sends none with pingInterval 0', () => {
      const { session, keepalive, open } = setUp({ pingInterval: 0 })
      open()
      keepalive.probe()
      expect(session.asked).toBe(0)
    })

    test('gives the peer up after pingTimeout', async () => {
      const { clock, session, keepalive, open } = setUp()
      open()
      keepalive.probe()
      clock.advance(TIMEOUT - 1)
      await turn()
      expect(session.events).toEqual(['ping'])
      clock.advance(51)
      await turn()
      expect(session.events).toEqual(['ping', 'dead'])
    })

    test('sends no other within a second of it, whatever comes meanwhile', () => {
      const { clock, session, keepalive } = setUpReset()
      session.bytesRead = 1
      clock.advance(MIN_PING_GAP - 1)
      keepalive.probe()
      expect(session.events).toEqual([])
      clock.advance(1)
      keepalive.probe()
      expect(session.events).toEqual(['ping'])
    })

    test('sends no other within an interval when nothing has come: servers would complain', () => {
      const { clock, session, keepalive } = setUpReset()
      clock.advance(INTERVAL - 1)
      keepalive.probe()
      expect(session.events).toEqual([])
      clock.advance(SLACK)
      expect(session.events).toEqual(['ping'])
    })

    test('takes the answer to a PING itself for no news', () => {
      const { clock, session, keepalive, open } = setUp()
      open()
      keepalive.probe()
      session.bytesRead = 17
      session.ack()
      clock.advance(MIN_PING_GAP)
      keepalive.probe()
      expect(session.asked).toBe(1)
    })

    test('goes by the time alone where the bytes cannot be counted', () => {
      const { clock, session, keepalive, open } = setUp()
      session.bytesRead = null
      open()
      keepalive.probe()
      session.ack()
      clock.advance(MIN_PING_GAP - 1)
      keepalive.probe()
      expect(session.asked).toBe(1)
      clock.advance(1)
      keepalive.probe()
      expect(session.asked).toBe(2)
    })

    test('counts the PING of an interval as one, too', () => {
      const { clock, session, keepalive, open } = setUp()
      open()
      clock.advance(INTERVAL)
      keepalive.probe()
      session.bytesRead = 1
      session.ack()
      session.bytesRead = 2
      clock.advance(MIN_PING_GAP - 1)
      keepalive.probe()
      expect(session.asked).toBe(1)
    })
  })

  describe('when the peer has complained of too many PINGs', () => {
    test('doubles the interval of the PINGs, and of trust', () => {
      const { clock, memory, session, keepalive, open, close } = setUp()
      memory.onTooManyPings()
      open()
      clock.advance(2 * INTERVAL - 1)
      expect(session.events).toEqual([])
      clock.advance(1 + 2 * SLACK)
      session.ack()
      expect(session.events[0]).toBe('ping')
      close()
      clock.advance(2 * INTERVAL - 1)
      expect(keepalive.isTrusted).toBe(true)
      clock.advance(51)
      expect(keepalive.isTrusted).toBe(false)
    })

    test('asks 64 times more rarely at most, and no PING that was off comes on', () => {
      for (const [pingInterval, asked] of [
        [INTERVAL, 1],
        [0, 0],
      ] as const) {
        const { clock, memory, session, open } = setUp({ pingInterval })
        for (let i = 0; i < 2_000; i++) memory.onTooManyPings()
        open()
        clock.advance(64 * INTERVAL - 1)
        expect(session.asked).toBe(0)
        clock.advance(51)
        expect(session.asked).toBe(asked)
      }
    })

    test('keeps to it also with resets', () => {
      const { clock, memory, session, keepalive, open } = setUp()
      open()
      keepalive.probe()
      session.ack()
      memory.onTooManyPings()
      clock.advance(INTERVAL)
      keepalive.probe()
      expect(session.asked).toBe(1)
      session.bytesRead = 1
      keepalive.probe()
      expect(session.asked).toBe(2)
    })
  })
})
