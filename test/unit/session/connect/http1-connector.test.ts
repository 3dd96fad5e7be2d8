import { once } from 'node:events'
import type { Socket } from 'node:net'
import { connect as connectSocket } from 'node:net'
import { setImmediate as nextTurn } from 'node:timers/promises'
import { connect as connectTls } from 'node:tls'
import { describe, expect, it } from 'vitest'
import { AlpnError, ConnectTimeoutError, InvalidArgumentError } from '../../../../src/errors/errors.ts'
import { toHttp1Connector } from '../../../../src/session/connect/http1-connector.ts'
import type { Connector, ConnectTlsOptions } from '../../../../types/index.ts'
import { FakeClock } from '../../../support/clocks/fake-clock.ts'
import { openPlain, startSilent, startTls } from './connect-scene.ts'

/** Requests one connection, as undici does, and records each result: there may be one. */
function ask(connect: Connector | ConnectTlsOptions, port: number, protocol = 'https:') {
  const clock = new FakeClock()
  const connector = toHttp1Connector({ connect, connectTimeout: 1_000, socketPath: null }, clock)
  const results: { error: Error | null; socket: Socket | null | undefined }[] = []
  const settled = new Promise<void>((resolve) => {
    const asked = { hostname: 'localhost', host: `localhost:${port}`, protocol, port: String(port) }
    void connector(asked, (error, socket) => {
      results.push({ error, socket })
      resolve()
    })
  })
  return { clock, results, settled }
}

describe('the connector of HTTP/1.1', () => {
  it('connects by TLS, offers HTTP/1.1 alone, and stops the alarm', async () => {
    const { port, ca } = await startTls({ ALPNProtocols: ['h2', 'http/1.1'] })
    const { clock, results, settled } = ask({ ca }, port)
    await settled
    const [{ error, socket } = { error: null, socket: null }] = results
    expect(error).toBe(null)
    expect(socket).toMatchObject({ alpnProtocol: 'http/1.1' })
    expect(clock.alarms).toBe(0)
    socket?.destroy()
  })
})

describe('the connector of HTTP/1.1 with a connect function', () => {
  it.each([
    'calls back',
    'returns a promise',
  ])('that %s too late, destroys the socket and handles its error', async (how) => {
    const { port, allClosed } = await startSilent()
    let give: (socket: Socket) => unknown = () => {}
    const connect: Connector = (_options, callback) => {
      if (how === 'calls back') give = (socket) => callback(null, socket)
      else
        return new Promise((resolve) => {
          give = resolve
        })
      return undefined
    }
    const { clock, results } = ask(connect, port, 'http:')
    clock.advance(1_000)
    const late = await openPlain(port)
    give(late)
    await once(late, 'close')
    // An unhandled error would be an uncaught exception, which fails the run.
    late.emit('error', new Error('reset'))
    await allClosed()
    expect(results).toEqual([{ error: expect.any(ConnectTimeoutError), socket: null }])
    expect(results[0]?.error?.message).toContain(`Could not connect to localhost:${port} within`)
  })

  it('that calls back and returns a promise of the same socket, keeps the socket', async () => {
    const { port } = await startSilent()
    const given = await openPlain(port)
    const connect: Connector = async (_options, callback) => {
      callback(null, given)
      return given
    }
    const { results, settled } = ask(connect, port, 'http:')
    await settled
    await nextTurn()
    expect(results).toEqual([{ error: null, socket: given }])
    expect(given.destroyed).toBe(false)
  })

  it('that yields a socket in its handshake, refuses the socket once it has chosen HTTP/2', async () => {
    const { port, ca, allClosed } = await startTls({ ALPNProtocols: ['h2'] })
    const offered = { port, host: '127.0.0.1', servername: 'localhost', ca, ALPNProtocols: ['h2'] }
    const { results, settled } = ask(async () => connectTls(offered), port)
    await settled
    expect(results).toEqual([{ error: expect.any(AlpnError), socket: null }])
    expect(results[0]?.error).toMatchObject({ alpnProtocol: 'h2' })
    await allClosed()
  })

  it('that yields no socket, or a destroyed one, fails', async () => {
    const destroyed = connectSocket(1, '127.0.0.1').on('error', () => {})
    destroyed.destroy()
    for (const value of ['socket' as unknown as Socket, destroyed]) {
      const { results, settled } = ask((_options, callback) => callback(null, value), 1)
      await settled
      expect(results).toEqual([{ error: expect.any(InvalidArgumentError), socket: null }])
    }
  })

  it('that yields an object that only resembles a socket, fails with the error of its setNoDelay()', async () => {
    const { port } = await startSilent()
    const odd = Object.assign(await openPlain(port), {
      setNoDelay: () => {
        throw new Error('no such call')
      },
    })
    const { results, settled } = ask((_options, callback) => callback(null, odd), port, 'http:')
    await settled
    expect(results).toEqual([{ error: expect.objectContaining({ message: 'no such call' }), socket: null }])
    expect(odd.destroyed).toBe(true)
  })
})
