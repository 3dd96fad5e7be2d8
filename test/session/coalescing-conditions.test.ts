import { X509Certificate } from 'node:crypto'
import { once } from 'node:events'
import { connect, createServer } from 'node:net'
import { join } from 'node:path'
import type { PeerCertificate } from 'node:tls'
import { describe, expect, it, onTestFinished } from 'vitest'
import { EnvHttpProxyAgent, ProxyAgent } from '../../src/index.ts'
import type { ConnectTlsOptions } from '../../types/index.ts'
import { askAgent, destroyWithTest, toAgent } from '../support/clients/agents.ts'
import { ENGINES } from '../support/clients/engines.ts'
import { makeFolder } from '../support/servers/server-process.ts'
import { startNames, toNamesLookup } from '../support/servers/shared-names.ts'
import { startTunnelProxy } from '../support/servers/tunnel-proxy.ts'

/** Conditions that the table of coalescing.test.ts can't break by an option. */

const NAMES = Array.from({ length: 20 }, (_, i) => `o${i}.a.test`)
const [FIRST = '', SECOND = ''] = NAMES
const HERE = toNamesLookup({ '*': ['127.0.0.1'] })

describe.each(ENGINES)('origins that must not share, on engine %s', (engine) => {
  const toShared = (connectOptions: ConnectTlsOptions) =>
    toAgent({ coalesce: true, engine, connect: { lookup: HERE, ...connectOptions } })

  it('have one each in two Agents with the same options', async () => {
    const server = await startNames({ names: NAMES })
    const agents = [toShared({ ca: server.ca }), toShared({ ca: server.ca })]
    for (const name of NAMES) for (const agent of agents) await askAgent(agent, server.toOrigin(name))
    expect(server.sessions).toHaveLength(2)
  })

  it('have 20 connections over a Unix socket', async () => {
    const server = await startNames({ names: NAMES })
    const socketPath = join(await makeFolder('shared'), 'socket')
    const relay = createServer((socket) => {
      const onward = connect(server.port, '127.0.0.1')
      socket.on('error', () => onward.destroy()).pipe(onward)
      onward.on('error', () => socket.destroy()).pipe(socket)
    })
    relay.listen(socketPath)
    await once(relay, 'listening')
    onTestFinished(() => void relay.close())
    const agent = toAgent({ coalesce: true, engine, socketPath, connect: { ca: server.ca } })
    for (const name of NAMES) await askAgent(agent, server.toOrigin(name))
    expect(server.sessions).toHaveLength(20)
    await agent.destroy()
  })

  it('fail with a certificate that another authority has issued, though it has their name', async () => {
    const server = await startNames({ names: NAMES, hasOneEach: true })
    const agent = toShared({ ca: server.cas.slice(0, 1) })
    await askAgent(agent, server.toOrigin(FIRST))
    const failed = askAgent(agent, server.toOrigin(SECOND))
    await expect(failed).rejects.toMatchObject({ code: 'DEPTH_ZERO_SELF_SIGNED_CERT' })
    await askAgent(agent, server.toOrigin(FIRST))
    expect(server.seen.map(({ connection }) => connection)).toEqual([0, 0])
  })

  it.each([
    { what: 'all of them', pinned: NAMES, connections: 1 },
    { what: 'one of them', pinned: [FIRST], connections: 1 },
    { what: 'none of them', pinned: [], connections: 0 },
  ])('obey pins in checkServerIdentity that fit $what', async ({ pinned, connections }) => {
    const server = await startNames({ names: NAMES })
    const pin = new X509Certificate(server.ca).fingerprint256
    const checkServerIdentity = (host: string, { fingerprint256 }: PeerCertificate) =>
      pinned.includes(host) && fingerprint256 === pin ? undefined : new Error(`${host} is pinned otherwise`)
    const agent = toShared({ ca: server.ca, checkServerIdentity })
    const outcomes: boolean[] = []
    for (const name of NAMES) {
      const asked = askAgent(agent, server.toOrigin(name))
      outcomes.push(
        await asked.then(
          () => true,
          () => false,
        ),
      )
    }
    expect(outcomes).toEqual(NAMES.map((name) => pinned.includes(name)))
    expect(new Set(server.seen.map(({ connection }) => connection)).size).toBe(connections)
  })

  it.each([
    'HTTP/1.1',
    'HTTP/2',
    'SOCKS5',
  ] as const)('have a tunnel each through a proxy: %s', async (kind) => {
    const server = await startNames({ names: NAMES })
    const proxy = await startTunnelProxy(kind)
    const agent = destroyWithTest(
      new ProxyAgent({
        ...{ uri: proxy.uri, coalesce: true, engine, fallback: null },
        ...{ requestTls: { ca: server.ca }, proxyTls: { ca: proxy.ca } },
      }),
    )
    const names = NAMES.slice(0, 3)
    for (const name of names) {
      const { body } = await agent.request({ origin: server.toOrigin(name), path: '/', method: 'GET' })
      await body.text()
    }
    expect([proxy.asked.length, server.sessions.length]).toEqual([3, 3])
  })

  it('share where NO_PROXY leads past the proxy', async () => {
    const server = await startNames({ names: NAMES })
    const agent = destroyWithTest(
      new EnvHttpProxyAgent({
        ...{ httpsProxy: 'http://127.0.0.1:1', noProxy: '.a.test', coalesce: true, engine, fallback: null },
        connect: { ca: server.ca, lookup: HERE },
      }),
    )
    for (const name of NAMES) {
      const { body } = await agent.request({ origin: server.toOrigin(name), path: '/', method: 'GET' })
      await body.text()
    }
    expect(server.sessions).toHaveLength(1)
  })

  it('share from the ORIGIN frame on that lists them', async () => {
    const server = await startNames({ names: NAMES, origins: [] })
    const [, , third = '', fourth = ''] = NAMES
    const agent = toAgent({
      ...{ coalesce: { origins: 'origin-frame' }, engine },
      connect: { lookup: HERE, ca: server.ca },
    })
    await askAgent(agent, server.toOrigin(FIRST))
    await askAgent(agent, server.toOrigin(SECOND))
    server.sessions[0]?.origin(server.toOrigin(third), server.toOrigin(fourth))
    // A response behind the frame: it was read.
    await askAgent(agent, server.toOrigin(FIRST))
    await askAgent(agent, server.toOrigin(third))
    await askAgent(agent, server.toOrigin(fourth))
    expect(server.seen.map(({ connection }) => connection)).toEqual([0, 1, 0, 0, 0])
  })
})
