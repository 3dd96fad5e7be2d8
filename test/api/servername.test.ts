/** `servername` of a request: a connection that was made for another server must not serve it. */

import type { ServerHttp2Stream } from 'node:http2'
import { createSecureServer } from 'node:http2'
import type { TLSSocket } from 'node:tls'
import { connect as connectTls } from 'node:tls'
import { describe, expect, it } from 'vitest'
import { Agent, Client, errors, Pool } from '../../src/index.ts'
import type { Connector, Dispatcher } from '../../types/index.ts'
import { destroyWithTest } from '../support/clients/agents.ts'
import { listen } from '../support/servers/listen.ts'
import { toCertificate } from '../support/servers/server.ts'

/** A server with a certificate for localhost, and the server names that clients have sent. */
async function startTls() {
  const { private: key, cert: ca } = await toCertificate()
  const names: unknown[] = []
  const server = createSecureServer({ key, cert: ca })
  server.on('secureConnection', (socket: TLSSocket) => {
    names.push(Reflect.get(socket, 'servername'))
  })
  server.on('session', (session) => session.on('error', () => {}))
  server.on('stream', (stream: ServerHttp2Stream) => {
    stream.on('error', () => {})
    stream.respond({ ':status': 200 })
    stream.end('hello')
  })
  const { port } = await listen(server)
  const connector: Connector = ({ servername = '' }, callback) => {
    const socket = connectTls({ host: '127.0.0.1', port, ca, servername, ALPNProtocols: ['h2'] })
    socket.once('secureConnect', () => callback(null, socket)).once('error', (error) => callback(error, null))
  }
  return { origin: `https://127.0.0.1:${port}`, name: `https://localhost:${port}`, names, ca, connector }
}

async function ask(dispatcher: Dispatcher, origin: string, servername: string): Promise<string> {
  const { body } = await dispatcher.request({ origin, path: '/', method: 'GET', servername })
  return body.text()
}

describe.each(['Client', 'Pool'] as const)('a %s', (kind) => {
  const make = (origin: string, options: object): Dispatcher =>
    destroyWithTest(kind === 'Client' ? new Client(origin, options) : new Pool(origin, options))

  it('refuses a servername other than that of its connections, before it connects', async () => {
    const { name, names, ca } = await startTls()
    const dispatcher = make(name, { connect: { ca } })
    const failure = ask(dispatcher, name, 'bank.example')
    await expect(failure).rejects.toBeInstanceOf(errors.InvalidArgumentError)
    await expect(failure).rejects.toThrow(
      'Invalid servername: got "bank.example", expected localhost, which this client',
    )
    expect(names).toEqual([])
  })

  it('accepts its own: the host of its origin, or that of connect', async () => {
    const { name, origin, names, ca, connector } = await startTls()
    expect(await ask(make(name, { connect: { ca } }), name, 'localhost')).toBe('hello')
    expect(await ask(make(origin, { connect: { ca, servername: 'localhost' } }), origin, 'localhost')).toBe(
      'hello',
    )
    expect(await ask(make(name, { connect: connector }), name, 'localhost')).toBe('hello')
    expect(names).toEqual(['localhost', 'localhost', 'localhost'])
  })
})

describe('an Agent', () => {
  it('has separate connections for each servername, also by a connect function', async () => {
    const { origin, names, ca, connector } = await startTls()
    for (const connect of [{ ca, servername: 'elsewhere.example' }, connector]) {
      const agent = destroyWithTest(new Agent({ connect }))
      expect(await ask(agent, origin, 'localhost')).toBe('hello')
      expect(await ask(agent, origin, 'localhost')).toBe('hello')
      await expect(ask(agent, origin, 'bank.example')).rejects.toThrow(/bank\.example/)
    }
    expect(names).toEqual(['localhost', 'localhost'])
  })

  it("refuses a servername if the factory's dispatcher has another one", async () => {
    const { origin, names, ca } = await startTls()
    const agent = destroyWithTest(
      new Agent({ factory: (url) => new Client(url, { connect: { ca, servername: 'localhost' } }) }),
    )
    await expect(ask(agent, origin, 'bank.example')).rejects.toThrow(
      /^Invalid servername: got "bank.example"/,
    )
    expect(names).toEqual([])
  })
})
