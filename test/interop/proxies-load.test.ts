/** Many requests through each proxy, and proxies that die. */

import { interceptors } from 'undici'
import { describe, expect, it, onTestFinished } from 'vitest'
import { errors, ProxyAgent } from '../../src/index.ts'
import type { Dispatcher, ProxyAgentOptions } from '../../types/index.ts'
import { ENGINES } from '../support/clients/engines.ts'
import { inTurn, toRounds } from '../support/clocks/sample.ts'
import { startOrigins } from '../support/servers/proxies.ts'
import type { ProxyProgram } from '../support/servers/proxy-programs.ts'
import { PASSWORD, PROXY_KINDS, USER } from '../support/servers/proxy-programs.ts'

const REQUESTS = toRounds(1_000, 400)
const AT_ONCE = 100

/** How a connection to a proxy fails that is away. A connection that is lost later has another code: Dodici repeats then by itself. */
const CONNECTING = ['ECONNREFUSED', 'ECONNRESET', 'UND_ERR_PRX_CONN']

function toAgent({ url }: ProxyProgram, ca: string, options: object): ProxyAgent {
  const { protocol, host } = new URL(url)
  const uri = `${protocol}//${USER}:${encodeURIComponent(PASSWORD)}@${host}`
  const all: ProxyAgentOptions = { uri, proxyTls: { ca }, requestTls: { ca }, ...options }
  const agent = new ProxyAgent(all)
  onTestFinished(() => agent.destroy())
  return agent
}

/** So many requests, some at once. @returns how often each response came */
async function askMany(
  dispatcher: Dispatcher,
  origin: string,
  onResponse: (count: number) => void = () => {},
): Promise<Map<string, number>> {
  const texts = new Map<string, number>()
  let sent = 0
  let responses = 0
  const work = async (): Promise<void> => {
    while (sent < REQUESTS) {
      sent++
      const { body } = await dispatcher.request({ origin, path: '/', method: 'GET' })
      const text = await body.text()
      texts.set(text, (texts.get(text) ?? 0) + 1)
      onResponse(++responses)
    }
  }
  await Promise.all(Array.from({ length: AT_ONCE }, work))
  return texts
}

/** On each engine, or on both in turn. */
const toEngines = (turn: number) => inTurn(ENGINES, turn)

describe.each(PROXY_KINDS.map((kind, turn) => ({ ...kind, turn })))('$name', ({ start, isLacking, turn }) => {
  describe.skipIf(isLacking)('under load', () => {
    it.each(
      toEngines(turn),
    )('brings many requests, a hundred at a time, over HTTP/2 and over HTTP/1.1, with engine %s', async (engine) => {
      const origins = await startOrigins()
      const proxy = await start()
      const agent = toAgent(proxy, origins.ca, { engine, connections: 4 })
      expect(await askMany(agent, origins.http2)).toEqual(new Map([['GET / over 2.0', REQUESTS]]))
      expect(await askMany(agent, origins.http1)).toEqual(new Map([['GET / over 1.1', REQUESTS]]))
      expect(await askMany(agent, origins.plain)).toEqual(new Map([['GET / over 1.1', REQUESTS]]))
      await agent.close()
    })

    it.each(
      toEngines(turn + 1),
    )('when it is killed in the middle and started anew › each GET gets its response, with engine %s', async (engine) => {
      const origins = await startOrigins()
      const proxy = await start()
      const agent = toAgent(proxy, origins.ca, { engine })
      // While the proxy is away, connections are refused: that is for the caller to repeat.
      const patient = agent.compose(
        interceptors.retry({
          maxRetries: 1_000,
          minTimeout: 20,
          maxTimeout: 100,
          errorCodes: CONNECTING,
        }),
      )
      let restarted: Promise<void> | null = null
      const restart = async (): Promise<void> => {
        await proxy.kill()
        await proxy.restart()
      }
      const texts = await askMany(patient, origins.http2, (count) => {
        if (count === REQUESTS / 4) restarted = restart()
      })
      expect(texts).toEqual(new Map([['GET / over 2.0', REQUESTS]]))
      expect(restarted).not.toBeNull()
      await restarted
      await agent.close()
    })

    it.each(
      toEngines(turn),
    )('when it is killed › what must not be repeated fails, and the next request is served, with engine %s', async (engine) => {
      const origins = await startOrigins()
      const proxy = await start()
      const agent = toAgent(proxy, origins.ca, { engine })
      const held = await origins.hold()
      const post = agent
        .request({ origin: held.origin, path: '/', method: 'POST', body: 'once' })
        .catch((error: unknown) => error)
      await held.arrived
      await proxy.kill()
      const error = await post
      expect(error).toBeInstanceOf(errors.SocketError)
      expect(error).toHaveProperty('processed', 'maybe')
      expect(held.count()).toBe(1)
      await proxy.restart()
      const { body } = await agent.request({ origin: origins.http2, path: '/', method: 'GET' })
      expect(await body.text()).toBe('GET / over 2.0')
      await agent.close()
    })
  })
})
