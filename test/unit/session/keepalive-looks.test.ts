import { setImmediate as turn } from 'node:timers/promises'
import { describe, expect, it } from 'vitest'
import { SocketError } from '../../../src/errors/errors.ts'
import { HOUR, setUp } from './keepalive-scene.ts'

/** The caller has set no `pingInterval`. Milliseconds. */
const UNSAID = { pingInterval: null, pingTimeout: 15_000, keepAliveTimeout: 0 } as const
/** Two looks, and how late each may be. Milliseconds. */
const TWO_LOOKS = 1_100
const SECOND = 1_000

describe('Keepalive', () => {
  describe('when the system has dropped the connection under a call', () => {
    it.each([
      ['by default', {}],
      ['without PINGs', { pingInterval: 0 }],
    ])('%s › ends the session within two looks', async (_name, options) => {
      const { clock, session, open } = setUp(options)
      open()
      session.isDisconnected = true
      clock.advance(TWO_LOOKS)
      await turn()
      expect(session.events).toEqual(['dead'])
      expect(session.errors[0]).toBeInstanceOf(SocketError)
      expect(session.errors[0]).toMatchObject({ processed: 'maybe' })
    })

    it('does not end the session while bytes come that were sent before', async () => {
      const { clock, session, open } = setUp()
      open()
      session.isDisconnected = true
      for (let bytes = 1; bytes <= 10; bytes++) {
        clock.advance(SECOND)
        session.bytesRead = bytes
        await turn()
      }
      expect(session.events).toEqual([])
    })

    it('leaves an idle session alone: its next call has a look of its own', async () => {
      const { clock, session, open, close } = setUp()
      open()
      close()
      session.isDisconnected = true
      clock.advance(5 * SECOND)
      await turn()
      expect(session.events).toEqual([])
      open()
      clock.advance(TWO_LOOKS)
      await turn()
      expect(session.events).toEqual(['dead'])
    })
  })

  describe('the connection is asked to look for what no event tells', () => {
    it('every 500 ms while a call needs it, also when nothing else is watched for', () => {
      const { clock, session, open } = setUp({ pingInterval: 0, keepAliveTimeout: 0 })
      clock.advance(10 * SECOND)
      expect(session.looks).toBe(0)
      open()
      for (let turn = 0; turn < 100; turn++) clock.advance(100)
      expect(session.looks).toBeGreaterThanOrEqual(17)
      expect(session.looks).toBeLessThanOrEqual(20)
    })

    it('as often when calls are too short for a look in between', () => {
      const { clock, session, open, close } = setUp()
      for (let call = 0; call < 100; call++) {
        open()
        clock.advance(100)
        close()
      }
      expect(session.looks).toBeGreaterThanOrEqual(17)
      expect(session.looks).toBeLessThanOrEqual(20)
    })
  })

  describe('when nothing comes for two seconds under a call', () => {
    function setUpSilent(options: object = UNSAID) {
      const scene = setUp(options)
      scene.memory.onResponse('text/plain')
      scene.open()
      return scene
    }

    it('sends an early PING', () => {
      const { clock, session } = setUpSilent()
      clock.advance(2 * SECOND - 1)
      expect(session.events).toEqual([])
      clock.advance(51)
      expect(session.events).toEqual(['ping'])
    })

    it('sends the further PINGs of one silence after 4, 8, 16 and 32 seconds, and then each minute', () => {
      const { clock, session } = setUpSilent()
      const sentAt: number[] = []
      for (let at = 0; at < 240; at++) {
        const before = session.asked
        clock.advance(SECOND)
        if (session.asked === before) continue
        sentAt.push(at + 1)
        session.ack()
      }
      const pauses = sentAt.map((at, index) => at - (sentAt[index - 1] ?? 0))
      expect(pauses).toEqual([2, 4, 8, 16, 32, 60, 60].map((pause) => expect.closeTo(pause, -0.7)))
    })

    it('begins anew with two seconds after each byte', () => {
      const { clock, session } = setUpSilent()
      clock.advance(2 * SECOND + 50)
      session.ack()
      session.bytesRead = 10
      clock.advance(3 * SECOND)
      expect(session.asked).toBe(2)
    })

    it('keeps new calls from the session when the ACK takes more than a second, and ends nothing before pingTimeout', async () => {
      const { clock, keepalive, session } = setUpSilent()
      clock.advance(2 * SECOND + 50)
      clock.advance(SECOND - 100)
      expect(keepalive.isTrusted).toBe(true)
      clock.advance(TWO_LOOKS)
      expect(keepalive.isTrusted).toBe(false)
      expect(session.events).toEqual(['ping', 'trust'])
      clock.advance(11 * SECOND)
      await turn()
      session.ack()
      expect(keepalive.isTrusted).toBe(true)
      expect(session.events.filter((event) => event === 'trust')).toHaveLength(2)
      expect(session.events).not.toContain('dead')
    })

    it.each([
      ['the caller has set pingInterval', { ...UNSAID, pingInterval: 60_000 }],
      ['the caller has turned PINGs off', { ...UNSAID, pingInterval: 0 }],
      ['the caller has set no end for PINGs', { ...UNSAID, pingTimeout: 0 }],
    ])('sends none when %s', (_name, options) => {
      const { clock, session } = setUpSilent(options)
      clock.advance(59 * SECOND)
      expect(session.asked).toBe(0)
    })

    it('sends none to a peer that has complained of PINGs, nor to one that may be a gRPC server and has sent nothing', () => {
      const shy = setUpSilent()
      shy.memory.onTooManyPings()
      const unknown = setUp(UNSAID)
      unknown.open()
      for (const { clock, session } of [shy, unknown]) {
        clock.advance(59 * SECOND)
        expect(session.asked).toBe(0)
      }
    })

    it('sends one to a gRPC server after HEADERS or DATA, and no further one before the next', () => {
      const { clock, memory, pings, session, open } = setUp(UNSAID)
      memory.onResponse('application/grpc')
      pings.onNews()
      open()
      clock.advance(3 * SECOND)
      expect(session.asked).toBe(1)
      session.ack()
      clock.advance(HOUR / 15)
      expect(session.asked).toBe(1)
    })
  })
})
