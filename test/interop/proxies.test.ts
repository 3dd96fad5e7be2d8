/** Proxies that others wrote, with what each of them wrote down, and with what the origins got. */

import { inspect } from 'node:util'
import { WebSocket } from 'undici'
import { describe, expect, it, onTestFinished } from 'vitest'
import { errors, fetch, ProxyAgent } from '../../src/index.ts'
import type { ProxyAgentOptions } from '../../types/index.ts'
import { ENGINES } from '../support/clients/engines.ts'
import type { Origins } from '../support/servers/proxies.ts'
import { startOrigins } from '../support/servers/proxies.ts'
import type { ProxyProgram } from '../support/servers/proxy-programs.ts'
import { PASSWORD, PROXY_KINDS, USER } from '../support/servers/proxy-programs.ts'
import { startEchoServer } from './websocket-servers.ts'
import { Talk } from './websocket-talk.ts'

const SECRETS = [PASSWORD, encodeURIComponent(PASSWORD), btoa(`${USER}:${PASSWORD}`)]

function toUrl({ url }: ProxyProgram, password: string | null): string {
  const { protocol, host } = new URL(url)
  return password === null ? url : `${protocol}//${USER}:${encodeURIComponent(password)}@${host}`
}

function toAgent(proxy: ProxyProgram, ca: string, password: string | null, options: object): ProxyAgent {
  const uri = toUrl(proxy, password)
  const all: ProxyAgentOptions = { uri, proxyTls: { ca }, requestTls: { ca }, ...options }
  const agent = new ProxyAgent(all)
  onTestFinished(() => agent.destroy())
  return agent
}

async function ask(agent: ProxyAgent, origin: string): Promise<string> {
  const { body } = await agent.request({ origin, path: '/', method: 'GET' })
  return body.text()
}

const fail = (agent: ProxyAgent, origin: string): Promise<unknown> =>
  ask(agent, origin).then(
    (text) => `no error, but ${text}`,
    (error: unknown) => error,
  )

const toHosts = ({ http2, http1, plain }: Origins): string[] =>
  [http2, http1, plain].map((origin) => new URL(origin).host)

/** Waits for the lines that are written late. */
async function untilLogged(proxy: ProxyProgram, texts: readonly string[]): Promise<string> {
  let log = ''
  await expect
    .poll(async () => {
      log = await proxy.log()
      return texts.filter((text) => !log.includes(text))
    })
    .toEqual([])
  return log
}

describe.each(PROXY_KINDS)('$name', ({ start, refusal, logsUser, isLacking }) => {
  describe.skipIf(isLacking).each(ENGINES)('with engine %s', (engine) => {
    it('with the right credentials › brings each request to its origin, and nothing else', async () => {
      const origins = await startOrigins()
      const proxy = await start()
      const agent = toAgent(proxy, origins.ca, PASSWORD, { engine })
      expect(await ask(agent, origins.http2)).toBe('GET / over 2.0')
      expect(await ask(agent, origins.http1)).toBe('GET / over 1.1')
      expect(await ask(agent, origins.plain)).toBe('GET / over 1.1')
      const response = await fetch(origins.http2, { dispatcher: agent, method: 'POST', body: 'hello' })
      expect(await response.text()).toBe('POST / over 2.0')
      const { socket } = await agent.upgrade({ origin: origins.plain, path: '/', protocol: 'echo' })
      socket.write('hello')
      const first = await new Promise((resolve) => socket.once('data', resolve))
      expect(String(first)).toBe('hello')
      socket.destroy()
      await agent.close()

      const log = await untilLogged(proxy, toHosts(origins))
      if (logsUser) expect(log).toContain(USER)
      for (const secret of SECRETS) expect(log).not.toContain(secret)
      expect(origins.seen).toHaveLength(4)
      for (const fields of origins.seen) expect(fields).not.toHaveProperty('proxy-authorization')
      for (const secret of SECRETS) expect(inspect(origins.seen)).not.toContain(secret)
    })

    it('with proxyTunnel › brings a plain request by a tunnel', async () => {
      const origins = await startOrigins()
      const proxy = await start()
      const agent = toAgent(proxy, origins.ca, PASSWORD, { engine, proxyTunnel: true })
      expect(await ask(agent, origins.plain)).toBe('GET / over 1.1')
      await agent.close()
      const { host } = new URL(origins.plain)
      await untilLogged(proxy, refusal === 0 ? [host] : [`CONNECT ${host}`])
    })

    it.each([
      ['wrong', 'wrong'],
      ['no', null],
    ])('with %s credentials › refuses, and no origin hears of it', async (_which, password) => {
      const origins = await startOrigins()
      const proxy = await start()
      const agent = toAgent(proxy, origins.ca, password, { engine })
      for (const origin of [origins.http2, origins.http1, origins.plain]) {
        if (refusal === 401 && origin === origins.plain) {
          // In absolute form it can't be told from a response of the origin.
          const { statusCode } = await agent.request({ origin, path: '/', method: 'GET' })
          expect(statusCode).toBe(401)
          continue
        }
        const error = await fail(agent, origin)
        if (refusal === 0) {
          const code = password === null ? 'UND_ERR_SOCKS5_AUTH_REJECTED' : 'UND_ERR_SOCKS5_AUTH_FAILED'
          expect(error).toBeInstanceOf(errors.Socks5ProxyError)
          expect(error).toMatchObject({ code })
          continue
        }
        expect(error).toBeInstanceOf(errors.ProxyConnectionError)
        expect(error).toMatchObject({ code: 'UND_ERR_PRX_CONN', statusCode: refusal })
        const field = refusal === 401 ? 'www-authenticate' : 'proxy-authenticate'
        expect(error).toHaveProperty(['headers', field], expect.stringContaining('Basic'))
        expect(error).toHaveProperty('body', expect.any(Buffer))
      }
      expect(origins.seen).toEqual([])
      expect(origins.connections()).toBe(0)
    })

    it('with an origin that nobody serves › fails', async () => {
      const { ca } = await startOrigins()
      const proxy = await start()
      const agent = toAgent(proxy, ca, PASSWORD, { engine })
      const error = await fail(agent, 'https://localhost:1')
      if (refusal === 0) expect(error).toMatchObject({ code: 'UND_ERR_SOCKS5_REPLY_5' })
      else expect(error).toMatchObject({ code: 'UND_ERR_PRX_CONN', statusCode: 503 })
    })

    it('carries WebSockets', async () => {
      const proxy = await start()
      for (const kind of ['h2', 'h1', 'plain'] as const) {
        const { url, ca, visits } = await startEchoServer(kind)
        const agent = toAgent(proxy, ca, PASSWORD, { engine })
        const talk = new Talk(WebSocket, `${url}/echo`, { dispatcher: agent })
        await talk.opened
        expect(await talk.echo('hello')).toBe('hello')
        talk.socket.close(1000)
        await talk.closed
        expect(visits.map(({ way }) => way)).toEqual([
          kind === 'h2' ? 'stream of HTTP/2' : 'socket of HTTP/1.1',
        ])
        await agent.close()
        await untilLogged(proxy, [new URL(url).host])
      }
    })
  })
})
