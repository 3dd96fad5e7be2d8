import type { Http2Server } from 'node:http2'
import type { AddressInfo, LookupFunction } from 'node:net'
import { connect as connectSocket } from 'node:net'
import { describe, expect, it } from 'vitest'
import { Agent, Client, errors } from '../../src/index.ts'
import type { ClientOptions, ConnectorOptions } from '../../types/index.ts'
import { destroyWithTest } from '../support/clients/agents.ts'
import { ENGINES } from '../support/clients/engines.ts'
import { startHttp1 } from '../support/servers/fallback-http1.ts'
import { findFreePort } from '../support/servers/free-port.ts'
import { startServer } from '../support/servers/server.ts'

/** A server that tells its client where it has come from. */
async function startEcho(tls: boolean): Promise<{ origin: string; ca: string; server: Http2Server }> {
  return await startServer(
    (stream) => {
      const { remoteAddress, remotePort } = stream.session?.socket ?? {}
      stream.respond({ ':status': 200 })
      stream.end(`${remoteAddress} ${remotePort}`)
    },
    { tls },
  )
}

/** A name with addresses of both families, as a resolver tells them: all, the first, or those of a family. */
const lookup: LookupFunction = (_hostname, { all, family }, callback) => {
  const addresses = [
    { address: '::1', family: 6 },
    { address: '127.0.0.1', family: 4 },
  ].filter((each) => !family || each.family === family)
  if (all === true) callback(null, addresses)
  else callback(null, addresses[0]?.address ?? '', addresses[0]?.family)
}

async function ask(origin: string, options: ClientOptions): Promise<string[]> {
  const client = destroyWithTest(new Client(origin, options))
  const { body } = await client.request({ path: '/', method: 'GET' })
  return (await body.text()).split(' ')
}

describe.each(ENGINES)('localAddress, with engine %s', (engine) => {
  describe.each([false, true])('with TLS: %s', (tls) => {
    it.each([
      { where: 'of connect', given: { connect: { localAddress: '127.0.0.2' } } },
      { where: 'at the top level', given: { localAddress: '127.0.0.2' } },
      {
        where: 'of both, that of connect wins',
        given: { localAddress: '127.0.0.3', connect: { localAddress: '127.0.0.2' } },
      },
    ])('$where › is the address that the server sees', async ({ given }) => {
      const { origin, ca } = await startEcho(tls)
      const connect = { ca, ...given.connect }
      expect((await ask(origin, { engine, ...given, connect }))[0]).toBe('127.0.0.2')
    })

    it('when the first address of the name is of the other family › an address of its own is used', async () => {
      const { origin, ca, server } = await startEcho(tls)
      const { port } = server.address() as AddressInfo
      const named = `${origin.split(':')[0]}://localhost:${port}`
      const connect = { ca, lookup, localAddress: '127.0.0.2' }
      expect((await ask(named, { engine, connect }))[0]).toBe('127.0.0.2')
    })
  })

  it('with a localPort › is what the server sees', async () => {
    const { origin } = await startEcho(false)
    const localPort = await findFreePort()
    const connect = { localAddress: '127.0.0.1', localPort }
    expect(await ask(origin, { engine, connect })).toEqual(['127.0.0.1', String(localPort)])
  })

  it.each([
    // TEST-NET-1 (RFC 5737): no machine has it.
    { what: 'is none of this machine', localAddress: '192.0.2.1', code: 'EADDRNOTAVAIL' },
    { what: 'is of another family than the host', localAddress: '::1', code: 'EINVAL' },
  ])('when it $what › fails at once, and names the option', async ({ localAddress, code }) => {
    const { origin } = await startEcho(false)
    const error = await ask(origin, { engine, localAddress }).catch((thrown: unknown) => thrown)
    expect(error).toBeInstanceOf(errors.ConnectError)
    expect(error).toMatchObject({
      code,
      processed: 'no',
      message: `Could not connect to ${origin}: bind ${code} ${localAddress} (check localAddress and localPort)`,
    })
  })

  it('at the top level › is passed to a connect function', async () => {
    const { origin } = await startEcho(false)
    const asked: ConnectorOptions[] = []
    const connect: ClientOptions['connect'] = (options, callback) => {
      asked.push(options)
      const { hostname, port, localAddress } = options
      const socket = connectSocket({
        ...{ host: hostname, port: Number(port) },
        ...(localAddress ? { localAddress } : {}),
      })
      socket.once('connect', () => callback(null, socket))
    }
    expect((await ask(origin, { engine, connect, localAddress: '127.0.0.2' }))[0]).toBe('127.0.0.2')
    expect(asked).toMatchObject([{ localAddress: '127.0.0.2' }])
  })
})

describe('localAddress of an Agent', () => {
  it.each([
    { where: 'at the top level', given: { localAddress: '127.0.0.2' } },
    { where: 'of connect', given: { connect: { localAddress: '127.0.0.2' } } },
  ])('$where › is the address of HTTP/2 and of the fallback', async ({ given }) => {
    const remotes: unknown[] = []
    const { origin, ca, server } = await startHttp1()
    server.on('connection', (socket) => remotes.push(socket.remoteAddress))
    const agent = destroyWithTest(new Agent({ ...given, connect: { ca, ...given.connect } }))
    const options = { origin, path: '/', method: 'GET' }
    for (const { body } of await Promise.all([agent.request(options), agent.request(options)]))
      await body.dump()
    // That of the connection that found HTTP/1.1, and serves the first request, and that of the fallback.
    expect(remotes).toEqual(['127.0.0.2', '127.0.0.2'])
  })
})

describe('autoSelectFamily', () => {
  it.each([
    { where: 'at the top level', given: { autoSelectFamily: false }, expected: [undefined] },
    { where: 'by default', given: {}, expected: [true] },
    { where: 'of connect', given: { connect: { autoSelectFamily: false } }, expected: [undefined] },
  ])('$where › decides whether all addresses are looked up', async ({ given, expected }) => {
    const { server } = await startEcho(false)
    const all: unknown[] = []
    const seen: LookupFunction = (hostname, options, callback) => {
      all.push(options.all || undefined)
      lookup(hostname, { ...options, family: 4 }, callback)
    }
    const { port } = server.address() as AddressInfo
    await ask(`http://localhost:${port}`, { ...given, connect: { lookup: seen, ...given.connect } })
    expect(all).toEqual(expected)
  })

  it.each([
    { autoSelectFamily: 'yes' },
    { autoSelectFamilyAttemptTimeout: 0 },
    { autoSelectFamilyAttemptTimeout: 1.5 },
    { localAddress: 'localhost' },
    { localAddress: 127 },
  ])('%o › is refused, by its name', (given) => {
    const [name] = Object.keys(given)
    expect(() => Reflect.construct(Client, ['http://localhost', given])).toThrow(`Invalid ${name}`)
  })
})
