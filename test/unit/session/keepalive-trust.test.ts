import { setImmediate as turn } from 'node:timers/promises'
import { describe, expect, it } from 'vitest'
import { IDLE, INTERVAL, SLACK, setUp, setUpStale, TIMEOUT } from './keepalive-scene.ts'

/** How long the verification of a session may take, in milliseconds. */
const VERIFY_TIMEOUT = 2_000
/** A PING that goes with RST_STREAM comes no sooner after the one before, in milliseconds. */
const MIN_PING_GAP = 1_000

describe('Keepalive', () => {
  describe('when a session was idle for pingInterval', () => {
    it('requires verification, and sends no PING before a call needs the session', () => {
      const { clock, session, keepalive } = setUp()
      clock.advance(INTERVAL - 1)
      expect(keepalive.isTrusted).toBe(true)
      clock.advance(1)
      expect([keepalive.isTrusted, keepalive.isVerifying]).toEqual([false, false])
      clock.advance(INTERVAL)
      expect(session.events).toEqual([])
    })

    it('counts from the end of its last stream', () => {
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

    it('ignores bytes that come meanwhile: they may have been on their way for long', () => {
      const { clock, session, keepalive } = setUp()
      clock.advance(INTERVAL - 1)
      session.bytesRead = 100
      clock.advance(51)
      expect(keepalive.isTrusted).toBe(false)
    })

    it('verifies it by one PING, and reports when it is verified', () => {
      const { clock, session, keepalive } = setUpStale()
      keepalive.verify()
      keepalive.verify()
      expect([keepalive.isTrusted, keepalive.isVerifying]).toEqual([false, true])
      clock.advance(30)
      session.ack()
      expect([keepalive.isTrusted, keepalive.isVerifying]).toEqual([true, false])
      expect(session.events).toEqual(['ping', 'pong 30', 'trust'])
    })

    it('needs no verification for one more interval then', () => {
      const { clock, session, keepalive } = setUpStale()
      keepalive.verify()
      session.ack()
      clock.advance(INTERVAL - 1)
      expect(keepalive.isTrusted).toBe(true)
      clock.advance(51)
      expect(keepalive.isTrusted).toBe(false)
    })

    it.each([
      { pingTimeout: TIMEOUT, patience: VERIFY_TIMEOUT },
      { pingTimeout: 500, patience: 500 },
      { pingTimeout: 1_999, patience: 1_999 },
    ])('closes the session $patience ms after that PING, with a pingTimeout of $pingTimeout', async ({
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

    it('closes it after keepAliveTimeout, counted from its last stream and not from a verification', () => {
      const { clock, session, keepalive } = setUpStale()
      clock.advance(IDLE / 2)
      keepalive.verify()
      session.ack()
      clock.advance(IDLE / 2 - INTERVAL - 1)
      expect(session.events).toEqual(['ping', 'pong 0', 'trust'])
      clock.advance(51)
      expect(session.events.at(-1)).toBe('idle')
    })

    it('does not close it while a call waits for its verification', () => {
      const { clock, session, keepalive } = setUpStale()
      clock.advance(IDLE - INTERVAL - 1)
      session.isAwaited = true
      keepalive.onBusy()
      keepalive.verify()
      clock.advance(VERIFY_TIMEOUT - 1)
      expect(session.events).toEqual(['ping'])
    })

    it('requires no verification with pingTimeout 0: its ACK could be waited for without end', () => {
      const { clock, session, keepalive } = setUp({ pingTimeout: 0, keepAliveTimeout: 0 })
      clock.advance(100 * INTERVAL)
      keepalive.requireVerification()
      keepalive.verify()
      expect(keepalive.isTrusted).toBe(true)
      expect(session.events).toEqual([])
    })

    it('sends no second PING when one is on its way already', () => {
      const { session, keepalive } = setUpStale()
      keepalive.probe()
      keepalive.verify()
      expect(keepalive.isVerifying).toBe(true)
      session.ack()
      expect(session.events).toEqual(['ping', 'pong 0', 'trust'])
    })
  })

  it('sends no PING when the session needs no verification', () => {
    const { session, keepalive } = setUp()
    keepalive.verify()
    expect(session.events).toEqual([])
    expect([keepalive.isTrusted, keepalive.isVerifying]).toEqual([true, false])
  })

  describe('when another session of the origin was lost', () => {
    it('verifies this one by a PING before it takes another call', () => {
      const { session, keepalive } = setUp()
      keepalive.requireVerification()
      keepalive.requireVerification()
      expect([keepalive.isTrusted, keepalive.isVerifying]).toEqual([false, false])
      keepalive.verify()
      keepalive.requireVerification()
      expect(keepalive.isVerifying).toBe(true)
      session.ack()
      expect(keepalive.isTrusted).toBe(true)
    })

    it('gives that PING the whole pingTimeout while the session has streams', async () => {
      const { clock, session, keepalive, open } = setUp()
      open()
      keepalive.requireVerification()
      keepalive.verify()
      clock.advance(TIMEOUT - 1)
      await turn()
      expect(session.events).toEqual(['ping'])
      clock.advance(51)
      await turn()
      expect(session.events).toEqual(['ping', 'dead'])
    })

    it('requires no verification with pingInterval 0', () => {
      const { keepalive } = setUp({ pingInterval: 0 })
      keepalive.requireVerification()
      expect(keepalive.isTrusted).toBe(true)
    })
  })

  describe('when a stream is reset', () => {
    /** A session with streams, of which one was reset a moment ago; a PING got its ACK. */
    function setUpReset() {
      const scene = setUp()
      scene.open()
      scene.keepalive.onReset(false)
      scene.session.ack()
      scene.session.events.length = 0
      return scene
    }

    it('sends a PING with it, and one for a hundred of them', () => {
      const { session, keepalive, open } = setUp()
      open()
      for (let i = 0; i < 100; i++) keepalive.onReset(false)
      expect(session.events).toEqual(['ping'])
    })

    it('sends none with pingInterval 0', () => {
      const { session, keepalive, open } = setUp({ pingInterval: 0 })
      open()
      keepalive.onReset(false)
      expect(session.asked).toBe(0)
    })

    it('sends no other PING within a second of its ACK, whatever comes meanwhile', () => {
      const { clock, session, pings, keepalive } = setUpReset()
      pings.onNews()
      clock.advance(MIN_PING_GAP - 1)
      keepalive.onReset(false)
      expect(session.events).toEqual([])
      clock.advance(1)
      keepalive.onReset(false)
      expect(session.events).toEqual(['ping'])
    })

    it('sends no other PING within an interval when nothing has come: servers would complain', () => {
      const { clock, session, keepalive } = setUpReset()
      clock.advance(INTERVAL - 1)
      keepalive.onReset(false)
      expect(session.events).toEqual([])
      clock.advance(SLACK)
      expect(session.events).toEqual(['ping'])
    })

    it('counts only HEADERS and DATA as new data, as servers that count PINGs do', () => {
      const { clock, session, keepalive } = setUpReset()
      for (let seconds = 1; seconds < 5; seconds++) {
        session.bytesRead = seconds * 17
        clock.advance(MIN_PING_GAP)
        keepalive.onReset(false)
      }
      expect(session.asked).toBe(1)
    })

    it('counts the PING of an interval as one, too', () => {
      const { clock, session, pings, keepalive, open } = setUp()
      open()
      clock.advance(INTERVAL)
      keepalive.onReset(false)
      session.ack()
      pings.onNews()
      clock.advance(MIN_PING_GAP - 1)
      keepalive.onReset(false)
      expect(session.asked).toBe(1)
    })

    it('sends no fourth PING to a peer that has not responded so far, since it may be a gRPC server', () => {
      const { clock, session, keepalive } = setUp({ pingInterval: 10_000, keepAliveTimeout: 0 })
      for (let i = 0; i < 10; i++) {
        keepalive.onReset(false)
        if (session.events.at(-1) === 'ping') session.ack()
        clock.advance(INTERVAL - 1)
        // A call needs the session for a moment: so it is never idle for an interval.
        keepalive.onIdle()
        clock.advance(1)
      }
      expect(session.asked).toBe(3)
    })
  })

  describe('when the peer has complained of too many PINGs', () => {
    it('doubles the interval of the PINGs, and of verification', () => {
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

    it('sends PINGs at most 64 times more rarely, and does not turn on PINGs that were off', () => {
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

    it('sends no further PING with a reset', () => {
      const { clock, memory, session, pings, keepalive, open } = setUp()
      open()
      memory.onTooManyPings()
      keepalive.onReset(false)
      pings.onNews()
      clock.advance(2 * INTERVAL - 1)
      keepalive.onReset(false)
      expect(session.asked).toBe(0)
    })

    it('sends PINGs more rarely, too, when the peer closes the session', async () => {
      const { clock, memory, session, pings, keepalive, open } = setUp()
      open()
      memory.onTooManyPings()
      keepalive.onGoaway()
      await turn()
      session.ack()
      pings.onNews()
      clock.advance(2 * MIN_PING_GAP - 1)
      keepalive.onGoaway()
      await turn()
      expect(session.asked).toBe(1)
      clock.advance(1)
      keepalive.onGoaway()
      await turn()
      expect(session.asked).toBe(2)
    })
  })

  describe('when the peer has responded in gRPC', () => {
    const MINUTE = 60_000
    /** `pingInterval` isn't set by the caller. */
    const UNSAID = { pingInterval: null, keepAliveTimeout: 0, pingTimeout: TIMEOUT } as const

    it.each([
      ['application/grpc', 5],
      ['application/grpc+proto', 5],
      ['application/grpc;charset=utf-8', 5],
      ['application/grpc-web', 1 / 30],
      ['application/grpc-web+proto', 1 / 30],
      ['application/json', 1 / 30],
      [undefined, 1 / 30],
    ])('by content-type %s › sends a PING to a silent peer after %d minutes', (contentType, minutes) => {
      const { clock, memory, session, open } = setUp(UNSAID)
      open()
      memory.onResponse(contentType)
      memory.onResponse('text/plain')
      clock.advance(minutes * MINUTE - 1)
      expect(session.asked).toBe(0)
      clock.advance(minutes * MINUTE)
      expect(session.asked).toBe(1)
    })

    it('gets a PING per interval that the caller has set', () => {
      const { clock, memory, session, open } = setUp({ ...UNSAID, pingInterval: MINUTE })
      open()
      memory.onResponse('application/grpc')
      clock.advance(MINUTE + MINUTE / 4)
      expect(session.asked).toBe(1)
    })

    it('requires verification after so long without a call, and closes the session when a further PING would be a strike', () => {
      const { clock, memory, session, keepalive } = setUp(UNSAID)
      memory.onResponse('application/grpc')
      for (let asked = 1; asked <= 3; asked++) {
        clock.advance(5 * MINUTE - 1)
        expect(keepalive.isTrusted).toBe(true)
        clock.advance(1 + SLACK)
        expect(keepalive.isTrusted).toBe(false)
        // The call that needed it uses another session.
        keepalive.verify()
        session.ack()
      }
      expect(session.asked).toBe(3)
      clock.advance(5 * MINUTE + SLACK)
      expect(session.events.at(-1)).toBe('idle')
    })

    it('requires no verification when another session was lost and a PING would be a strike', () => {
      const { memory, session, keepalive, open } = setUp(UNSAID)
      memory.onResponse('application/grpc')
      open()
      for (let asked = 1; asked <= 3; asked++) {
        keepalive.requireVerification()
        keepalive.verify()
        session.ack()
      }
      keepalive.requireVerification()
      expect([session.asked, keepalive.isTrusted]).toEqual([3, true])
    })
  })

  it('a peer that has not responded, and has got three PINGs, gets one every five minutes', () => {
    const { clock, session, open } = setUp({ pingInterval: null, keepAliveTimeout: 0 })
    open()
    const times: number[] = []
    for (let minute = 1; minute <= 20; minute++) {
      clock.advance(60_000)
      if (session.asked === times.length) continue
      times.push(minute)
      session.ack()
    }
    // A PING may go out a quarter of an interval early; the time to the next one is counted from its response.
    expect(times).toEqual([1, 2, 3, 8, 13, 18])
  })
})
