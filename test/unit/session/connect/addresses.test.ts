import type { LookupAddress } from 'node:dns'
import type { LookupFunction, Socket } from 'node:net'
import {
  createServer,
  getDefaultAutoSelectFamilyAttemptTimeout,
  setDefaultAutoSelectFamilyAttemptTimeout,
} from 'node:net'
import { setImmediate as nextTurn } from 'node:timers/promises'
import { createServer as createTlsServer } from 'node:tls'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { ConnectTimeoutError } from '../../../../src/errors/errors.ts'
import { Dialer } from '../../../../src/session/connect/dialer.ts'
import { FakeClock } from '../../../support/clocks/fake-clock.ts'
import { findFreePort } from '../../../support/servers/free-port.ts'
import { listen } from '../../../support/servers/listen.ts'
import { toCertificate } from '../../../support/servers/server.ts'
import { NotedResults, toTarget } from './connect-scene.ts'

/** Node's own patience with an address, by a clock that isn't the test's: a busy machine may need more than 250 ms to accept. */
const nodesPatience = getDefaultAutoSelectFamilyAttemptTimeout()
beforeAll(() => setDefaultAutoSelectFamilyAttemptTimeout(60_000))
afterAll(() => setDefaultAutoSelectFamilyAttemptTimeout(nodesPatience))

const ADDRESSES = { IPv6: { address: '::1', family: 6 }, IPv4: { address: '127.0.0.1', family: 4 } } as const

type Family = keyof typeof ADDRESSES

/** What a server does with a connection. */
type Manner = 'serves' | 'is silent' | 'breaks when told' | 'refuses'

/** A server for one family on a port, which records its sockets. */
async function serve(family: Family, manner: Manner, port: number) {
  const { private: key, cert } = await toCertificate()
  const secure = createTlsServer({ key, cert, ALPNProtocols: ['h2'] })
  secure.on('tlsClientError', () => {})
  const server = createServer((socket) => {
    socket.on('error', () => {})
    if (manner === 'serves') secure.emit('connection', socket)
    else socket.resume()
  })
  return { ...(await listen(server, ADDRESSES[family].address, port)), ca: cert }
}

/** A name whose first address has this manner, and whose second one another. 1,000 ms to connect. */
async function start(first: [Family, Manner], second: [Family, Manner] | null, connectTimeout = 1_000) {
  const one = await serve(...first, await findFreePort())
  const other = second === null || second[1] === 'refuses' ? null : await serve(...second, one.port)
  const found: LookupAddress[] = [first, ...(second === null ? [] : [second])].map(
    ([family]) => ADDRESSES[family],
  )
  const lookup: LookupFunction = (_hostname, _options, callback) => callback(null, found)
  const clock = new FakeClock()
  const { ca } = other ?? one
  const dialer = new Dialer({ connect: { ca, lookup }, connectTimeout, socketPath: null }, clock)
  const results = new NotedResults()
  const dial = dialer.dial(toTarget(one.port, ['h2']), results)
  await expect.poll(() => one.sockets.length).toBe(1)
  return { one, other, clock, results, dial }
}

/** Neither side has an open socket. */
async function expectClosed(servers: readonly ({ sockets: readonly Socket[] } | null)[]): Promise<void> {
  await expect
    .poll(() => servers.flatMap((server) => server?.sockets ?? []).every(({ destroyed }) => destroyed))
    .toBe(true)
}

describe('a name with two addresses, of which the first accepts TCP and is silent in TLS', () => {
  it.each([
    ['IPv6', 'IPv4'],
    ['IPv4', 'IPv6'],
  ] as const)('%s, then %s › is connected to by the second after a quarter of connectTimeout', async (first, second) => {
    const { one, other, clock, results } = await start([first, 'is silent'], [second, 'serves'])
    clock.advance(249)
    expect(other?.sockets).toEqual([])
    clock.advance(1)
    await results.settled
    expect(results.causes).toEqual([])
    expect(results.sockets[0]).toMatchObject({ remoteAddress: ADDRESSES[second].address, alpnProtocol: 'h2' })
    await expectClosed([one])
    expect(clock.alarms).toBe(0)
  })

  it('and the second one, too › fails at the end of connectTimeout, and leaves no socket', async () => {
    const { one, other, clock, results } = await start(['IPv6', 'is silent'], ['IPv4', 'is silent'])
    clock.advance(250)
    await expect.poll(() => other?.sockets.length).toBe(1)
    expect(results.causes).toEqual([])
    clock.advance(750)
    await results.settled
    expect(results.causes).toEqual([expect.any(ConnectTimeoutError)])
    await expectClosed([one, other])
    expect(clock.alarms).toBe(0)
  })

  it('and the second one refuses › the first one has all of connectTimeout', async () => {
    const { one, clock, results } = await start(['IPv6', 'is silent'], ['IPv4', 'refuses'])
    clock.advance(250)
    await nextTurn()
    clock.advance(749)
    expect(results.causes).toEqual([])
    clock.advance(1)
    await results.settled
    expect(results.causes).toEqual([expect.any(ConnectTimeoutError)])
    await expectClosed([one])
  })

  it('and breaks while the second one is tried › is connected to by that', async () => {
    const { one, clock, results } = await start(['IPv6', 'breaks when told'], ['IPv4', 'serves'])
    clock.advance(250)
    one.sockets[0]?.resetAndDestroy()
    await results.settled
    expect(results.causes).toEqual([])
    expect(results.sockets[0]?.remoteAddress).toBe('127.0.0.1')
  })

  it('and the dial is cancelled › leaves no socket', async () => {
    const { one, other, clock, results, dial } = await start(['IPv6', 'is silent'], ['IPv4', 'is silent'])
    clock.advance(250)
    await expect.poll(() => other?.sockets.length).toBe(1)
    dial.cancel()
    await expectClosed([one, other])
    expect([results.sockets, results.causes]).toEqual([[], []])
    expect(clock.alarms).toBe(0)
  })

  it('and the dial is cancelled before › tries no other', async () => {
    const { one, other, clock, dial } = await start(['IPv6', 'is silent'], ['IPv4', 'serves'])
    dial.cancel()
    clock.advance(1_000)
    await expectClosed([one])
    expect(other?.sockets).toEqual([])
  })

  it('without a connectTimeout › waits for the first', async () => {
    const { other, clock, results, dial } = await start(['IPv6', 'is silent'], ['IPv4', 'serves'], 0)
    clock.advance(100_000)
    expect(other?.sockets).toEqual([])
    dial.cancel()
    expect(results.causes).toEqual([])
  })
})

describe('a name with one address that is silent in TLS', () => {
  it('is tried once', async () => {
    const { one, clock, results } = await start(['IPv6', 'is silent'], null)
    clock.advance(1_000)
    await results.settled
    expect(results.causes).toEqual([expect.any(ConnectTimeoutError)])
    await expectClosed([one])
    expect(one.sockets).toHaveLength(1)
  })
})

describe('a lookup function', () => {
  const dial = async (lookup: LookupFunction, connect: object = {}): Promise<unknown> => {
    const clock = new FakeClock()
    const dialer = new Dialer(
      { connect: { lookup, ...connect }, connectTimeout: 1_000, socketPath: null },
      clock,
    )
    const results = new NotedResults()
    dialer.dial(toTarget(9, ['h2'], 'http:'), results)
    await results.settled
    expect(results.sockets).toEqual([])
    return results.causes[0]
  }

  const results: readonly (readonly [what: string, given: unknown])[] = [
    ['an empty list', []],
    ['nothing', undefined],
    ['null', null],
    ['an empty string', ''],
    ['a list of null', [null]],
    ['a list of strings', ['127.0.0.1']],
    ['a number', 1],
  ]

  it.each(results)('that gives %s › fails the dial as a name without an address', async (_what, given) => {
    const lookup = ((_hostname, _options, callback) => callback(null, given as never)) as LookupFunction
    expect(await dial(lookup)).toMatchObject({
      code: 'ENOTFOUND',
      message: expect.stringContaining('localhost'),
    })
  })

  it.each(results)('that gives %s where one address is asked for › fails the dial', async (_what, given) => {
    const lookup = ((_hostname, _options, callback) => callback(null, given as never)) as LookupFunction
    expect(await dial(lookup, { autoSelectFamily: false })).toMatchObject({ code: 'ENOTFOUND' })
  })

  it('that gives its error › fails the dial with that', async () => {
    const error = Object.assign(new Error('no such name'), { code: 'EAI_AGAIN' })
    expect(await dial((_hostname, _options, callback) => callback(error, []))).toBe(error)
  })

  it('that gives what is no address › fails the dial with the error of Node', async () => {
    const lookup: LookupFunction = (_hostname, _options, callback) =>
      callback(null, [{ address: 'x', family: 4 }])
    expect(await dial(lookup)).toMatchObject({ code: 'ERR_INVALID_IP_ADDRESS' })
  })

  it('that throws › fails the dial with what it throws', async () => {
    const error = new Error('thrown')
    const lookup: LookupFunction = () => {
      throw error
    }
    expect(await dial(lookup)).toBe(error)
  })
})
