import { once } from 'node:events'
import type { Socket } from 'node:net'
import type { SecureContext } from 'node:tls'
import { createSecureContext, TLSSocket } from 'node:tls'
import { describe, expect, it, onTestFinished } from 'vitest'
import { systemClock } from '../../../src/core/clock.ts'
import { ProxyConnectionError } from '../../../src/errors/proxy-errors.ts'
import { toTunnelConnector } from '../../../src/proxy/tunnel-connector.ts'
import type { TunnelResult, Tunnels, TunnelTarget } from '../../../src/proxy/tunnels.ts'
import { toTunnelTarget } from '../../../src/proxy/tunnels.ts'
import type { ConnectorOptions, ConnectTlsOptions } from '../../../types/index.ts'
import { toCertificate } from '../../support/servers/server.ts'
import { openPlain, startTls } from '../session/connect/connect-scene.ts'
import type { ProxyEnds } from '../session/connect/proxy-scene.ts'
import { closed, openEnds } from '../session/connect/proxy-scene.ts'

/** Tunnels that the test opens. */
class PatientTunnels implements Tunnels {
  readonly targets: TunnelTarget[] = []
  readonly signals: AbortSignal[] = []
  give: (result: TunnelResult) => void = () => {}

  open(target: TunnelTarget, signal: AbortSignal, onResult: (result: TunnelResult) => void): void {
    this.targets.push(target)
    this.signals.push(signal)
    this.give = onResult
  }
}

const ASKED = { hostname: 'localhost', host: 'localhost:8443', protocol: 'https:', port: '8443' } as const

function toScene(requestTls: ConnectTlsOptions = {}) {
  const tunnels = new PatientTunnels()
  const connector = toTunnelConnector(tunnels, requestTls, systemClock)
  const ask = (more: Partial<ConnectorOptions> = {}): Promise<Socket> =>
    new Promise((resolve, reject) => {
      void connector({ ...ASKED, ...more }, (error, socket) => {
        if (socket) {
          socket.on('error', () => {})
          onTestFinished(() => void socket.destroy())
          resolve(socket)
        } else reject(error)
      })
    })
  return { tunnels, ask }
}

/** A TLS server at the far end of a tunnel. */
async function serve({ proxy }: ProxyEnds): Promise<{ tls: TLSSocket; ca: string }> {
  const { private: key, cert } = await toCertificate()
  proxy.removeAllListeners('data')
  const tls = new TLSSocket(proxy, {
    isServer: true,
    key,
    cert,
    ALPNProtocols: ['h2', 'http/1.1'],
  })
  tls.on('error', () => {})
  return { tls, ca: cert }
}

describe('the target', () => {
  it.each<[Partial<ConnectorOptions>, string]>([
    [{}, 'localhost:8443'],
    [{ port: '' }, 'localhost:443'],
    [{ port: '', protocol: 'http:' }, 'localhost:80'],
    [{ hostname: '::1', host: '[::1]:8443' }, '[::1]:8443'],
  ])('of %j', (asked, authority) => {
    const { tunnels, ask } = toScene()
    ask(asked).catch(() => {})
    expect(tunnels.targets).toHaveLength(1)
    expect(tunnels.targets[0]?.authority).toBe(authority)
  })

  it('has no brackets in its hostname', () => {
    expect(toTunnelTarget('::1', 1)).toEqual({ hostname: '::1', port: 1, authority: '[::1]:1' })
  })
})

describe('a tunnel', () => {
  it('to an http: origin is the socket', async () => {
    const { tunnels, ask } = toScene()
    const ends = openEnds()
    const asked = ask({ protocol: 'http:' })
    tunnels.give({ tunnel: ends.socket })
    expect(await asked).toBe(ends.socket)
  })

  it('that was refused fails with the error', async () => {
    const { tunnels, ask } = toScene()
    const asked = ask()
    const error = new ProxyConnectionError()
    tunnels.give({ error })
    await expect(asked).rejects.toBe(error)
  })

  it('to an https: origin has TLS with its ALPN and its server name', async () => {
    const ends = openEnds()
    const { tls, ca } = await serve(ends)
    const { tunnels, ask } = toScene({ ca })
    const asked = ask({ ALPNProtocols: ['h2', 'http/1.1'] })
    tunnels.give({ tunnel: ends.socket })
    const socket = (await asked) as TLSSocket
    await once(socket, 'secureConnect')
    expect(socket.alpnProtocol).toBe('h2')
    expect(socket.authorized).toBe(true)
    expect(Reflect.get(tls, 'servername')).toBe('localhost')
    socket.destroy()
    await closed(ends.socket)
  })

  it.each<[string, Partial<ConnectorOptions>, ConnectTlsOptions, string]>([
    ['of the options', {}, { servername: 'one.test' }, 'one.test'],
    ['of the request', { servername: 'two.test' }, { servername: 'one.test' }, 'two.test'],
    ['of the host', { servername: 'localhost' }, { servername: 'one.test' }, 'one.test'],
  ])('takes the server name %s', async (_name, asked, requestTls, expected) => {
    const ends = openEnds()
    const { tls } = await serve(ends)
    const { tunnels, ask } = toScene({ rejectUnauthorized: false, ...requestTls })
    const asking = ask(asked)
    tunnels.give({ tunnel: ends.socket })
    await once(await asking, 'secureConnect')
    expect(Reflect.get(tls, 'servername')).toBe(expected)
  })

  it('is closed where TLS cannot begin', async () => {
    const ends = openEnds()
    const { tunnels, ask } = toScene({ ca: 'no certificate', minVersion: 'x' as never })
    const asked = ask()
    tunnels.give({ tunnel: ends.socket })
    await expect(asked).rejects.toBeInstanceOf(Error)
    await closed(ends.socket)
  })

  it('whose TLS is not trusted is closed', async () => {
    const ends = openEnds()
    await serve(ends)
    const { tunnels, ask } = toScene()
    const asked = ask()
    tunnels.give({ tunnel: ends.socket })
    const [error] = await once(await asked, 'error')
    expect(error).toMatchObject({ code: 'DEPTH_ZERO_SELF_SIGNED_CERT' })
    await closed(ends.socket)
  })

  it.each([
    'end',
    'destroy',
    'resetAndDestroy',
  ] as const)('that the proxy leaves by %s() in the handshake', async (way) => {
    const ends = openEnds()
    const { tunnels, ask } = toScene()
    const asked = ask()
    tunnels.give({ tunnel: ends.socket })
    const socket = await asked
    ends.proxy[way]()
    await closed(socket)
    await closed(ends.socket)
  })
})

describe('TLS tickets', () => {
  /** One connection after the other; whether each was resumed. */
  async function play(requestTls: ConnectTlsOptions, asks: Partial<ConnectorOptions>[]): Promise<boolean[]> {
    const { port, ca } = await startTls({ ALPNProtocols: ['h2', 'http/1.1'] })
    const { tunnels, ask } = toScene({ ca, ...requestTls })
    const resumed: boolean[] = []
    for (const asked of asks) {
      const tunnel = await openPlain(port)
      const asking = ask(asked)
      tunnels.give({ tunnel })
      const socket = (await asking) as TLSSocket
      const ticket = new Promise((resolve) => socket.once('session', resolve))
      await once(socket.resume(), 'secureConnect')
      resumed.push(socket.isSessionReused())
      // A resumed session brings no further ticket.
      if (!socket.isSessionReused()) await ticket
      socket.destroy()
    }
    return resumed
  }

  it('are kept by origin, ALPN and server name', async () => {
    const asks = [{}, {}, { ALPNProtocols: ['h2'] }, { port: '1' }, { hostname: '127.0.0.1' }, {}]
    expect(await play({}, asks)).toEqual([false, true, false, false, false, true])
  })

  it('of one client certificate are not used with another', async () => {
    const { cert: ca } = await toCertificate()
    const [one, two] = [createSecureContext({ ca }), createSecureContext({ ca })]
    const contexts = [one, one, two, two]
    const secureContext = (): SecureContext => contexts.shift() as SecureContext
    expect(await play({ secureContext }, [{}, {}, {}, {}])).toEqual([false, true, false, true])
    expect(contexts).toEqual([])
  })
})

describe('ref() and unref()', () => {
  it('reach the tunnel, which has a handle', async () => {
    const ends = openEnds()
    await serve(ends)
    const { tunnels, ask } = toScene()
    const calls: string[] = []
    const tunnel = Object.assign(ends.socket, {
      ref: () => calls.push('ref'),
      unref: () => calls.push('unref'),
    })
    const asked = ask()
    tunnels.give({ tunnel: tunnel as never })
    const socket = await asked
    expect(socket.ref()).toBe(socket)
    expect(socket.unref()).toBe(socket)
    expect(calls).toEqual(['ref', 'unref'])
  })
})
