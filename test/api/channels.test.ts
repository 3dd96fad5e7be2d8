/** Dodici's channels: what a subscriber hears of requests, sessions and the fallback, and in whose context. */

import { AsyncLocalStorage } from 'node:async_hooks'
import { subscribe, unsubscribe } from 'node:diagnostics_channel'
import { describe, expect, it, onTestFinished } from 'vitest'
import { Agent } from '../../src/index.ts'
import type { AgentOptions, DispatchController, DodiciChannels } from '../../types/index.ts'
import { destroyWithTest } from '../support/clients/agents.ts'
import { startPeer } from '../support/peers/peer-rig.ts'
import { startHttp1 } from '../support/servers/fallback-http1.ts'
import { startServer } from '../support/servers/server.ts'

type Name = keyof DodiciChannels

/** What was published on some channels, in order. */
function listen<TName extends Name>(
  ...names: readonly TName[]
): { name: TName; message: DodiciChannels[TName] }[] {
  const heard: { name: TName; message: DodiciChannels[TName] }[] = []
  for (const name of names) {
    const onMessage = (message: unknown): void => {
      heard.push({ name, message: message as DodiciChannels[TName] })
    }
    subscribe(name, onMessage)
    onTestFinished(() => void unsubscribe(name, onMessage))
  }
  return heard
}

const CALLS = [
  'dodici:request:queued',
  'dodici:request:attempt',
  'dodici:request:response',
  'dodici:request:retry',
  'dodici:request:end',
] as const

function toAgent(options: AgentOptions): Agent {
  const agent = destroyWithTest(new Agent(options))
  return agent
}

async function get(agent: Agent, origin: string, path = '/'): Promise<string> {
  return await (await agent.request({ origin, path, method: 'GET' })).body.text()
}

describe('the channels of requests', () => {
  it('over HTTP/2 › tell of each step, with one object for the request', async () => {
    const heard = listen(...CALLS)
    const { origin } = await startServer((stream) => stream.end('hello'))
    const agent = toAgent({ h2c: true })
    await get(agent, origin, '/a?b')
    const connection = { protocol: 'h2c', sessionId: 1, streamId: 1, attempts: 1 }
    expect(heard).toEqual([
      {
        name: 'dodici:request:queued',
        message: { request: expect.objectContaining({ origin, path: '/a?b' }) },
      },
      { name: 'dodici:request:attempt', message: { request: expect.anything(), connection } },
      {
        name: 'dodici:request:response',
        message: { request: expect.anything(), connection, statusCode: 200 },
      },
      { name: 'dodici:request:end', message: { request: expect.anything(), connection, error: null } },
    ])
    expect(new Set(heard.map(({ message }) => message.request)).size).toBe(1)
  })

  it('over HTTP/1.1 › tell of each step, too', async () => {
    const heard = listen(...CALLS)
    const fallbacks = listen('dodici:fallback')
    const { origin, ca } = await startHttp1()
    const agent = toAgent({ connect: { ca } })
    await get(agent, origin)
    await get(agent, origin)
    const steps = ['attempt', 'response', 'end'].map((step) => `dodici:request:${step}`)
    expect(heard.map(({ name }) => name)).toEqual(['dodici:request:queued', ...steps, ...steps])
    const connection = { protocol: 'http/1.1', sessionId: null, streamId: null, attempts: 1 }
    expect(heard[1]?.message).toMatchObject({ connection })
    expect(fallbacks).toEqual([{ name: 'dodici:fallback', message: { origin, reason: 'alpn' } }])
  })

  it.each([
    ['option', {}],
    ['option', { h2c: false }],
  ] as const)('the fallback by %s %o › is told with its reason, once', async (reason, options) => {
    const fallbacks = listen('dodici:fallback')
    const { origin } = await startHttp1(undefined, { tls: false })
    const agent = toAgent(options)
    for (let round = 0; round < 3; round++) await get(agent, origin)
    expect(fallbacks).toEqual([{ name: 'dodici:fallback', message: { origin, reason } }])
  })

  it('a retry › has its reason, its error and its attempt, in the context of the caller', async () => {
    const store = new AsyncLocalStorage<string>()
    const contexts: unknown[] = []
    const note = (): void => void contexts.push(store.getStore())
    for (const name of CALLS) {
      subscribe(name, note)
      onTestFinished(() => void unsubscribe(name, note))
    }
    const heard = listen('dodici:request:retry')
    const peer = await startPeer({
      onComplete: (stream) => (stream.id === 1 ? stream.refuse() : stream.respond()),
    })
    const agent = toAgent({ h2c: true })
    await store.run('ours', () => get(agent, peer.origin))
    expect(heard).toEqual([
      {
        name: 'dodici:request:retry',
        message: {
          request: expect.objectContaining({ method: 'GET', path: '/' }),
          connection: { protocol: 'h2c', sessionId: 1, streamId: 1, attempts: 1 },
          reason: 'unprocessed',
          error: expect.objectContaining({ message: expect.stringContaining('REFUSED_STREAM') }),
        },
      },
    ])
    expect(new Set(contexts)).toEqual(new Set(['ours']))
  })

  it('a subscriber that ends the call at a retry › is obeyed', async () => {
    const abort = new AbortController()
    const onRetry = (): void => abort.abort()
    subscribe('dodici:request:retry', onRetry)
    onTestFinished(() => void unsubscribe('dodici:request:retry', onRetry))
    const peer = await startPeer({ onComplete: (stream) => stream.refuse() })
    const agent = toAgent({ h2c: true })
    const asked = agent.request({ origin: peer.origin, path: '/', method: 'GET', signal: abort.signal })
    await expect(asked).rejects.toMatchObject({ name: 'AbortError' })
    expect(agent.stats[peer.origin]).toMatchObject({ pending: 0, running: 0 })
  })
})

const STEPS = ['dodici:request:attempt', 'dodici:request:response']

describe.each([
  {
    protocol: 'HTTP/2',
    start: async () => (await startServer((stream) => stream.end('hello'))).origin,
    names: [...STEPS, 'undici:request:bodyChunkReceived'],
  },
  {
    protocol: 'HTTP/1.1',
    start: async () => (await startHttp1(undefined, { tls: false })).origin,
    // Those of undici's channels are the fallback's undici's there.
    names: STEPS,
  },
])('a subscriber that ends the call, over $protocol', ({ protocol, start, names }) => {
  it.each(names)('at %s › the handler hears of its end, and of nothing behind it', async (name) => {
    const origin = await start()
    const heard: string[] = []
    let controller: DispatchController | null = null
    const onMessage = (): void => controller?.abort(new Error('enough'))
    subscribe(name, onMessage)
    onTestFinished(() => void unsubscribe(name, onMessage))
    const agent = toAgent({ h2c: protocol === 'HTTP/2' })
    await new Promise<void>((resolve) => {
      agent.dispatch(
        { origin, path: '/', method: 'GET' },
        {
          onRequestStart: (given) => {
            controller = given
          },
          onRequestSent: () => void heard.push('sent'),
          onResponseStart: () => void heard.push('response'),
          onResponseData: () => void heard.push('data'),
          onResponseEnd: () => resolve(),
          onResponseError: () => {
            heard.push('error')
            setImmediate(resolve)
          },
        },
      )
    })
    expect(heard.filter((what) => what === 'error')).toHaveLength(1)
    expect(heard.at(-1)).toBe('error')
  })
})

describe('the channels of sessions', () => {
  it('say the version of HTTP, and what the peer has set', async () => {
    const heard = listen('dodici:session:ready', 'dodici:session:settings')
    const { origin, ca } = await startServer((stream) => stream.end('hello'), {
      tls: true,
      settings: { maxConcurrentStreams: 7 },
    })
    const agent = toAgent({ connect: { ca } })
    await get(agent, origin)
    const session = { id: 1, origin, openedFor: 'cold', protocol: 'h2' }
    expect(heard.map(({ message }) => message.session)).toEqual([session, session])
    expect(heard[1]?.message).toMatchObject({ settings: { maxConcurrentStreams: 7 } })
  })
})

describe('stats over HTTP/1.1', () => {
  it('have the connections and the running requests of the fallback', async () => {
    const { origin, ca } = await startHttp1((request, response) => {
      request.resume()
      response.write('a part')
    })
    const agent = toAgent({ connect: { ca } })
    const { body } = await agent.request({ origin, path: '/', method: 'GET' })
    expect(agent.stats[origin]).toMatchObject({ running: 1, http1: { connections: 1, running: 1 } })
    body.on('error', () => {}).destroy()
    await expect.poll(() => agent.stats[origin]).toMatchObject({ http1: { connections: 0, running: 0 } })
  })
})
