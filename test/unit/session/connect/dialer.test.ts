import { once } from 'node:events'
import type { Socket } from 'node:net'
import { connect as connectSocket } from 'node:net'
import { setImmediate as nextTurn } from 'node:timers/promises'
import type { TLSSocket } from 'node:tls'
import { describe, expect, it } from 'vitest'
import { ConnectTimeoutError } from '../../../../src/errors/errors.ts'
import { Dial } from '../../../../src/session/connect/dial.ts'
import { Dialer } from '../../../../src/session/connect/dialer.ts'
import { openSocket } from '../../../../src/session/connect/socket.ts'
import { PairedDuplex } from '../../../../src/testing/duplex-pair.ts'
import type { Connector, ConnectorCallback } from '../../../../types/index.ts'
import { FakeClock } from '../../../support/clocks/fake-clock.ts'
import { NotedResults, openPlain, startSilent, startTls, toTarget } from './connect-scene.ts'

const BOTH = ['h2', 'http/1.1']

/** A dialer of 1,000 ms, and the result of its dial. */
function toScene(connect: ConstructorParameters<typeof Dialer>[0]['connect'], connectTimeout = 1_000) {
  const clock = new FakeClock()
  const dialer = new Dialer({ connect, connectTimeout, socketPath: null }, clock)
  return { clock, dialer, results: new NotedResults() }
}

/** A connect function that leaves its callbacks to the test. */
function toPatientConnector() {
  const callbacks: ConnectorCallback[] = []
  const connect: Connector = (_options, callback) => void callbacks.push(callback)
  return { connect, give: (socket: Socket) => callbacks[0]?.(null, socket) }
}

describe('a dialer with options', () => {
  it('connects by TLS, offers the ALPN protocols of its target, and stops the alarm', async () => {
    const { port, ca } = await startTls({ ALPNProtocols: ['http/1.1'] })
    const { clock, dialer, results } = toScene({ ca })
    dialer.dial(toTarget(port, BOTH), results)
    expect(clock.alarms).toBe(1)
    await results.settled
    expect(results.causes).toEqual([])
    expect(results.sockets[0]).toMatchObject({ alpnProtocol: 'http/1.1', encrypted: true, destroyed: false })
    expect(clock.alarms).toBe(0)
  })

  it('connects without TLS for an http: target, whatever is offered', async () => {
    const { port } = await startSilent()
    const { dialer, results } = toScene({})
    dialer.dial(toTarget(port, BOTH, 'http:'), results)
    await results.settled
    expect(results.causes).toEqual([])
    expect(results.sockets[0]).not.toHaveProperty('encrypted')
  })

  it('tells the listener about a socket that begins to connect', async () => {
    const { port } = await startSilent()
    const { dialer, results } = toScene({})
    const begun: boolean[] = []
    const onConnecting = (socket: Socket) => void begun.push(socket.connecting)
    dialer.dial(toTarget(port, BOTH, 'http:'), Object.assign(results, { onConnecting }))
    expect(begun).toEqual([true])
    await results.settled
  })

  it('when Node throws at once, fails a tick later, once', async () => {
    const { clock, dialer, results } = toScene({ ca: 'no PEM' })
    dialer.dial(toTarget(1, BOTH), results)
    expect(results.causes).toEqual([])
    await results.settled
    expect(results.causes).toEqual([expect.any(Error)])
    clock.advance(1_000)
    expect(results.causes).toHaveLength(1)
  })

  it('when the listener refuses the socket, fails with its error and destroys the socket', async () => {
    const { port, ca, allClosed } = await startTls()
    const { clock, dialer, results } = toScene({ ca })
    results.refusal = new Error('not this protocol')
    dialer.dial(toTarget(port, BOTH), results)
    await results.settled
    expect([results.sockets, results.causes]).toEqual([[], [results.refusal]])
    expect(clock.alarms).toBe(0)
    await allClosed()
  })

  it('when an earlier listener destroys the socket, fails with that error', async () => {
    const { port, ca } = await startTls()
    const { dialer, results } = toScene({ ca })
    const pinned = new Error('another key')
    let socket: Socket | null = null
    const target = toTarget(port, BOTH)
    dialer.dial(
      target,
      Object.assign(results, {
        onConnecting: (made: Socket) => {
          socket = made.prependListener('secureConnect', () => made.destroy(pinned))
        },
      }),
    )
    await results.settled
    expect([results.sockets, results.causes]).toEqual([[], [pinned]])
    expect(socket).toMatchObject({ destroyed: true })
  })

  describe('when the TLS handshake does not finish', () => {
    it('when the alarm rings, destroys the socket, and has no second result', async () => {
      const { port, arrived, allClosed } = await startSilent()
      const { clock, dialer, results } = toScene({})
      const dial = dialer.dial(toTarget(port, BOTH), results)
      await arrived()
      clock.advance(999)
      expect(results.causes).toEqual([])
      clock.advance(1)
      expect(results.causes).toEqual([expect.any(ConnectTimeoutError)])
      expect(results.causes[0]).toMatchObject({
        message: `Could not connect to localhost:${port} within connectTimeout (1000 ms)`,
      })
      await allClosed()
      clock.advance(10_000)
      dial.cancel()
      expect(clock.made).toBe(1)
      expect(results.causes).toHaveLength(1)
    })

    describe('and the process comes late to the alarm', () => {
      async function startLate(lateness: number) {
        const { port, arrived, allClosed } = await startSilent()
        const { clock, dialer, results } = toScene({})
        const dial = dialer.dial(toTarget(port, BOTH), results)
        await arrived()
        clock.skip(1_000 + lateness)
        clock.advance(0)
        return { clock, results, dial, allClosed }
      }

      it.each([
        { lateness: 300, extension: 300 },
        { lateness: 0.2, extension: 1 },
        { lateness: 60_000, extension: 1_000 },
      ])('by $lateness ms, has $extension ms more, once', async ({ lateness, extension }) => {
        const { clock, results, allClosed } = await startLate(lateness)
        clock.advance(extension - 1)
        expect(results.causes).toEqual([])
        clock.skip(500)
        clock.advance(1)
        expect(results.causes).toEqual([expect.any(ConnectTimeoutError)])
        await allClosed()
        expect([clock.made, clock.alarms]).toEqual([2, 0])
      })

      it('and is cancelled then, destroys the socket without a result', async () => {
        const { clock, results, dial, allClosed } = await startLate(300)
        dial.cancel()
        expect(clock.alarms).toBe(0)
        await allClosed()
        expect(results.causes).toEqual([])
      })
    })

    it('when it is cancelled, destroys the socket without a result', async () => {
      const { port, arrived, allClosed } = await startSilent()
      const { clock, dialer, results } = toScene({})
      const dial = dialer.dial(toTarget(port, BOTH), results)
      await arrived()
      dial.cancel()
      expect(clock.alarms).toBe(0)
      await allClosed()
      await nextTurn()
      expect([results.sockets, results.causes]).toEqual([[], []])
    })
  })
})

describe('a dialer with a connect function', () => {
  it('passes it the protocols on offer, and that HTTP/2 is wanted, at once', () => {
    const asked: unknown[] = []
    const { dialer, results } = toScene((options) => void asked.push(options))
    dialer.dial(toTarget(8443, BOTH), results)
    dialer.dial(toTarget(8443, ['http/1.1']), results)
    const place = { hostname: 'localhost', host: 'localhost:8443', protocol: 'https:', port: '8443' }
    const common = { ...place, signal: expect.any(AbortSignal) }
    expect(asked).toEqual([
      { ...common, socketPath: null, ALPNProtocols: BOTH, allowH2: true },
      { ...common, socketPath: null, ALPNProtocols: ['http/1.1'], allowH2: false },
    ])
  })

  it.each(['cancelled', 'late'])('tells it when a dial that is %s needs no socket any more', (how) => {
    const signals: unknown[] = []
    const { clock, dialer, results } = toScene(({ signal }) => void signals.push(signal))
    const dial = dialer.dial(toTarget(8443, BOTH), results)
    expect(signals).toMatchObject([{ aborted: false }])
    if (how === 'cancelled') dial.cancel()
    else clock.advance(1_000)
    expect(signals).toMatchObject([{ aborted: true }])
  })

  it.each([
    'cancelled',
    'late',
  ])('when the function yields a socket after the dial is %s, destroys it, and handles its error', async (how) => {
    const { port, allClosed } = await startSilent()
    const { connect, give } = toPatientConnector()
    const { clock, dialer, results } = toScene(connect)
    const dial = dialer.dial(toTarget(port, BOTH, 'http:'), results)
    if (how === 'cancelled') dial.cancel()
    else clock.advance(1_000)
    const late = await openPlain(port)
    give(late)
    await once(late, 'close')
    // An unhandled error would be an uncaught exception, which fails the run.
    late.emit('error', new Error('reset'))
    await allClosed()
    expect(results.sockets).toEqual([])
    expect(results.causes).toEqual(how === 'cancelled' ? [] : [expect.any(ConnectTimeoutError)])
  })

  it('when the function yields a socket that is still connecting, waits for it under the same alarm', async () => {
    const { port } = await startSilent()
    const { connect, give } = toPatientConnector()
    const { clock, dialer, results } = toScene(connect)
    dialer.dial(toTarget(port, BOTH, 'http:'), results)
    const socket = connectSocket(port, '127.0.0.1')
    give(socket)
    expect(socket.connecting).toBe(true)
    await results.settled
    expect(results.sockets).toEqual([socket])
    expect(socket.connecting).toBe(false)
    expect(clock.made).toBe(1)
  })

  it('when the socket is still in its handshake as the alarm rings, destroys it', async () => {
    const { port, arrived, allClosed } = await startSilent()
    const { connect, give } = toPatientConnector()
    const { clock, dialer, results } = toScene(connect)
    dialer.dial(toTarget(port, BOTH), results)
    const where = { hostname: '127.0.0.1', port, isTls: true, socketPath: null }
    give(openSocket(where, {}, BOTH))
    await arrived()
    expect(results.causes).toEqual([])
    clock.advance(1_000)
    expect(results.causes).toEqual([expect.any(ConnectTimeoutError)])
    await allClosed()
  })

  it('without connectTimeout, keeps the process alive while the dial is needed, and no longer', () => {
    const { connect } = toPatientConnector()
    const { clock, dialer, results } = toScene(connect, 0)
    const dial = dialer.dial(toTarget(1, BOTH), results)
    expect(clock.alarms).toBe(0)
    dial.setRef(true)
    expect(clock.alarms).toBe(1)
    dial.cancel()
    expect(clock.alarms).toBe(0)
  })
})

describe('a dial over an open connection', () => {
  it.each(['socket', 'stream'])('that is a %s, starts TLS on it with the offered protocols', async (kind) => {
    const { port, ca } = await startTls({ ALPNProtocols: ['h2'] })
    const plain = await openPlain(port)
    const [near, far] = PairedDuplex.toPair()
    const over = kind === 'socket' ? plain : near
    if (over === near) plain.pipe(far).pipe(plain)
    const results = new NotedResults()
    const clock = new FakeClock()
    const where = { hostname: 'localhost', port: 443, isTls: true, socketPath: null, over }
    new Dial('localhost', 1_000, clock, results).connect(() => openSocket(where, { ca }, BOTH))
    await results.settled
    expect(results.causes).toEqual([])
    const [socket] = results.sockets as [TLSSocket]
    expect([socket.alpnProtocol, Reflect.get(socket, 'servername')]).toEqual(['h2', 'localhost'])
    expect(String((await once(socket, 'data'))[0])).toBe('hello')
  })

  it('to a server that sends nothing, is destroyed with that connection by the alarm', async () => {
    const { port, allClosed } = await startSilent()
    const over = await openPlain(port)
    const results = new NotedResults()
    const clock = new FakeClock()
    const where = { hostname: 'localhost', port: 443, isTls: true, socketPath: null, over }
    new Dial('localhost', 1_000, clock, results).connect(() => openSocket(where, {}, BOTH))
    clock.advance(1_000)
    expect(results.causes).toEqual([expect.any(ConnectTimeoutError)])
    await allClosed()
  })
})
