import { describe, expect, test } from 'vitest'
import { SocketError } from '../../../src/errors.ts'
import { HOUR, IDLE, INTERVAL, SLACK, setUp, setUpStale, TIMEOUT, turn } from './keepalive-scene.ts'

describe('Keepalive', () => {
  describe('when a session is idle', () => {
    test('tells so after keepAliveTimeout, once, and waits for nothing more', () => {
      const { clock, session } = setUp()
      clock.advance(IDLE - 1)
      expect(session.events).toEqual([])
      clock.advance(51)
      expect(session.events).toEqual(['idle'])
      clock.advance(HOUR)
      expect(session.events).toEqual(['idle'])
      expect(clock.alarms).toBe(0)
    })

    test('counts from the moment when the last of its streams is gone', () => {
      const { clock, session, open, close } = setUp({ pingInterval: 0 })
      clock.advance(IDLE / 2)
      open()
      open()
      clock.advance(IDLE)
      close()
      clock.advance(IDLE)
      close()
      clock.advance(IDLE - 1)
      expect(session.events).toEqual([])
      clock.advance(51)
      expect(session.events).toEqual(['idle'])
    })

    test('never tells so with keepAliveTimeout 0', () => {
      const { clock, session } = setUp({ keepAliveTimeout: 0 })
      clock.advance(100 * HOUR)
      expect(session.events).toEqual([])
    })

    test('sends no PING', () => {
      const { clock, session } = setUp({ keepAliveTimeout: 0 })
      clock.advance(100 * INTERVAL)
      expect(session.asked).toBe(0)
    })

    test('sets no alarm when there is nothing to wait for', () => {
      const { clock, open, close } = setUp({ keepAliveTimeout: 0, pingInterval: 0 })
      open()
      close()
      expect(clock.made).toBe(0)
    })
  })

  describe('when a session has streams', () => {
    test('sends a PING after pingInterval without a byte', () => {
      const { clock, session, open } = setUp()
      open()
      clock.advance(INTERVAL - 1)
      expect(session.events).toEqual([])
      clock.advance(51)
      expect(session.events).toEqual(['ping'])
    })

    test('doesn’t count silence from before the first stream', () => {
      const { clock, session, open } = setUp()
      clock.advance(INTERVAL - 1)
      open()
      clock.advance(INTERVAL - 1)
      expect(session.events).toEqual([])
      clock.advance(51)
      expect(session.events).toEqual(['ping'])
    })

    test('doesn’t count bytes from before the first stream', () => {
      const { clock, session, open } = setUp()
      session.bytesRead = 9
      open()
      clock.advance(INTERVAL + 50)
      expect(session.events).toEqual(['ping'])
    })

    test('puts the PING off while bytes come, and sends it a little more than an interval after the last', () => {
      const { clock, session, open } = setUp()
      open()
      for (let i = 1; i <= 20; i++) {
        clock.advance(INTERVAL / 2)
        session.bytesRead = i
      }
      clock.advance(INTERVAL - 1)
      expect(session.events).toEqual([])
      clock.advance(1 + SLACK)
      expect(session.events).toEqual(['ping'])
    })

    test('asks once an interval where the bytes cannot be counted', () => {
      const { clock, session, open } = setUp()
      session.bytesRead = null
      open()
      for (let i = 1; i <= 3; i++) {
        clock.advance(INTERVAL + SLACK)
        expect(session.asked).toBe(i)
        session.ack()
      }
    })

    test('tells the round trip, and asks again an interval after the response', () => {
      const { clock, session, open } = setUp()
      open()
      clock.advance(INTERVAL)
      clock.advance(150)
      session.ack()
      expect(session.events).toEqual(['ping', 'pong 150'])
      clock.advance(INTERVAL - 1)
      expect(session.asked).toBe(1)
      clock.advance(SLACK + 1)
      expect(session.events).toEqual(['ping', 'pong 150', 'ping'])
    })

    test('never asks with pingInterval 0', () => {
      const { clock, session, keepalive, open, close } = setUp({ pingInterval: 0, keepAliveTimeout: 0 })
      open()
      clock.advance(HOUR)
      close()
      clock.advance(HOUR)
      expect(session.events).toEqual([])
      expect(keepalive.isTrusted).toBe(true)
    })

    test('does the same for a session without streams that a call waits for', () => {
      const { clock, session, keepalive } = setUp({ keepAliveTimeout: 1_000 })
      session.isAwaited = true
      keepalive.onBusy()
      clock.advance(INTERVAL + 50)
      expect(session.events).toEqual(['ping'])
      session.ack()
      session.isAwaited = false
      keepalive.onIdle()
      clock.advance(1_050)
      expect(session.events.at(-1)).toBe('idle')
    })

    test('does not say that it is idle, however long they take', () => {
      const { clock, session, open } = setUp({ keepAliveTimeout: 1_000, pingInterval: 0 })
      open()
      clock.advance(HOUR)
      expect(session.events).toEqual([])
    })
  })

  describe('when a PING gets no ACK', () => {
    test.each([
      'ends, and another one begins',
      'ends',
    ])('and its time is over as a call %s, before the alarm has rung › gives the peer up', async (what) => {
      const { clock, session, open, close } = setUp({ keepAliveTimeout: 0 })
      open()
      clock.advance(INTERVAL)
      expect(session.events).toEqual(['ping'])
      // The process was busy: no timer has rung.
      clock.skip(TIMEOUT)
      close()
      if (what !== 'ends') open()
      clock.advance(50)
      await turn()
      expect(session.events).toEqual(['ping', 'dead'])
    })

    test('gives the peer up after pingTimeout, once', async () => {
      const { clock, session, open } = setUp()
      open()
      clock.advance(INTERVAL + TIMEOUT - 1)
      await turn()
      expect(session.events).toEqual(['ping'])
      clock.advance(51)
      await turn()
      expect(session.events).toEqual(['ping', 'dead'])
      const [error] = session.errors
      expect(error).toBeInstanceOf(SocketError)
      expect(error).toMatchObject({
        processed: 'maybe',
        message: expect.stringMatching(/PING within 40\d\d ms/),
      })
      clock.advance(HOUR)
      await turn()
      expect(session.events).toEqual(['ping', 'dead'])
    })

    test('tells how long it really waited, where the process was busy', async () => {
      const { clock, session, open } = setUp()
      open()
      clock.advance(INTERVAL)
      await turn()
      clock.skip(7_654.3)
      clock.advance(0)
      await turn()
      expect(session.errors[0]?.message).toContain('7654 ms')
    })

    test('does not give up a peer that responds at the last moment', () => {
      const { clock, session, open } = setUp()
      open()
      clock.advance(INTERVAL + TIMEOUT - 1)
      session.ack()
      clock.advance(INTERVAL - 1)
      expect(session.events).toEqual(['ping', `pong ${TIMEOUT - 1}`])
    })

    test('gives it up although its streams are gone meanwhile', async () => {
      const { clock, session, open, close } = setUp()
      open()
      clock.advance(INTERVAL)
      await turn()
      close()
      clock.advance(TIMEOUT + 50)
      await turn()
      expect(session.events).toEqual(['ping', 'dead'])
    })

    test('does not give up a peer from which bytes come: the response may be behind them', async () => {
      const { clock, session, open } = setUp()
      open()
      clock.advance(INTERVAL)
      for (let bytes = 1; bytes <= 10; bytes++) {
        clock.advance(TIMEOUT - 1)
        await turn()
        session.bytesRead = bytes
      }
      expect(session.events).toEqual(['ping'])
      clock.advance(2 * TIMEOUT)
      await turn()
      expect(session.events).toEqual(['ping', 'dead'])
    })

    test.each([
      'a response',
      'a byte',
    ])('takes %s into account that was there before it came to judge', async (what) => {
      const { clock, session, open } = setUp()
      open()
      clock.advance(INTERVAL)
      clock.skip(10 * TIMEOUT)
      clock.advance(0)
      // What a busy process reads only now.
      if (what === 'a byte') session.bytesRead = 1
      else session.ack()
      await turn()
      expect(session.events).not.toContain('dead')
      clock.advance(TIMEOUT - 1)
      await turn()
      expect(session.events).not.toContain('dead')
    })

    test('waits for ever with pingTimeout 0, and asks no second time', () => {
      const { clock, session, open } = setUp({ pingTimeout: 0 })
      open()
      clock.advance(HOUR)
      expect(session.events).toEqual(['ping'])
      session.ack()
      expect(session.events).toEqual(['ping', `pong ${HOUR - INTERVAL}`])
    })

    test('closes an idle session after keepAliveTimeout also with pingTimeout 0', async () => {
      const { clock, session, open, close } = setUp({ pingTimeout: 0 })
      open()
      clock.advance(INTERVAL)
      await turn()
      close()
      clock.advance(IDLE + 50)
      await turn()
      expect(session.events).toEqual(['ping', 'idle'])
    })
  })

  describe('when a PING cannot be sent', () => {
    test('gives no session up, and tries again, but not without a pause', () => {
      const { clock, session, open } = setUp()
      session.canPing = false
      open()
      clock.advance(2 * INTERVAL)
      expect(session.events).toEqual([])
      expect(session.asked).toBeGreaterThan(1)
      expect(session.asked).toBeLessThan(300)
      session.canPing = true
      clock.advance(INTERVAL)
      expect(session.events).toContain('ping')
    })

    test('because the connection is gone › has the session closed, and asks no more', () => {
      const { clock, session, keepalive, open } = setUp()
      session.canPing = false
      session.isLost = true
      session.onLost = () => keepalive.stop()
      open()
      clock.advance(INTERVAL + SLACK)
      clock.advance(HOUR)
      expect(session.events).toEqual(['lost'])
      expect(session.asked).toBe(1)
    })

    test('can be verified again', () => {
      const { session, keepalive } = setUpStale()
      session.canPing = false
      keepalive.verify()
      session.canPing = true
      keepalive.verify()
      expect(session.events).toEqual(['ping'])
    })
  })

  describe('when it has stopped', () => {
    test('hears of nothing any more', () => {
      const { clock, deadlines, session, keepalive, open, close } = setUp()
      open()
      clock.advance(INTERVAL)
      keepalive.stop()
      session.ack()
      keepalive.probe()
      close()
      open()
      clock.advance(HOUR)
      expect(session.events).toEqual(['ping'])
      expect(deadlines.size).toBe(0)
    })
  })
})
