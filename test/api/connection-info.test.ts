/** Which protocol has carried a request, over which session and stream, and in how many attempts: by each API and way. */

import { PassThrough } from 'node:stream'
import { describe, expect, it, onTestFinished } from 'vitest'
import { Agent, errors, fetch, getConnectionInfo, install, UpstreamPool, uninstall } from '../../src/index.ts'
import type { AgentOptions, ConnectionInfo, DispatchController } from '../../types/index.ts'
import { destroyWithTest } from '../support/clients/agents.ts'
import { Recorder } from '../support/clients/recorder.ts'
import { startPeer } from '../support/peers/peer-rig.ts'
import { startHttp1 } from '../support/servers/fallback-http1.ts'
import { startServer } from '../support/servers/server.ts'

interface Way {
  readonly origin: string
  readonly options: AgentOptions
  readonly protocol: ConnectionInfo['protocol']
}

const WAYS: readonly [string, () => Promise<Way>][] = [
  [
    'h2 over TLS',
    async () => {
      const { origin, ca } = await startServer((stream) => stream.end('hello'), { tls: true })
      return { origin, options: { connect: { ca } }, protocol: 'h2' }
    },
  ],
  [
    'h2c',
    async () => {
      const { origin } = await startServer((stream) => stream.end('hello'))
      return { origin, options: { h2c: true }, protocol: 'h2c' }
    },
  ],
  [
    'HTTP/1.1 by ALPN',
    async () => {
      const { origin, ca } = await startHttp1()
      return { origin, options: { connect: { ca } }, protocol: 'http/1.1' }
    },
  ],
]

type Asked = (agent: Agent, origin: string) => Promise<ConnectionInfo | null>

const APIS: readonly [string, Asked][] = [
  [
    'request()',
    async (agent, origin) => {
      const data = await agent.request({ origin, path: '/', method: 'GET' })
      const early = getConnectionInfo(data)
      await data.body.text()
      expect(getConnectionInfo(data)).toEqual(early)
      expect(data.body.connection).toEqual(early)
      return getConnectionInfo(data.body)
    },
  ],
  [
    'stream()',
    async (agent, origin) => {
      let given: { readonly statusCode: number } = { statusCode: 0 }
      await agent.stream({ origin, path: '/', method: 'GET' }, (data) => {
        given = data
        return new PassThrough().resume()
      })
      return getConnectionInfo(given)
    },
  ],
  [
    'pipeline()',
    async (agent, origin) => {
      let info: ConnectionInfo | null = null
      const duplex = agent.pipeline({ origin, path: '/', method: 'GET' }, (data) => {
        info = getConnectionInfo(data)
        return data.body
      })
      await duplex.end().resume().toArray()
      return info
    },
  ],
  [
    'dispatch()',
    async (agent, origin) => {
      const recorder = new Recorder()
      let controller: DispatchController | null = null
      const before: unknown[] = []
      const start = recorder.onRequestStart.bind(recorder)
      recorder.onRequestStart = (given: DispatchController) => {
        controller = given
        before.push(given.connection)
        start(given)
      }
      agent.dispatch({ origin, path: '/', method: 'GET' }, recorder)
      await recorder.settled
      expect(before).toEqual([null])
      return (controller as DispatchController | null)?.connection ?? null
    },
  ],
  [
    'fetch()',
    async (agent, origin) => {
      const response = await fetch(origin, { dispatcher: agent })
      const early = getConnectionInfo(response)
      const copy = response.clone()
      await response.text()
      expect(getConnectionInfo(copy)).toEqual(early)
      return getConnectionInfo(response)
    },
  ],
]

function toAgent(options: AgentOptions): Agent {
  return destroyWithTest(new Agent(options))
}

describe.each(WAYS)('over %s', (_name, start) => {
  it.each(APIS)('%s › tells protocol, session, stream and attempts', async (_api, ask) => {
    const { origin, options, protocol } = await start()
    const agent = toAgent(options)
    const isHttp2 = protocol !== 'http/1.1'
    const first = { protocol, sessionId: isHttp2 ? 1 : null, streamId: isHttp2 ? 1 : null, attempts: 1 }
    expect(await ask(agent, origin)).toEqual(first)
    expect(await ask(agent, origin)).toEqual({ ...first, streamId: isHttp2 ? 3 : null })
  })
})

describe('a request that was sent again', () => {
  it('tells the stream of its last attempt, and counts them', async () => {
    const peer = await startPeer({
      onComplete: (stream) => (stream.id === 1 ? stream.reset('REFUSED_STREAM') : stream.respond()),
    })
    const agent = toAgent({ h2c: true })
    const data = await agent.request({ origin: peer.origin, path: '/', method: 'GET' })
    await data.body.dump()
    expect(getConnectionInfo(data)).toEqual({ protocol: 'h2c', sessionId: 1, streamId: 3, attempts: 2 })
  })

  it('counts its streams at earlier upstreams, too', async () => {
    const refusing = await startPeer({ onComplete: (stream) => stream.reset('INTERNAL_ERROR') })
    const serving = await startServer((stream) => stream.end('hello'))
    const pool = destroyWithTest(new UpstreamPool([refusing.origin], { h2c: true }))
    pool.addUpstream(serving.origin)
    const data = await pool.request({ path: '/', method: 'GET' })
    await data.body.dump()
    const infos = [getConnectionInfo(data)?.attempts]
    const next = await pool.request({ path: '/', method: 'GET' })
    await next.body.dump()
    infos.push(getConnectionInfo(next)?.attempts)
    // One of them has met the upstream that resets.
    expect(infos.toSorted()).toEqual([1, 2])
  })
})

describe('what comes from elsewhere', () => {
  it.each([
    ['a Response that was made', () => new Response('text')],
    ['an object of the caller', () => ({ statusCode: 200 })],
    ['an object with a body of the caller', () => ({ statusCode: 200, body: new PassThrough() })],
  ])('%s › gives null', (_name, make) => {
    expect(getConnectionInfo(make())).toBeNull()
  })

  it('a Response of the built-in fetch over Dodici › gives null: its dispatcher never sees it', async () => {
    const { origin } = await startServer((stream) => stream.end('hello'))
    const agent = toAgent({ h2c: true })
    install(agent)
    onTestFinished(() => uninstall())
    const response = await globalThis.fetch(origin)
    await response.text()
    expect(getConnectionInfo(response)).toBeNull()
  })

  it.each([[undefined], [null], ['a text'], [7]])('%o › is refused', (given) => {
    const ask = (): unknown => Reflect.apply(getConnectionInfo, null, [given])
    expect(ask).toThrow(errors.InvalidArgumentError)
    expect(ask).toThrow('response')
  })
})
