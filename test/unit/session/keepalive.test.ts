import { setImmediate as turn } from 'node:timers/promises'
import { describe, expect, it } from 'vitest'
import { SocketError } from '../../../src/errors/errors.ts'
import { HOUR, IDLE, INTERVAL, SLACK, setUp, setUpStale, TIMEOUT } from './keepalive-scene.ts'

describe('Keepalive', () => {
  describe('when a session is idle', () => {
    it('reports it after keepAliveTimeout, once, and sets no further alarm', () => {
      const { clock, session } = setUp()
      clock.advance(IDLE - 1)
      expect(session.events).toEqual([])
      clock.advance(51)
      expect(session.events).toEqual(['idle'])
      clock.advance(HOUR)
      expect(session.events).toEqual(['idle'])
      expect(clock.alarms).toBe(0)
    })

    it('counts from the end of its last stream', () => {
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

    it('never reports it with keepAliveTimeout 0', () => {
      const { clock, session } = setUp({ keepAliveTimeout: 0 })
      clock.advance(100 * HOUR)
      expect(session.events).toEqual([])
    })

    it('sets no alarm when no timeout applies', () => {
      const { clock, deadlines } = setUp({ keepAliveTimeout: 0, pingInterval: 0 })
      clock.advance(HOUR)
      expect(clock.made).toBe(0)
      expect(deadlines.size).toBe(0)
    })
  })

  describe('when a session has streams', () => {
    it('sends a PING after pingInterval without a byte', () => {
      const { clock, session, open } = setUp()
      open()
      clock.advance(INTERVAL - 1)
      expect(session.events).toEqual([])
      clock.advance(51)
      expect(session.events).toEqual(['ping'])
    })

    it('doesn’t count silence from before the first stream', () => {
      const { clock, session, open } = setUp()
      clock.advance(INTERVAL - 1)
      open()
      clock.advance(INTERVAL - 1)
      expect(session.events).toEqual([])
      clock.advance(51)
      expect(session.events).toEqual(['ping'])
    })

    it('doesn’t count bytes from before the first stream', () => {
      const { clock, session, open } = setUp()
      session.bytesRead = 9
      open()
      clock.advance(INTERVAL + 50)
      expect(session.events).toEqual(['ping'])
    })

    it('delays the PING while bytes come, and sends it a little more than an interval after the last', () => {
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

    it('sends a PING once an interval when the bytes cannot be counted', () => {
      const { clock, session, open } = setUp()
      session.bytesRead = null
      open()
      for (let i = 1; i <= 3; i++) {
        clock.advance(INTERVAL + SLACK)
        expect(session.asked).toBe(i)
        session.ack()
      }
    })

    it('reports the round trip, and sends another PING an interval after the ACK', () => {
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

    it('never sends a PING with pingInterval 0', () => {
      const { clock, session, keepalive, open, close } = setUp({ pingInterval: 0, keepAliveTimeout: 0 })
      open()
      clock.advance(HOUR)
      close()
      clock.advance(HOUR)
      expect(session.events).toEqual([])
      expect(keepalive.isTrusted).toBe(true)
    })

    it('does the same for a session without streams that a call waits for', () => {
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
  })

  describe('when a PING gets no ACK', () => {
    it.each([
      'ends, and another one begins',
      'ends',
    ])('and its time is over as a call %s, before the alarm has rung › closes the session', async (what) => {
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

    it('closes the session after pingTimeout, once', async () => {
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

    it('reports how long it really waited when the process was busy', async () => {
      const { clock, session, open } = setUp()
      open()
      clock.advance(INTERVAL)
      await turn()
      clock.skip(7_654.3)
      clock.advance(0)
      await turn()
      expect(session.errors[0]?.message).toContain('7654 ms')
    })

    it('does not close the session when the ACK comes at the last moment', () => {
      const { clock, session, open } = setUp()
      open()
      clock.advance(INTERVAL + TIMEOUT - 1)
      session.ack()
      clock.advance(INTERVAL - 1)
      expect(session.events).toEqual(['ping', `pong ${TIMEOUT - 1}`])
    })

    it('does not close the session while bytes come: the ACK may be behind them', async () => {
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

    it.each([
      'a response',
      'a byte',
    ])('counts %s that came before the session checks the deadline', async (what) => {
      const { clock, session, open } = setUp()
      open()
      clock.advance(INTERVAL)
      clock.skip(10 * TIMEOUT)
      clock.advance(0)
      // Bytes that a busy process reads only now.
      if (what === 'a byte') session.bytesRead = 1
      else session.ack()
      await turn()
      expect(session.events).not.toContain('dead')
      clock.advance(TIMEOUT - 1)
      await turn()
      expect(session.events).not.toContain('dead')
    })

    it('waits without end with pingTimeout 0, and sends no second PING', () => {
      const { clock, session, open } = setUp({ pingTimeout: 0 })
      open()
      clock.advance(HOUR)
      expect(session.events).toEqual(['ping'])
      session.ack()
      expect(session.events).toEqual(['ping', `pong ${HOUR - INTERVAL}`])
    })

    it('closes an idle session after keepAliveTimeout also with pingTimeout 0', async () => {
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
    it('does not close the session, and tries again after a pause', () => {
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

    it('because the connection is gone › closes the session at the next look, and sends none', () => {
      const { clock, session, keepalive, open } = setUp()
      session.canPing = false
      session.isLost = true
      session.onLost = () => keepalive.stop()
      open()
      clock.advance(INTERVAL + SLACK)
      clock.advance(HOUR)
      expect(session.events).toEqual(['lost'])
      expect(session.asked).toBe(0)
    })

    it('can be verified again', () => {
      const { session, keepalive } = setUpStale()
      session.canPing = false
      keepalive.verify()
      session.canPing = true
      keepalive.verify()
      expect(session.events).toEqual(['ping'])
    })
  })

  describe('when it has stopped', () => {
    it('ignores every event', () => {
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
