import { describe, expect, it } from 'vitest'
import { Agent } from '../../src/index.ts'
import { destroyWithTest } from '../support/clients/agents.ts'
import type { Protocol } from './interceptors-server.ts'
import { composeAgent, send, startWebServer, toNamedCertificate } from './interceptors-server.ts'
import { UNDICIS } from './interceptors-undicis.ts'
import { PIPELINE, toCases, toReason, WAYS } from './interceptors-ways.ts'

/** One that no resolver knows (RFC 6761 §6.2). */
const NAME = 'service.test'
const CERTIFICATE = toNamedCertificate(NAME)

describe.each<{ protocol: Protocol; version: string }>([
  { protocol: 'h2', version: '2.0' },
  { protocol: 'http/1.1', version: '1.1' },
])('the dns interceptor over $protocol', ({ protocol, version }) => {
  describe.each(toCases(UNDICIS, [...WAYS, PIPELINE]))('of $from, by $what', ({ undici, way }) => {
    it('connects to the address of its lookup, and checks the certificate for the name', async () => {
      const server = await startWebServer(
        (_exchange, reply) => send(reply, 200, {}, 'hello'),
        protocol,
        CERTIFICATE,
      )
      const asked: string[] = []
      const dns = undici.toDns((name) => {
        asked.push(name)
        return [{ address: '127.0.0.1', ttl: 60_000, family: 4 }]
      })
      const dispatcher = composeAgent(server, dns)
      const url = `https://${NAME}:${server.port}/`
      expect((await way.ask(undici, dispatcher, url)).text).toBe('hello')
      expect((await way.ask(undici, dispatcher, url)).text).toBe('hello')
      expect(asked).toEqual([NAME])
      // That of undici 6 says the name without the port.
      const authority = undici.major === 6 ? NAME : `${NAME}:${server.port}`
      const seen = server.exchanges.map((exchange) => [
        exchange.version,
        exchange.servername,
        exchange.authority,
      ])
      expect(seen).toEqual([
        [version, NAME, authority],
        [version, NAME, authority],
      ])
    })

    it('refuses a server that has no certificate for the name', async () => {
      const server = await startWebServer((_exchange, reply) => send(reply, 200, {}), protocol, CERTIFICATE)
      const dispatcher = composeAgent(
        server,
        undici.toDns(() => [{ address: '127.0.0.1', ttl: 60_000, family: 4 }]),
      )
      const call = way.ask(undici, dispatcher, `https://other.test:${server.port}/`)
      expect(await toReason(call)).toMatchObject({ message: expect.stringContaining('other.test') })
      expect(server.exchanges).toEqual([])
    })
  })
})

it.each(UNDICIS)('the dns interceptor of $name has one connection for a name', async (undici) => {
  const server = await startWebServer((_exchange, reply) => send(reply, 200, {}, 'hello'), 'h2', CERTIFICATE)
  const agent = destroyWithTest(new Agent({ connect: { ca: server.ca } }))
  const dispatcher = agent.compose(undici.toDns(() => [{ address: '127.0.0.1', ttl: 60_000, family: 4 }]))
  const origin = `https://${NAME}:${server.port}`
  for (const path of ['/1', '/2']) {
    const { body } = await dispatcher.request({ origin, path, method: 'GET' })
    await body.dump()
  }
  expect(Object.keys(agent.stats)).toEqual([`https://127.0.0.1:${server.port} ${NAME}`])
})
