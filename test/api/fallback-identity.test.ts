import { createSecureServer } from 'node:http2'
import { connect as connectTls } from 'node:tls'
import { generate } from 'selfsigned'
import { EnvHttpProxyAgent } from 'undici'
import { describe, expect, it, onTestFinished } from 'vitest'
import { Agent, Client, errors } from '../../src/index.ts'
import { readSlots, SLOTS, writeInstallation } from '../../src/scheduler/fallback/builtin.ts'
import type { AgentOptions } from '../../types/index.ts'
import { destroyWithTest } from '../support/clients/agents.ts'
import { HTTP_1_1_REQUIRED } from '../support/peers/error-codes.ts'
import { serveHttp1Hello, startHttp1 } from '../support/servers/fallback-http1.ts'
import { listen } from '../support/servers/listen.ts'
import type { TestProxy } from '../support/servers/proxies.ts'
import { startHttp1Proxy } from '../support/servers/proxies.ts'
import { toCertificate } from '../support/servers/server.ts'

const HELLO = 'GET / over 1.1'

function toAgent(options: AgentOptions): Agent {
  return destroyWithTest(new Agent(options))
}

async function ask(agent: Agent, origin: string, more: object = {}): Promise<string> {
  const { body } = await agent.request({ origin, path: '/', method: 'GET', ...more })
  return body.text()
}

const fail = (agent: Agent, origin: string, more: object = {}): Promise<unknown> =>
  ask(agent, origin, more).catch((error: unknown) => error)

/** The dispatchers that stand in the two places for the length of a test. */
function place(dispatcher: unknown): void {
  const before = readSlots()
  Reflect.set(globalThis, SLOTS.legacy, dispatcher)
  Reflect.set(globalThis, SLOTS.native, undefined)
  onTestFinished(() => {
    Reflect.set(globalThis, SLOTS.legacy, before.legacy)
    Reflect.set(globalThis, SLOTS.native, before.native)
    writeInstallation(undefined)
  })
}

/** @returns the proxy that the environment names from now on */
async function goByProxy(): Promise<TestProxy> {
  const proxy = await startHttp1Proxy()
  const names = ['HTTP_PROXY', 'HTTPS_PROXY', 'NO_PROXY', 'http_proxy', 'https_proxy', 'no_proxy']
  const before = names.map((name) => process.env[name])
  for (const name of names) Reflect.deleteProperty(process.env, name)
  Object.assign(process.env, { HTTP_PROXY: proxy.url, HTTPS_PROXY: proxy.url })
  place(new EnvHttpProxyAgent())
  onTestFinished(() => {
    for (const [index, name] of names.entries()) {
      if (before[index] === undefined) Reflect.deleteProperty(process.env, name)
      else process.env[name] = before[index]
    }
  })
  return proxy
}

const toNamed = (name: string, ip?: string) =>
  generate([{ name: 'commonName', value: name }], {
    keyType: 'ec',
    extensions: [
      {
        name: 'subjectAltName',
        altNames: [{ type: 2, value: name }, ...(ip === undefined ? [] : [{ type: 7 as const, ip }])],
      },
    ],
  })

describe("where Node's own dispatcher has a proxy of the environment, the fallback of an Agent", () => {
  it('goes around it, as the sessions of the Agent do', async () => {
    const proxy = await goByProxy()
    const { private: key, cert } = await toNamed('inner.test')
    const server = await startHttp1(serveHttp1Hello, { key, cert })
    const agent = toAgent({ connect: { ca: cert } })
    expect(await ask(agent, server.origin, { servername: 'inner.test' })).toBe(HELLO)
    expect(await ask(agent, server.origin, { servername: 'inner.test', reset: true })).toBe(HELLO)
    expect(await ask(agent, server.origin, { servername: 'inner.test' })).toBe(HELLO)
    // The first connection has found HTTP/1.1, and was used; the second is the fallback's own.
    expect(server.handshakes.map(({ servername }) => servername)).toEqual(['inner.test', 'inner.test'])
    expect(proxy.connections()).toBe(0)
  })
})

describe('the server identity that is checked over HTTP/1.1', () => {
  it('is the address of an origin, whatever the host field says', async () => {
    const { private: key, cert } = await toNamed('elsewhere.test', '127.0.0.1')
    const server = await startHttp1(serveHttp1Hello, { key, cert })
    const agent = toAgent({ connect: { ca: cert } })
    const origin = `https://127.0.0.1:${server.port}`
    for (let i = 0; i < 2; i++)
      expect(await fail(agent, origin, { headers: { host: 'virtual.test' }, reset: true })).toBe(HELLO)
    expect(server.handshakes.map(({ servername }) => servername)).toEqual([false, false])
  })

  it("is a request's own servername, also where that is the origin's host, and connect has another", async () => {
    const server = await startHttp1()
    const agent = toAgent({ connect: { ca: server.ca, servername: 'another.test' } })
    expect(await fail(agent, server.origin, { servername: 'localhost' })).toBe(HELLO)
  })
})

describe('a connect function that offers both protocols', () => {
  it('is not used for HTTP/2 by the fallback', async () => {
    const { private: key, cert } = await toCertificate()
    const server = createSecureServer({ key, cert, allowHTTP1: true })
    let sessions = 0
    server.on('session', (session) => {
      sessions++
      session.on('error', () => {})
    })
    server.on('stream', (stream) => stream.on('error', () => {}).close(HTTP_1_1_REQUIRED))
    const { port } = await listen(server)
    const agent = toAgent({
      connect: (_options, callback) => {
        const socket = connectTls({
          ...{ port, host: '127.0.0.1', ca: cert, servername: 'localhost' },
          ALPNProtocols: ['h2', 'http/1.1'],
        })
        socket.once('secureConnect', () => callback(null, socket))
      },
    })
    const outcome = await fail(agent, `https://localhost:${port}`)
    expect(sessions).toBe(1)
    expect(outcome).toBeInstanceOf(errors.DodiciError)
  })
})

describe('an option over HTTP/1.1', () => {
  it('strictContentLength: false lets the body decide', async () => {
    const server = await startHttp1(undefined, { tls: false })
    const agent = toAgent({ strictContentLength: false })
    async function* body(): AsyncGenerator<string> {
      yield 'four'
    }
    const more = { method: 'POST', headers: { 'content-length': '3' }, body: body() }
    expect(await fail(agent, server.origin, more)).not.toBeInstanceOf(
      errors.RequestContentLengthMismatchError,
    )
  })

  it("a request's maxHeaderSize may be larger than its client's", async () => {
    const server = await startHttp1(
      (_request, response) => {
        for (let i = 0; i < 20; i++) response.setHeader(`x-${i}`, 'a'.repeat(5_000))
        response.end('large')
      },
      { tls: false },
    )
    expect(await fail(toAgent({}), server.origin, { maxHeaderSize: 200_000 })).toBe('large')
  })
})

describe('the default fallback of an agent that is closed', () => {
  it('makes no connection', async () => {
    const server = await startHttp1(undefined, { tls: false })
    let given: AgentOptions = {}
    const agent = new Agent({
      h2c: true,
      factory: (origin, options) => {
        given = options
        return new Client(origin.href, options)
      },
    })
    agent.dispatch(
      { origin: server.origin, path: '/', method: 'GET' },
      {
        ...{ onRequestStart() {}, onResponseStart() {}, onResponseData() {}, onResponseEnd() {} },
        onResponseError() {},
      },
    )
    await agent.destroy()
    const late = toAgent(given)
    expect(await fail(late, server.origin)).toBeInstanceOf(errors.DodiciError)
  })
})

describe('a fallback that leads back to the agent itself', () => {
  it('fails the request', async () => {
    let calls = 0
    const agent: Agent = toAgent({
      fallback: {
        dispatch(options, handler) {
          // Only so that this test ends.
          if (++calls > 50) throw new Error('endless')
          return agent.dispatch(options, handler)
        },
      },
    })
    const outcome = await fail(agent, 'http://127.0.0.1:1')
    expect(outcome).toBeInstanceOf(Error)
    expect(calls).toBeLessThan(50)
  })
})
