import { setImmediate as nextTurn } from 'node:timers/promises'
import { describe, expect, it } from 'vitest'
import { ConnectError, ConnectTimeoutError } from '../../../src/errors/errors.ts'
import { ProxyConnectionError, Socks5ProxyError } from '../../../src/errors/proxy-errors.ts'
import { Socks5Tunnels } from '../../../src/proxy/socks5-tunnels.ts'
import { toTunnelConnector } from '../../../src/proxy/tunnel-connector.ts'
import type { TunnelResult } from '../../../src/proxy/tunnels.ts'
import { toTunnelTarget } from '../../../src/proxy/tunnels.ts'
import { Dialer } from '../../../src/session/connect/dialer.ts'
import type { Connector } from '../../../types/index.ts'
import { FakeClock } from '../../support/clocks/fake-clock.ts'
import { NotedResults, toTarget } from '../session/connect/connect-scene.ts'
import type { ProxyEnds } from '../session/connect/proxy-scene.ts'
import { closed, openEnds, readAll, sendPieces, toConnector, toCuts } from '../session/connect/proxy-scene.ts'

const PROXY = {
  protocol: 'socks5:',
  hostname: 'proxy.test',
  port: 1080,
  href: 'socks5://proxy.test:1080',
} as const
const CREDENTIALS = { username: 'me', password: 'secret' }
const REPLY = Buffer.from('0500000100000000 0000'.replaceAll(' ', ''), 'hex')
/** All that a proxy sends which asks for credentials. */
const ALL = Buffer.concat([Buffer.of(5, 2, 1, 0), REPLY])

function toTunnels(connect: Connector, clock = new FakeClock()): Socks5Tunnels {
  return new Socks5Tunnels(PROXY, CREDENTIALS, { connect, connectTimeout: 1_000, socketPath: null }, clock)
}

interface Scene extends ProxyEnds {
  readonly results: TunnelResult[]
  readonly settled: Promise<void>
  readonly abortion: AbortController
  readonly clock: FakeClock
}

function open(): Scene {
  const ends = openEnds()
  const clock = new FakeClock()
  const abortion = new AbortController()
  const results: TunnelResult[] = []
  const settled = new Promise<void>((resolve) => {
    toTunnels(toConnector(ends), clock).open(toTunnelTarget('a.test', 443), abortion.signal, (result) => {
      results.push(result)
      resolve()
    })
  })
  return { ...ends, results, settled, abortion, clock }
}

const toError = ({ results: [result] }: Scene): Error =>
  result !== undefined && 'error' in result ? result.error : new Error('there is a tunnel')

describe('a tunnel', () => {
  it.each(['', 'SERVER'])('is open at each cut, with %j behind the reply', async (first) => {
    for (const pieces of toCuts(Buffer.concat([ALL, Buffer.from(first)]))) {
      const scene = open()
      await sendPieces(scene.proxy, pieces)
      await scene.settled
      const [result] = scene.results
      if (result === undefined || 'error' in result) throw toError(scene)
      expect(result.tunnel).toBe(scene.socket)
      scene.proxy.write('more')
      expect(await readAll(result.tunnel, first.length + 4)).toBe(`${first}more`)
      expect(scene.received().toString('latin1')).toContain('a.test')
      expect(scene.clock.alarms).toBe(0)
      scene.abortion.abort()
      expect(scene.socket.destroyed).toBe(false)
    }
  })
})

describe('a proxy that goes away', () => {
  it.each(['end', 'resetAndDestroy'] as const)('by %s(), after each byte', async (way) => {
    for (let length = 0; length < ALL.length; length++) {
      const scene = open()
      await sendPieces(scene.proxy, [ALL.subarray(0, length)])
      scene.proxy[way]()
      await scene.settled
      expect(toError(scene)).toBeInstanceOf(way === 'end' ? ProxyConnectionError : ConnectError)
      await closed(scene.socket)
      await nextTurn()
      expect(scene.results).toHaveLength(1)
    }
  })

  it('behind a refusal: the refusal is the error', async () => {
    const scene = open()
    scene.proxy.end(Buffer.of(5, 0, 5, 5))
    await scene.settled
    expect(toError(scene)).toBeInstanceOf(Socks5ProxyError)
    expect(toError(scene)).toMatchObject({ code: 'UND_ERR_SOCKS5_REPLY_5' })
    expect(scene.socket.destroyed).toBe(true)
  })

  it('is never read from without a limit', async () => {
    const scene = open()
    await sendPieces(scene.proxy, [Buffer.alloc(1_000_000, 5)])
    await scene.settled
    expect(toError(scene)).toMatchObject({ code: 'UND_ERR_SOCKS5_AUTH_METHOD' })
    expect(scene.socket.destroyed).toBe(true)
  })
})

describe('an abort', () => {
  it('after each byte closes the connection, and there is no result', async () => {
    for (let length = 0; length < ALL.length; length++) {
      const scene = open()
      await sendPieces(scene.proxy, [ALL.subarray(0, length)])
      scene.abortion.abort()
      await closed(scene.socket)
      expect(scene.results).toEqual([])
      expect(scene.clock.alarms).toBe(0)
    }
  })

  it('before the start, and while the proxy is connected to', async () => {
    const ends = openEnds()
    let isAborted = false
    const connect: Connector = ({ signal }) => {
      signal?.addEventListener('abort', () => {
        isAborted = true
      })
    }
    const results: TunnelResult[] = []
    const tunnels = toTunnels(connect)
    tunnels.open(toTunnelTarget('a.test', 443), AbortSignal.abort(), (result) => results.push(result))
    expect(isAborted).toBe(true)
    isAborted = false
    const abortion = new AbortController()
    tunnels.open(toTunnelTarget('a.test', 443), abortion.signal, (result) => results.push(result))
    abortion.abort()
    expect(isAborted).toBe(true)
    await nextTurn()
    expect(results).toEqual([])
    expect(ends.received()).toHaveLength(0)
  })
})

describe('connectTimeout', () => {
  it('covers the connection to the proxy', async () => {
    const clock = new FakeClock()
    const results: TunnelResult[] = []
    toTunnels(() => {}, clock).open(toTunnelTarget('a.test', 443), new AbortController().signal, (result) =>
      results.push(result),
    )
    clock.advance(1_000)
    await nextTurn()
    expect(results).toEqual([{ error: expect.any(ConnectTimeoutError) }])
    expect(clock.alarms).toBe(0)
  })

  it('covers a proxy that falls silent after each byte, and the TLS behind it', async () => {
    for (let length = 0; length <= ALL.length; length++) {
      const ends = openEnds()
      const clock = new FakeClock()
      const connect = toTunnelConnector(toTunnels(toConnector(ends), clock), {}, clock)
      const dialer = new Dialer({ connect, connectTimeout: 1_000, socketPath: null }, clock)
      const results = new NotedResults()
      dialer.dial(toTarget(443, ['h2']), results)
      await sendPieces(ends.proxy, [ALL.subarray(0, length)])
      expect(results.causes).toEqual([])
      clock.advance(1_000)
      await results.settled
      expect(results.causes).toEqual([expect.any(ConnectTimeoutError)])
      await closed(ends.socket)
      expect(clock.alarms).toBe(0)
    }
  })
})
